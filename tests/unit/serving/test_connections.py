"""Connections at their bounds, on real sockets."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from heedful.serving.connections import protocol_with
from heedful.serving.limits import Limits
from heedful.serving.refusals import Refusal, refuse

FULL = refuse(429, "No room.", {"retry-after": "3"})
REQUEST = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body that came."""
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": message["body"]})


def admission(path: str, client: str) -> Refusal | None:
    return FULL if path == "/full" else None


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with serving(replace(Limits(), max_connections=3, linger_seconds=5.0)) as where:
        yield where


@contextmanager
def serving(limits: Limits) -> Iterator[tuple[str, int]]:
    config = uvicorn.Config(
        echo, http=protocol_with(limits, admission), port=0, ws="none", lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()
    server.should_exit = True
    thread.join()


def answer_to(address: tuple[str, int], request: bytes) -> bytes:
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(4096), b""))


@pytest.mark.parametrize("path", [b"/full", b"/full?q=a&target=de", b"/full?q=" + b"a" * 20_000], ids=len)
def test_where_there_is_no_room_the_first_line_decides(address: tuple[str, int], path: bytes) -> None:
    answer = answer_to(address, REQUEST % path)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
    assert b"retry-after: 3\r\n" in head
    assert b"connection: close" in head
    assert body == b'{"error": "No room."}'


def test_other_requests_are_read(address: tuple[str, int]) -> None:
    request = (REQUEST % b"/open").replace(b"Host: x", b"Host: x\r\nConnection: close")
    assert answer_to(address, request).endswith(b"hello")
    # A body that looks like a request that would be refused is a body.
    with socket.create_connection(address, timeout=10) as client:
        body = REQUEST % b"/full"
        client.sendall(b"POST /open HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body))
        time.sleep(0.2)
        client.sendall(body)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


def test_one_connection_too_many_is_told_so(address: tuple[str, int]) -> None:
    held = [socket.create_connection(address) for _ in range(3)]
    time.sleep(0.2)
    started = time.monotonic()
    answer = answer_to(address, REQUEST % b"/open")
    assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"retry-after: 1" in answer
    assert time.monotonic() - started < 2
    for client in held:
        client.close()
    time.sleep(0.2)
    assert b"200 OK" in answer_to(address, (REQUEST % b"/open").replace(b"Host: x", b"Host: x\r\nConnection: close"))


@pytest.mark.skipif(sys.platform != "linux", reason="clients need several addresses")
def test_one_client_does_not_take_all_connections() -> None:
    request = (REQUEST % b"/open").replace(b"Host: x", b"Host: x\r\nConnection: close")
    with serving(replace(Limits(), max_connections=6, reserved_connections=2)) as address:
        held = [socket.create_connection(address, timeout=10) for _ in range(4)]
        time.sleep(0.2)
        assert answer_to(address, request).startswith(b"HTTP/1.1 503")
        with socket.create_connection(address, timeout=10, source_address=("127.0.0.2", 0)) as other:
            other.sendall(request)
            assert other.recv(4096).startswith(b"HTTP/1.1 200")
        for client in held:
            client.close()


def test_who_comes_when_even_the_refused_are_too_many_is_cut_off() -> None:
    limits = replace(Limits(), max_connections=1, max_refused_connections=1, linger_seconds=5.0)
    with serving(limits) as address:
        held = [socket.create_connection(address, timeout=10) for _ in range(2)]
        time.sleep(0.2)
        assert held[1].recv(4096).startswith(b"HTTP/1.1 503")
        with socket.create_connection(address, timeout=2) as third:
            assert third.recv(4096) == b""
        for client in held:
            client.close()
