"""The checks before every route, on a plain ASGI application: what passes, what is refused, what ends with a client."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from heedful.serving.guard import Access, Guard
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.preparation import Preparation

Headers = dict[str, str]


class Client:
    """One request, and what came back; it stays connected until `leaves` is set."""

    def __init__(self, headers: Headers, *parts: bytes, path: str = "/translate") -> None:
        listed = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
        self.scope: dict[str, Any] = {"type": "http", "path": path, "headers": listed, "client": ("127.0.0.1", 1)}
        self._parts = list(parts or (b"",))
        self.leaves = asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if self._parts:
            return {"type": "http.request", "body": self._parts.pop(0), "more_body": bool(self._parts)}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(dict(message))

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    @property
    def headers(self) -> Headers:
        return {name.decode().lower(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])


async def echo(_: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def guard_of(app: Any = echo, access: Access | None = None, **limits: Any) -> Guard:
    bounds, measures = Limits(**limits), Measures()
    preparation = Preparation(bounds, measures.of_model("preparation"))
    return Guard(app, access or Access(), bounds, measures, {"/translate"}, preparation)


async def asked(guard: Guard, headers: Headers, *parts: bytes, path: str = "/translate") -> Client:
    client = Client(headers, *parts, path=path)
    async with asyncio.timeout(10):
        await guard(client.scope, client.receive, client.send)
    return client


async def left_early(app: Any) -> Client:
    """Ask an application something, and leave while it works."""
    client = Client({}, b"x")
    task = asyncio.ensure_future(guard_of(app)(client.scope, client.receive, client.send))
    await asyncio.sleep(0.05)
    client.leaves.set()
    async with asyncio.timeout(10):
        await task
    return client


def ask(guard: Guard, headers: Headers, *parts: bytes, path: str = "/translate") -> Client:
    return asyncio.run(asked(guard, headers, *parts, path=path))


def test_a_body_in_parts_arrives_whole_and_the_answer_carries_the_headers() -> None:
    client = ask(guard_of(), {}, b"Where ", b"is ", b"it?")
    assert (client.status, client.body) == (200, b"Where is it?")
    assert client.headers["x-content-type-options"] == "nosniff"
    assert client.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:8000"}, 200),
        ({"host": "127.0.0.1:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"host": "ours.example"}, 200),
        ({"host": "theirs.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://localhost"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-length": "7x"}, 400),
        ({"content-length": "٣"}, 400),
        ({"content-encoding": "gzip"}, 415),
    ],
)
def test_names_origins_and_lengths_are_checked(headers: Headers, status: int) -> None:
    assert ask(guard_of(access=Access(frozenset({"ours.example"}))), headers).status == status


@pytest.mark.parametrize(("headers", "parts"), [({"content-length": "11"}, [b"x" * 11]), ({}, [b"x" * 6, b"x" * 5])])
def test_a_body_beyond_the_bound_is_refused_declared_or_not(headers: Headers, parts: list[bytes]) -> None:
    client = ask(guard_of(max_body_bytes=10, linger_seconds=0.01), headers, *parts)
    assert client.status == 413
    assert b"The body must have at most 10 bytes." in client.body


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"authorization": "Bearer secret"}, b"", 200),
        ({"x-api-key": "secret"}, b"", 200),
        ({"authorization": "Basic " + base64.b64encode(b"me:secret").decode()}, b"", 200),
        ({"content-type": "application/json"}, b'{"api_key": "secret"}', 200),
        ({"authorization": "Bearer wrong"}, b"", 401),
        ({"authorization": "Basic !"}, b"", 401),
        ({"content-type": "application/json"}, b'{"api_key": 5}', 401),
        ({}, b"", 401),
    ],
)
def test_the_key_may_stand_in_any_of_four_places(headers: Headers, body: bytes, status: int) -> None:
    guard = guard_of(access=Access(api_key="secret"))
    assert ask(guard, headers, body).status == status
    assert ask(guard, {}, path="/health").status == 200


def test_a_client_that_leaves_cancels_its_work_and_gets_nothing() -> None:
    ended: list[str] = []

    async def slow(_: Any, receive: Any, __: Any) -> None:
        await receive()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    assert asyncio.run(left_early(slow)).sent == []
    assert ended == ["cancelled"]


def test_an_application_can_wait_for_the_leaving_itself() -> None:
    heard: list[str] = []

    async def stream(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"all", "more_body": False})
        heard.append((await receive())["type"])

    assert asyncio.run(left_early(stream)).body == b"all"
    assert heard == ["http.disconnect"]


def test_a_failure_is_a_sentence_without_its_cause() -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError("secret detail")

    client = ask(guard_of(broken), {})
    assert client.status == 500
    assert b"secret detail" not in client.body
