"""Requests spelled byte by byte, and what every refusal must be: a 4xx, soon, without what was sent."""

import asyncio
import json
import time

from benchmarks.load import Answer, ServerProcess, exchange

KEY = "a-key-of-this-test"
CANARY = "xyzzy-canary"
JSON_HEADER = "Content-Type: application/json"
GOOD = json.dumps({"q": "where", "source": "en", "target": "de"}).encode()


def send(server: ServerProcess, body: bytes, *headers: str, path: str = "/translate", method: str = "POST") -> Answer:
    given = [f"Host: {server.host}:{server.port}", f"Authorization: Bearer {KEY}", "Connection: close", *headers]
    if not any(header.lower().startswith(("content-length", "transfer-encoding")) for header in headers):
        given.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *given])
    return raw(server, head.encode() + b"\r\n\r\n" + body)


def raw(server: ServerProcess, request: bytes) -> Answer:
    async def bounded() -> Answer:
        async with asyncio.timeout(5):
            return await exchange(server, request)

    started = time.monotonic()
    answer = asyncio.run(bounded())
    return Answer(answer.status, answer.headers, answer.body, time.monotonic() - started)


def assert_refused(answer: Answer, *statuses: int) -> None:
    assert answer.status in (statuses or range(400, 500)), answer
    assert answer.seconds < 1
    assert CANARY.encode() not in answer.body
    assert b"Traceback" not in answer.body
