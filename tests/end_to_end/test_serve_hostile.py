"""What a hostile or broken client sends: answered with 4xx, soon, in a sentence; and who has no key gets nothing.

The server runs with a key, so that every request here also shows that the key is asked for.
"""

import gzip
import json
import random
import re
import resource
import socket
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from benchmarks.load import ServerProcess
from schemathesis import GenerationMode
from schemathesis.checks import positive_data_acceptance

from heedful.storage.model_folder import save_model_folder
from tests.support.classifier_folders import make_folder
from tests.support.forked_server import ForkedServer
from tests.support.hostile_requests import CANARY, GOOD, JSON_HEADER, KEY, assert_refused, raw, send
from tests.support.language_model_folders import write_language_model
from tests.support.run_folders import make_run
from tests.support.tiny_models import save_model


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    base = tmp_path_factory.mktemp("model")
    tiny = save_model(base / "tiny", languages=("de", "en"))
    save_model_folder(base / "labels", make_folder())
    write_language_model(base / "bytes")
    models = [argument for folder in (tiny, base / "labels", base / "bytes") for argument in ("--model", folder)]
    make_run(base / "runs" / "one", rows=3)
    with ForkedServer(*models, "--runs", base / "runs", HEEDFUL_API_KEY=KEY) as process:
        yield process
        assert "Traceback" not in "".join(process.log)
        assert CANARY not in "".join(process.log)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", ["Content-Length: 10737418240", JSON_HEADER], 413),
        (b"x" * (1 << 20) + b"x", [JSON_HEADER], 413),
        (gzip.compress(b" " * 50_000_000), ["Content-Encoding: gzip", JSON_HEADER], 415),
        (b"[" * 500_000, [JSON_HEADER], 400),
        (b'{"q":' * 100_000, [JSON_HEADER], 400),
        (b'{"q": NaN, "target": "de"}', [JSON_HEADER], 400),
        (b'{"q": "\\ud800 xyzzy-canary", "target": "de"}', [JSON_HEADER], 400),
        (b'{"q": {"xyzzy-canary": 1}, "target": ["de"]}', [JSON_HEADER], 400),
        (b'{"q": "a", "target": "de", "beam": ' + b"1" * 5000 + b"}", [JSON_HEADER], 400),
        (b"\x80\x81\x82", [JSON_HEADER], 400),
        (b"q=%80%81&target=de", ["Content-Type: application/x-www-form-urlencoded"], 400),
        (b"&" * 100_000, ["Content-Type: application/x-www-form-urlencoded"], 400),
        (GOOD, ["Content-Length: -1", JSON_HEADER], 400),
        (GOOD, [JSON_HEADER, *(f"X-{number}: {'v' * 50}" for number in range(20_000))], 400),
        (json.dumps({"q": CANARY * 5000, "target": "de"}).encode(), [JSON_HEADER], 413),
    ],
    ids=[
        "ten gigabytes announced",
        "a byte too many",
        "gzip bomb",
        "deep list",
        "deep object",
        "NaN",
        "lone surrogate",
        "wrong types",
        "5,000 digits",
        "not UTF-8",
        "form not UTF-8",
        "form of nothing",
        "negative length",
        "20,000 headers",
        "too many characters",
    ],
)
def test_bad_input_is_answered_with_4xx_within_a_second(
    server: ServerProcess, body: bytes, headers: list[str], status: int
) -> None:
    assert_refused(send(server, body, *headers), status)
    assert send(server, GOOD, JSON_HEADER).status == 200


TRACE = {"q": "where", "source": "en", "target": "de"}
TRACED = {"q": "where", "target": "de", "targetIds": [9]}
ABLATION = {**TRACED, "headsOff": [["cross", 0, 0]]}
CELL = {**TRACED, "kind": "cross", "layer": 0, "head": 0, "row": 0, "column": 0}


