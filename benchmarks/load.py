"""A client that puts a server under load: real connections, an open loop, and an account of every request.

Used by serve_load.py and by the end-to-end tests. It starts `heedful serve` as a process on a free port. In an open
loop requests are sent when their time has come, whether or not earlier ones are answered, as the world does it.
"""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path

ADDRESS = re.compile(r"http://([\w.]+):(\d+)")
LOST = 0
"""Stands for the status of a request that got no answer."""


class ServerProcess:
    """The real command, as a context manager; what it says besides its address is kept in `log`."""

    def __init__(self, *arguments: str | Path, **environment: str) -> None:
        self._arguments = ["serve", "--port", "0", *map(str, arguments)]
        self._environment = environment
        self.log: list[str] = []

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "heedful", *self._arguments]
        environment = {**os.environ, "NO_COLOR": "1", **self._environment}
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)

    def __enter__(self) -> "ServerProcess":
        self.process = self._start()
        assert self.process.stderr is not None
        said = TextIOWrapper(self.process.stderr, "utf-8", errors="replace")
        for line in said:
            self.log.append(line)
            if found := ADDRESS.search(line):
                self.host, self.port = found[1], int(found[2])
                break
        else:
            raise RuntimeError("The server did not start:\n" + "".join(self.log))
        # Somebody must go on reading, or the server would one day wait for its own complaints to be read.
        self._reader = threading.Thread(target=lambda: self.log.extend(said), daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(timeout=5)

    @property
    def url(self) -> str:
        """Where the server answers."""
        return f"http://{self.host}:{self.port}"

    def terminate(self, timeout: float = 40) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def processor_seconds(self) -> float:
        """Processor time the server has used so far: unlike the clock it does not count what others do meanwhile."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Resident memory of the server."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


@dataclass(frozen=True)
class Answer:
    """What became of one request."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0


async def ask(
    server: ServerProcess,
    path: str,
    content: object,
    timeout: float = 60,
    *,
    address: str | None = None,
    forwarded_for: str | None = None,
) -> Answer:
    """POST JSON over a connection of its own, from `address`; a request without a whole answer is `LOST`.

    `forwarded_for` is the address of the client for whom it is sent, as a proxy says it.
    """
    body = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nContent-Type: application/json\r\n"
    head += "" if forwarded_for is None else f"X-Forwarded-For: {forwarded_for}\r\n"
    request = f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    started = time.monotonic()
    try:
        async with asyncio.timeout(timeout):
            answer = await exchange(server, request, address)
    except (OSError, TimeoutError, EOFError, ValueError) as failure:
        return Answer(LOST, body=repr(failure).encode(), seconds=time.monotonic() - started)
    return Answer(answer.status, answer.headers, answer.body, time.monotonic() - started)


async def exchange(server: ServerProcess, request: bytes, address: str | None = None) -> Answer:
    """Send bytes, and read until the server closes; `address` is one of this machine's, by which clients are known."""
    local = None if address is None else (address, 0)
    reader, writer = await asyncio.open_connection(server.host, server.port, local_addr=local)
    try:
        writer.write(request)
        return parse(await reader.read())
    finally:
        writer.close()


def parse(answer: bytes) -> Answer:
    """Read a whole answer; raises `EOFError` for a part of one."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        raise EOFError("an answer that ends in its head")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if "content-length" in headers and int(headers["content-length"]) != len(body):
        raise EOFError("an answer that is cut short")
    return Answer(int(lines[0].split()[1]), headers, body)


async def closed_loop(server: ServerProcess, sentences: Sequence[str], *, clients: int, seconds: float) -> float:
    """Let clients ask one sentence after the other; returns answered sentences per second."""
    end = time.monotonic() + seconds
    count = 0

    async def client(number: int) -> None:
        nonlocal count
        turn = number
        while time.monotonic() < end:
            answer = await ask(server, "/translate", _request(sentences[turn % len(sentences)]))
            assert answer.status == 200, answer
            count += 1
            turn += 7

    started = time.monotonic()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return count / (time.monotonic() - started)


async def open_loop(server: ServerProcess, sentences: Sequence[str], *, rate: float, seconds: float) -> list[Answer]:
    """Send requests at random instants, `rate` a second on average, and return all answers."""
    chance = random.Random(1)
    started = time.monotonic()
    instant = 0.0
    running: list[asyncio.Task[Answer]] = []
    while instant < seconds:
        await asyncio.sleep(max(0.0, started + instant - time.monotonic()))
        sentence = sentences[len(running) % len(sentences)]
        running.append(asyncio.ensure_future(ask(server, "/translate", _request(sentence))))
        instant += chance.expovariate(rate)
    return list(await asyncio.gather(*running))


def counts(answers: Sequence[Answer]) -> Counter[int]:
    """Count the answers by status."""
    return Counter(answer.status for answer in answers)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie; 0 of none."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def _request(sentence: str) -> dict[str, str]:
    return {"q": sentence, "source": "en", "target": "de"}
