"""Trials in worker processes: stopped by real signals and gone on with, they end where the uninterrupted ones end."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import environment_of
from tests.support.small_run import write_corpus

SCRIPT = """
import json, sys
from pathlib import Path
from heedful.comparisons.trials import run_trials, trials_of
from heedful.config.load import load_any
from heedful.errors import HeedfulError

settings = ["training.max_steps=40", "validation.every_steps=20", "training.checkpoint.every_steps=10"]
wide, narrow = load_any("small.toml", settings), load_any("small.toml", [*settings, "model.dim=32"])
broken = load_any("small.toml", [*settings, "data.train.0.source=missing.en"])
trials = [*trials_of({"wide": wide, "a <narrow> one": narrow}, [1, 2]), *trials_of({"broken": broken}, [1])]
try:
    found = run_trials(trials, Path(sys.argv[1]), processes=2, device="cpu", say=lambda told: print(told, flush=True))
except HeedfulError as error:
    print(error)
    sys.exit(error.exit_code)
rows = [[it.label, it.seed, it.failure, [[m.rows.tolist() for m in s.metrics] for s in it.scores],
         [s.outputs for s in it.scores]] for it in found]
print(json.dumps(rows))
"""


def start(root: Path, out: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, out], cwd=root, env=environment_of(), stdout=subprocess.PIPE, bufsize=0
    )


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, list[str]]:
    output, _ = process.communicate(timeout=300)
    return process.returncode, output.decode().splitlines()


def workers_of(out: Path) -> list[int]:
    """Return the processes that train under a folder now."""
    found = []
    for lock in out.glob("runs/*/.lock"):
        number = int(lock.read_text() or 0)
        if number and Path(f"/proc/{number}").exists():
            found.append(number)
    return found


def wait_for_a_step(process: "subprocess.Popen[bytes]", out: Path) -> None:
    deadline = time.monotonic() + 120
    while not any(path.stat().st_size for path in out.glob("runs/*/metrics.jsonl")):
        assert process.poll() is None, "it ended before it was interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trials")
    write_corpus(folder)
    return folder


@pytest.fixture(scope="module")
def whole(root: Path) -> list[Any]:
    code, lines = finish(start(root, "whole"))
    assert code == 0
    return list(json.loads(lines[-1]))


def test_a_broken_trial_is_a_sentence_and_the_others_stay(whole: list[Any]) -> None:
    assert [row[:2] for row in whole] == [
        ["wide", 1], ["wide", 2], ["a <narrow> one", 1], ["a <narrow> one", 2], ["broken", 1],
    ]  # fmt: skip
    assert [row[2] is None for row in whole] == [True] * 4 + [False]
    assert "missing.en must exist, but does not." in whole[4][2]
    assert len({json.dumps(row[4]) for row in whole[:4]}) == 4, "configs and seeds differ, and so do translations"


def test_terminated_and_killed_trials_end_as_the_uninterrupted_ones(root: Path, whole: list[Any]) -> None:
    out = root / "stopped"
    process = start(root, "stopped")
    wait_for_a_step(process, out)
    process.send_signal(signal.SIGTERM)
    code, lines = finish(process)
    assert code == 143
    assert lines[-1] == "Stopped by SIGTERM; what was trained is saved. The same command goes on."
    assert not workers_of(out)

    process = start(root, "stopped")
    wait_for_a_step(process, out)
    process.kill()
    process.wait()
    code, lines = finish(start(root, "stopped"))  # at once: the workers that were left alone are still saving
    assert code == 0, lines
    assert json.loads(lines[-1]) == whole


def test_trials_that_are_done_are_not_done_again(root: Path, whole: list[Any]) -> None:
    before = {path: path.stat().st_mtime_ns for path in (root / "whole").rglob("*.safetensors")}
    code, lines = finish(start(root, "whole"))
    assert code == 0
    assert lines[0] == "4 of 5 trials are done already."
    assert json.loads(lines[-1]) == whole
    assert {path: path.stat().st_mtime_ns for path in (root / "whole").rglob("*.safetensors")} == before
    assert (root / "whole" / "trials" / "a-narrow-one-seed1.log").exists()