@pytest.mark.parametrize(
    ("path", "good", "wrong"),
    [
        ("/api/trace", TRACE, {"prefixIds": ["9"], "beam": 2.5}),
        ("/api/trace", TRACE, {"prefixIds": [-1], "run": 7}),
        ("/api/trace", TRACE, {"prefixIds": [9] * 257, "checkpoint": 2**60}),
        ("/api/trace", TRACE, {"prefixIds": {"0": 9}, "hypothesis": [CANARY]}),
        ("/api/trace", {**TRACE, "run": "one", "checkpoint": 5}, {"checkpoint": "5", "run": "../one"}),
        ("/api/trace/ablation", ABLATION, {"headsOff": ["cross.0.0"], "prefix": 1.5, "beam": 17}),
        ("/api/trace/ablation", ABLATION, {"headsOff": [["cross", 0]], "prefix": -1, "beam": "2"}),
        ("/api/trace/ablation", ABLATION, {"headsOff": [["cross", 0, 0]] * 1025, "target": 5}),
        ("/api/trace/ablation", ABLATION, {"headsOff": [["cross", 0, 10**400]], "q": [CANARY]}),
        ("/api/trace/attribution", TRACED, {"targetIds": [9] * 257, "target": CANARY, "run": "../one"}),
        ("/api/trace/heads", TRACED, {"targetIds": [2**31], "q": "\ud800", "checkpoint": 1.5}),
        ("/api/trace/cell", CELL, {"targetIds": [], "kind": CANARY, "layer": -1, "head": 1.5, "row": 4096}),
        ("/api/trace/cell", CELL, {"targetIds": [[9]], "column": True, "row": None, "q": "\ud800"}),
        ("/api/classify/trace", {"q": "a good film"}, {"q": [CANARY], "model": "../labels"}),
        ("/api/text/trace", {"q": "the sea"}, {"q": {"a": 1}, "numRead": 129, "model": 5}),
        ("/api/text/trace", {"q": "the sea"}, {"q": "\udfff", "numRead": 0}),
        ("/api/generate", {"prompt": "the", "maxTokens": 2, "top": 2}, {"top": 21, "temperature": "0"}),
        ("/api/generate", {"prompt": "the", "maxTokens": 2, "top": 2}, {"top": -1, "prompt": "\ud800"}),
    ],
)
def test_every_wrong_field_of_what_the_page_asks_is_refused(
    server: ServerProcess, path: str, good: dict[str, object], wrong: dict[str, object]
) -> None:
    for name, value in wrong.items():
        assert_refused(send(server, json.dumps({**good, name: value}).encode(), JSON_HEADER, path=path), 400, 404)
        body = json.dumps({**good, name: None}).replace("null", "NaN").encode()
        assert_refused(send(server, body, JSON_HEADER, path=path), 400)
    if "run" not in good:
        assert send(server, json.dumps(good).encode(), JSON_HEADER, path=path).status == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/positions?length=NaN", 400),
        ("/api/positions?length=1e2", 400),
        ("/api/positions?length=" + "9" * 30_000, 400),
        ("/api/positions?side=%00&length=64", 400),
        ("/api/positions?model=%ED%A0%80", 400),
        ("/api/positions?" + "length=1&" * 5_000 + "length=0", 400),
        ("/api/runs/one/journal?after=-1", 400),
        ("/api/runs/one/journal?after=" + "1" * 5_000, 400),
        ("/api/runs/one/journal?afterSamples=Infinity", 400),
        ("/api/runs/one/events?after=[]", 400),
        ("/api/runs/%2e%2e%2fone/journal", 404),
        ("/api/runs/%ff%fe/journal", 404),
        ("/api/runs/" + "a" * 10_000 + "/events", 404),
        ("/web/%2e%2e/app.py", 404),
        ("/insight/" + "../" * 1_000 + "etc/passwd", 404),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_addresses_are_refused(server: ServerProcess, path: str, status: int) -> None:
    assert_refused(send(server, b"", path=path, method="GET"), status)


def test_a_body_without_an_end_is_cut_off(server: ServerProcess) -> None:
    with socket.create_connection((server.host, server.port), timeout=5) as connection:
        head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        started = time.monotonic()
        sent = 0
        try:
            while time.monotonic() - started < 5:
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
        assert sent < 50_000_000
        assert time.monotonic() - started < 4
        received = b""
        try:
            while part := connection.recv(65536):
                received += part
        except ConnectionResetError:
            pass
        assert b" 413 " in received.split(b"\r\n")[0]


def test_slow_connections_are_closed_within_ten_seconds_and_disturb_nobody(server: ServerProcess) -> None:
    head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n".encode()
    beginnings = [b"", head, head + b"Content-Length: 99\r\n\r\n"]
    before = num_open_files(server)
    waiting = []
    for number in range(60):
        connection = socket.create_connection((server.host, server.port))
        connection.sendall(beginnings[number % 3])
        waiting.append(connection)
    deaf = connect_deaf(server)
    started = time.monotonic()
    closed: dict[int, float] = {}
    while len(closed) < len(waiting) and time.monotonic() - started < 12:
        assert send(server, GOOD, JSON_HEADER).status == 200
        for number, connection in enumerate(waiting):
            if number not in closed and is_closed(connection, b"x" if number % 3 else b""):
                closed[number] = time.monotonic() - started
        time.sleep(0.5)
    assert len(closed) == len(waiting)
    assert max(closed.values()) < 10
    while num_open_files(server) > before and time.monotonic() - started < 12:
        time.sleep(0.1)
    assert num_open_files(server) <= before, "a client that asks and never reads is still connected"
    for connection in (*waiting, deaf):
        connection.close()


def num_open_files(server: ServerProcess) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def connect_deaf(server: ServerProcess) -> socket.socket:
    """Ask for more than the buffers between two sockets hold, and read none of it."""
    connection = socket.create_connection((server.host, server.port))
    connection.setblocking(False)
    question = f"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode()
    connection.send(question * 500)
    return connection


