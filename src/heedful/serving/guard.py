"""What every request passes before a route sees it: who asks, from where, how much; and what every answer carries.

Host and Origin are checked because a server on the loopback can be reached by any page in the user's browser: a page of
another origin is refused, and so is a name that somebody pointed at 127.0.0.1 (DNS rebinding). The body is read here,
within its bound and before anything is parsed; a client that goes away cancels its request. A plain ASGI wrapper: it
knows HTTP and nothing of translation.
"""

import asyncio
import base64
import binascii
import contextlib
import hmac
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from heedful.serving.bodies import FORM, BadRequestError, fields_of
from heedful.serving.callers import begin_request, client_at
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.preparation import Preparation
from heedful.serving.refusals import UnauthorizedError, describe
from heedful.serving.request_queue import RefusedError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
OPEN_ROUTES = frozenset({"/health", "/languages", "/frontend/settings"})
"""Answer without the key: a supervisor must be able to ask whether the process lives, and LibreTranslate's clients ask
for the others before their user has given them a key."""

OPEN_FOLDER = "/download_file/"
"""Answers without the key, too: the names in it are secrets, and browsers follow links without a key."""

FILE_ROUTES = frozenset({"/translate_file"})
"""May have larger bodies than others; few at a time."""

_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_log = logging.getLogger("heedful.serving")


@dataclass(frozen=True)
class Access:
    """Who may ask."""

    hosts: frozenset[str] = frozenset()
    """Names this server goes by, beside localhost and any address in numbers."""

    api_key: str | None = None


