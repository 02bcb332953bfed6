"""Runs behind the server: their journals, live as they grow, and their checkpoints as models to look into."""

import json
import re
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.example_run import make_example
from benchmarks.load import ServerProcess
from safetensors.torch import load_file

from heedful.insight.checkpoint_traces import trace_checkpoints
from tests.support.forked_server import ForkedServer
from tests.support.http_client import get, post
from tests.support.small_run import SmallRun

SENTENCE = {"q": "The dog sleeps.", "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def runs(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the run, and one of its slimmed copies."""
    parent = tmp_path_factory.mktemp("runs")
    shutil.copytree(small_run.run, parent / "whole")
    make_example(small_run.run, parent / "slim", [240])
    return parent


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[ServerProcess]:
    with ForkedServer("--model", runs / "whole", "--runs", runs) as process:
        yield process


def test_runs_are_listed_and_belong_to_their_models(server: ServerProcess) -> None:
    listed = {run["id"]: run for run in json.loads(get(server, "/api/runs")[1])}
    assert {"whole", "slim"} <= set(listed)
    assert listed["whole"] == {
        "id": "whole",
        "name": "small",
        "task": "translation",
        "steps": 240,
        "maxSteps": 240,
        "isRunning": False,
        "checkpoints": [120, 240],
        "source": "en",
        "target": "de",
    }
    (model,) = json.loads(get(server, "/api/models")[1])
    assert (model["id"], model["run"]) == ("whole", "whole")


def test_a_journal_comes_whole_and_from_a_line_on(server: ServerProcess, runs: Path) -> None:
    rows = [json.loads(line) for line in (runs / "whole" / "metrics.jsonl").read_text().splitlines()]
    samples = [json.loads(line) for line in (runs / "whole" / "samples.jsonl").read_text().splitlines()]
    answer = json.loads(get(server, "/api/runs/whole/journal")[1])
    assert (answer["metrics"], answer["samples"], answer["checkpoints"]) == (rows, samples, [120, 240])
    assert (answer["next"], answer["nextSamples"], answer["isRunning"]) == (len(rows), len(samples), False)
    answer = json.loads(get(server, f"/api/runs/whole/journal?after=3&afterSamples={len(samples)}")[1])
    assert (answer["metrics"], answer["samples"], answer["from"]) == (rows[3:], [], 3)
    for path in ("/api/runs/nobody/journal", "/api/runs/..%2fwhole/journal", "/api/runs/nobody/events"):
        assert get(server, path)[0] == 404
    for query in ("after=-1", "after=x", f"after={2**53}", "afterSamples=1e3"):
        assert get(server, f"/api/runs/whole/journal?{query}")[0] == 400


def test_a_growing_journal_is_told_as_it_grows(server: ServerProcess, runs: Path) -> None:
    following = runs / "growing"
    following.mkdir()
    shutil.copy(runs / "whole" / "metrics.jsonl", following)
    shutil.copy(runs / "whole" / "config.toml", following)
    num_lines = len((following / "metrics.jsonl").read_text().splitlines())
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        ask_for_events(connection, "growing")
        assert len(next_event(connection)["metrics"]) == num_lines
        with (following / "metrics.jsonl").open("a") as stream:
            stream.write('{"step": 241, "kind": "train"}\n')
        started = time.monotonic()
        news = next_event(connection)
        assert (news["metrics"], news["from"]) == ([{"step": 241, "kind": "train"}], num_lines)
        assert time.monotonic() - started < 2


def ask_for_events(connection: socket.socket, run: str) -> None:
    connection.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def next_event(connection: socket.socket) -> dict[str, Any]:
    received = b""
    while not (found := re.search(rb"event: journal\ndata: (.*)\n\n", received)):
        part = connection.recv(65536)
        assert part, received
        received += part
    return json.loads(found[1])


def test_listeners_are_bounded_and_those_who_leave_make_room(server: ServerProcess) -> None:
    connections = [socket.create_connection((server.host, server.port), timeout=10) for _ in range(32)]
    for connection in connections:
        ask_for_events(connection, "whole")
        next_event(connection)
    status, body, headers = get(server, "/api/runs/whole/events")
    assert (status, headers["retry-after"]) == (429, "5")
    assert "Too many clients follow runs" in json.loads(body)["error"]
    for connection in connections:
        connection.close()
    deadline = time.monotonic() + 5
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        while True:
            ask_for_events(connection, "whole")
            if b" 200 " in connection.recv(20):
                break
            assert time.monotonic() < deadline
            time.sleep(0.2)
            connection.recv(65536)


def test_who_follows_does_not_keep_a_server_from_ending(runs: Path) -> None:
    with (
        ForkedServer("--model", runs / "whole", "--runs", runs) as process,
        socket.create_connection((process.host, process.port), timeout=10) as connection,
    ):
        ask_for_events(connection, "whole")
        next_event(connection)
        started = time.monotonic()
        process.terminate()
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("step", [120, 240])
def test_a_checkpoint_is_traced_as_in_python(server: ServerProcess, runs: Path, step: int) -> None:
    status, answer = post(server, "/api/trace", {**SENTENCE, "run": "whole", "checkpoint": step})
    assert status == 200
    (expected,) = trace_checkpoints(runs / "whole", SENTENCE["q"], steps=[step], device="cpu")
    assert answer["target"]["text"] == expected.trace.text
    assert answer["logProb"] == pytest.approx(expected.trace.log_prob, abs=1e-3)
    assert (answer["model"], answer["run"], answer["checkpoint"]) == (None, "whole", step)
    place = {"kind": "cross", "layer": 0, "head": 0, "row": 0, "column": 0}
    ids = [token["id"] for token in answer["target"]["tokens"]]
    asked = {**SENTENCE, "run": "whole", "checkpoint": step, "targetIds": ids, **place}
    cell = post(server, "/api/trace/cell", asked)[1]
    assert cell["weight"] == pytest.approx(float(expected.trace.attention("cross", 0, 0)[0, 0]), abs=1e-4)


def test_a_slimmed_checkpoint_says_what_the_whole_one_says(server: ServerProcess, runs: Path) -> None:
    whole, slim = (
        post(server, "/api/trace", {**SENTENCE, "run": run, "checkpoint": 240})[1] for run in ("whole", "slim")
    )
    assert slim["target"]["text"] == whole["target"]["text"]
    assert slim["logProb"] == pytest.approx(whole["logProb"], abs=0.05)
    weights = load_file(runs / "slim" / "checkpoints" / "step-00000240" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}


def test_a_checkpoint_that_is_damaged_or_gone_is_refused_in_a_sentence(server: ServerProcess, runs: Path) -> None:
    shutil.copytree(runs / "whole", runs / "doomed")
    asked = {**SENTENCE, "run": "doomed", "checkpoint": 120}
    folder = runs / "doomed" / "checkpoints" / "step-00000120"
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8] + b"\0" * 8)
    status, answer = post(server, "/api/trace", asked)
    assert (status, answer["error"]) == (
        400,
        "The checkpoint of step 120 of the run doomed is damaged. Choose another.",
    )
    assert post(server, "/api/trace", {**asked, "checkpoint": 240})[0] == 200
    shutil.rmtree(folder.with_name("step-00000240"))
    status, answer = post(server, "/api/trace", {**asked, "checkpoint": 240})
    assert (status, answer["error"]) == (404, "The run doomed has no checkpoint of step 240.")
    shutil.rmtree(runs / "doomed")
    status, answer = post(server, "/api/trace", asked)
    assert (status, answer["error"]) == (404, "There is no run of that id; `GET /api/runs` lists them.")
