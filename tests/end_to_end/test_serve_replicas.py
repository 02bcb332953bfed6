"""`heedful serve --workers`: processes that share a port, replaced when they die, renewed without a pause."""

import http.client
import os
import signal
import time
from pathlib import Path

import pytest
from benchmarks.load import ServerProcess

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="asks /proc for the children of a process")


def _children(server: ServerProcess) -> set[int]:
    pid = server.process.pid
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def _status(server: ServerProcess, path: str = "/health") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _asked_until(server: ServerProcess, told: str, times: int) -> int:
    """Ask again and again until the log says something so often; return how often, every time with an answer."""
    num_asked, until = 0, time.monotonic() + 120
    while sum(told in line for line in server.log) < times or num_asked == 0:
        assert time.monotonic() < until, server.log
        assert _status(server)[0] == 200
        num_asked += 1
        time.sleep(0.05)
    return num_asked


def test_a_killed_process_is_replaced_and_all_are_renewed_while_others_answer() -> None:
    with ServerProcess("--model", "bundled-classifier", "--workers", "2") as server:
        first = _children(server)
        assert len(first) == 2
        os.kill(min(first), signal.SIGKILL)
        _asked_until(server, "Another one is started", 1)
        server.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + 120
        while (now := _children(server)) & first or len(now) != 2:
            assert time.monotonic() < until, server.log
            assert _status(server)[0] == 200
            time.sleep(0.05)
        assert b'heedful_requests_total{route="/health"' in _status(server, "/metrics")[1]
        assert server.terminate() == -signal.SIGTERM
        assert not any(Path(f"/proc/{pid}").exists() for pid in now)