class Guard:
    """An application behind its checks."""

    def __init__(
        self,
        app: App,
        access: Access,
        limits: Limits,
        measures: Measures,
        paths: Collection[str],
        preparation: Preparation,
    ) -> None:
        """Put the checks before `app`, which has routes at `paths`."""
        self._app = app
        self._paths = paths
        self._preparation = preparation
        self._access = access
        self._num_files = 0
        self._limits = limits
        self._measures = measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, by the application or by a refusal."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        answer = _Answer(send, is_last=_is_ambiguous(scope))
        begin_request(client_at((scope.get("client") or (None,))[0]))
        body: bytes | None = None
        try:
            headers = _headers(scope)
            self._check_sender(headers)
            with self._room_for(scope["path"]) as max_bytes:
                body = await self._read_body(headers, receive, max_bytes)
                await self._check_key(scope, headers, body)
                await self._serve(scope, body, receive, answer)
        except _ClientLeftError:
            self._measures.on_vanished()
        except Exception as failure:
            await answer.fail(failure, None if body is not None else self._let_finish(receive))
        if answer.status:
            known = scope["path"] if scope["path"] in self._paths else "other"
            route = str(getattr(scope.get("route"), "path", known))
            self._measures.on_request(route, answer.status, time.monotonic() - started)

    @contextlib.contextmanager
    def _room_for(self, path: str) -> Iterator[int]:
        """Give the bound of a body; those that may be large are few at a time."""
        if path not in FILE_ROUTES:
            yield self._limits.max_body_bytes
            return
        if self._num_files >= self._limits.max_files_received:
            raise RefusedError("full", "Other files are being translated. Try again in a moment.", 2)
        self._num_files += 1
        try:
            yield self._limits.max_file_bytes
        finally:
            self._num_files -= 1

    async def _serve(self, scope: Scope, body: bytes, receive: Receive, answer: "_Answer") -> None:
        """Run the application on the body that was read, until it is done or its client has gone."""
        # Two tasks race: the application, and a look-out on the connection, which is the only one to read from it. An
        # application that listens for its client's leaving gets the body first and then waits for the look-out; the
        # shield keeps the look-out alive when the application stops listening.
        gone = asyncio.ensure_future(_wait_until_gone(receive))
        given = False

        async def receive_again() -> Message:
            nonlocal given
            if given:
                return await asyncio.shield(gone)
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        work = asyncio.ensure_future(self._app(scope, receive_again, answer.send))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not answer.is_complete:
                raise _ClientLeftError
            await work  # what it raises is raised here; an answer that is out lets the application clear up
        finally:
            # Whoever lost the race is stopped and waited for, so that nothing of this request outlives it.
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _let_finish(self, receive: Receive) -> None:
        """Read on for a moment: a sender whose connection is closed while it sends never reads the refusal."""
        num_bytes = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger_seconds):
                while num_bytes < self._limits.linger_bytes:
                    message = await receive()
                    if not message.get("more_body", False):
                        return
                    num_bytes += len(message["body"])

    def _check_sender(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if not self._is_known(host):
            raise BadRequestError("This server does not go by that name. Name it with --allow-host.", 403)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise BadRequestError("Pages of other origins may not ask this server.", 403)

    def _is_known(self, host: str) -> bool:
        name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
        if name.lower() in self._access.hosts | {"localhost"}:
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    async def _read_body(self, headers: dict[str, str], receive: Receive, limit: int) -> bytes:
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise BadRequestError("The body must not be compressed.", 415)
        declared = headers.get("content-length", "0")
        if not (declared.isascii() and declared.isdigit() and len(declared) < 20):
            raise BadRequestError("`Content-Length` must be a number.")
        body = bytearray()
        is_too_large = int(declared) > limit
        while not is_too_large:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientLeftError
            body += message.get("body", b"")
            is_too_large = len(body) > limit
            if not message.get("more_body", False):
                break
        if is_too_large:
            raise BadRequestError(f"The body must have at most {limit:,} bytes.", 413)
        return bytes(body)

    async def _check_key(self, scope: Scope, headers: dict[str, str], body: bytes) -> None:
        wanted = self._access.api_key
        if wanted is None or scope["path"] in OPEN_ROUTES or scope["path"].startswith(OPEN_FOLDER):
            return
        if not (given := _key_in_headers(headers)):
            query, kind = scope.get("query_string", b""), headers.get("content-type", "")
            num_bytes = len(body) + len(query)
            field = await self._preparation.read(lambda: _key_in_fields(body, kind, query), num_bytes)
            if field is not None and not _is_same(field, wanted):
                # As LibreTranslate has it; its clients tell by the status that the key is to be mended.
                raise BadRequestError("The API key must be one of this server's, but is not.", 403)
            given = field
        if given is None or not _is_same(given, wanted):
            raise UnauthorizedError("A valid API key must be given, as `Authorization: Bearer KEY`.", 401)


class _ClientLeftError(Exception):
    """There is nobody to answer."""


class _Answer:
    """The way back to the client: adds the headers, remembers how far the answer has come."""

    def __init__(self, send: Send, *, is_last: bool) -> None:
        """Take the way; after an answer that `is_last` the connection is closed."""
        self._send = send
        self._is_last = is_last
        self.status = 0
        self.is_complete = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            has = {name.lower() for name, _ in message["headers"]}
            message = {**message, "headers": [*message["headers"], *(h for h in _HEADERS if h[0] not in has)]}
            if b"cache-control" not in has:
                message["headers"].append((b"cache-control", b"no-store"))
            if self._is_last:
                message["headers"].append((b"connection", b"close"))
        elif not message.get("more_body", False):
            self.is_complete = True
        await self._send(message)

    async def fail(self, failure: Exception, meanwhile: Coroutine[Any, Any, None] | None) -> None:
        """Say in a sentence what went wrong, unless an answer has begun; `meanwhile` runs before the answer ends."""
        refusal = describe(failure)
        if refusal.status == 500:
            _log.error("a request failed", exc_info=failure)
        if self.status:
            return
        headers = [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": refusal.body, "more_body": meanwhile is not None})
        if meanwhile is not None:
            await meanwhile
            await self.send({"type": "http.response.body", "body": b""})


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _is_ambiguous(scope: Scope) -> bool:
    """Say whether a request gives two lengths: a proxy may take another part of it for the next one (RFC 9112, 6.1)."""
    return {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in scope["headers"]}


def _key_in_headers(headers: dict[str, str]) -> str | None:
    """Find the key as a bearer token, as `X-API-Key`, or as the password a browser asks its user for."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode("utf-8").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return None
    return headers.get("x-api-key")


def _key_in_fields(body: bytes, content_type: str, query: bytes) -> str | None:
    """Find the key where LibreTranslate's clients put it: in the body or in the query."""
    for content, kind in ((body, content_type), (query, FORM)):
        try:
            fields = fields_of(content, kind)
        except BadRequestError:
            continue
        key = fields.get("api_key") or fields.get("apiKey")  # so a client of npm's spells it
        if isinstance(key, str) and key:
            return key
    return None


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


async def _wait_until_gone(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message