def is_closed(connection: socket.socket, drop: bytes) -> bool:
    """Send one more byte, as slow clients do, and say whether the other side has hung up."""
    connection.setblocking(False)
    try:
        if drop:
            connection.send(drop)
        return connection.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_a_request_with_two_lengths_is_the_last_of_its_connection(server: ServerProcess) -> None:
    head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n{JSON_HEADER}\r\n"
    body = f"{len(GOOD):x}\r\n".encode() + GOOD + b"\r\n0\r\n\r\n"
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((server.host, server.port), timeout=5) as connection:
        connection.sendall(head.encode() + lengths + body + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"connection: close\r\n" in received.lower()


@pytest.mark.skipif(sys.platform != "linux", reason="the bound is set from outside")
@pytest.mark.parametrize("num_files", [1_024, 256])
def test_more_silent_connections_than_files_can_be_opened_leave_no_trace(tmp_path: Path, num_files: int) -> None:
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3_000:
        pytest.skip("needs 3,000 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3_000, hard))
    try:
        with ForkedServer("--model", save_model(tmp_path / "tiny", languages=("de", "en"))) as server:
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (num_files, num_files))
            crowd = [connect_without_waiting(server) for _ in range(2_500)]
            most = 0
            for _ in range(30):
                most = max(most, num_open_files(server))
                time.sleep(0.05)
            for connection in crowd:
                connection.close()
            time.sleep(1)
            assert raw(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status == 200
        assert most < 1_000  # and so never too many, where there are as many as usual
        assert len(server.log) < 5, server.log[:5]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def connect_without_waiting(server: ServerProcess) -> socket.socket:
    connection = socket.socket()
    connection.setblocking(False)
    connection.connect_ex((server.host, server.port))
    return connection


def test_every_route_but_the_open_ones_asks_for_the_key(server: ServerProcess) -> None:
    schema = json.loads(send(server, b"", path="/openapi.json", method="GET").body)
    routes = [(path, method.upper()) for path, methods in schema["paths"].items() for method in methods]
    assert len(routes) >= 18
    open_routes = {"/health": 200, "/languages": 200, "/frontend/settings": 200, "/download_file/{secret}": 404}
    pages = ("/", "/web/app.js", "/insight/page.css", "/docs", "/docs.js", "/openapi.json", "/nothing")
    for path, method in [*routes, *((page, "GET") for page in pages)]:
        for header in ("", "Authorization: Bearer wrong\r\n", "X-API-Key: \r\n", "Authorization: Basic !\r\n"):
            head = (
                f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}Content-Length: 0\r\n\r\n"
            )
            answer = raw(server, head.encode())
            assert answer.status == open_routes.get(path, 401), (path, method, header)
    assert raw(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status == 200


def test_the_key_is_taken_wherever_clients_put_it(server: ServerProcess) -> None:
    body = json.dumps({"q": "where", "source": "en", "target": "de", "api_key": KEY}).encode()
    basic = b64encode(f"anybody:{KEY}".encode()).decode()
    for content, header in (
        (body, ""),
        (GOOD, f"X-API-Key: {KEY}\r\n"),
        (GOOD, f"Authorization: Basic {basic}\r\n"),
    ):
        head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON_HEADER}\r\n{header}"
        answer = raw(server, f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        assert answer.status == 200


def test_random_bytes_do_not_harm_it(server: ServerProcess) -> None:
    chance = random.Random(5)
    whole = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD
    for _ in range(200):
        request = bytearray(whole)
        for _ in range(chance.randint(1, 12)):
            request[chance.randrange(len(request))] = chance.randrange(256)
        with socket.create_connection((server.host, server.port), timeout=5) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
        assert not answer or parse_status(answer) < 500, bytes(request)
    assert send(server, GOOD, JSON_HEADER).status == 200


def parse_status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d+)", answer)
    assert found, answer
    return int(found[1])


def test_no_generated_request_breaks_it(server: ServerProcess) -> None:
    """Let schemathesis draw requests, good and bad, from the server's own description of itself."""
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", headers={"Authorization": f"Bearer {KEY}"})
    operations = [operation.ok() for operation in schema.get_all_operations()]
    assert len(operations) >= 18
    for operation in operations:
        has_input = operation.method == "post" or bool(list(operation.query))
        for mode in GenerationMode if has_input else [GenerationMode.POSITIVE]:
            draw(operation, mode, max_examples=12 if has_input else 2)


def draw(operation: schemathesis.APIOperation[Any, Any, Any, Any], mode: GenerationMode, max_examples: int) -> None:
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    @hypothesis.settings(max_examples=max_examples, suppress_health_check=list(hypothesis.HealthCheck))
    def call(case: schemathesis.Case[Any]) -> None:
        # What a schema cannot say, as which languages go together, is refused: good data may get a 4xx.
        case.call_and_validate(
            headers={"Authorization": f"Bearer {KEY}"}, timeout=10, excluded_checks=[positive_data_acceptance]
        )

    call()
