"""Connections that cannot be held for nothing: uvicorn's protocol with a clock on everything a client does.

A request must have arrived whole within `receive_seconds` of its first byte or of the connection, so that sending
it a byte at a time (slow-loris) holds nothing; who was answered before the body had come is heard out briefly
and closed; who does not read the answer is cut off; and the number of connections has a bound. Where a model has no
room a request is refused by its first line: at many times the capacity there is no time to read the rest.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from heedful.serving.admission import Admission
from heedful.serving.callers import client_at
from heedful.serving.limits import Limits
from heedful.serving.refusals import Refusal, refuse


class BoundedProtocol(H11Protocol):
    """One connection."""

    limits = Limits()
    admission: Admission = staticmethod(lambda _, __: None)

    def __init__(self, config: Config, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        self._arrival: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._is_lingering = False
        self._is_refused = False
        self._num_ignored = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of the first request, unless there are too many connections."""
        super().connection_made(transport)
        self._client = client_at(self.client[0] if self.client else None)
        if len(self.connections) > self.limits.max_connections + self.limits.max_refused_connections:
            self._is_refused = True
            transport.abort()
        elif self._is_one_too_many():
            self._is_refused = True
            transport.write(_TOO_MANY)
            self._linger()
        else:
            self._expect_request()

    def _is_one_too_many(self) -> bool:
        num_left = self.limits.max_connections - len(self.connections)
        if num_left >= self.limits.reserved_connections:
            return False
        own = sum(getattr(other, "_client", None) == self._client for other in self.connections)
        return num_left < 0 or own > self.limits.reserved_connections

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._stop_clock()
        if self._reading is not None:
            self._reading.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Give the client a while to read what it asked for."""
        self._reading = self.loop.call_later(self.limits.receive_seconds, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request, whose clock runs until it is whole; of a refused one they are ignored."""
        if self.transport.is_closing():
            return
        if self._is_refused:
            self.transport.close()  # now that its request is read, the refusal does not get lost
            return
        if self._is_lingering:
            self._num_ignored += len(data)
            if self._num_ignored > self.limits.linger_bytes:
                self.transport.abort()
            return
        if self._arrival is None and not self._is_answering():
            self._expect_request()
        if (refusal := self._refusal_of(data)) is not None:
            self._stop_clock()
            self.transport.write(_spelled(refusal))
            self._linger()
            return
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_clock()  # the request is here; how long the answer takes is the deadline's affair

    def _refusal_of(self, data: bytes) -> Refusal | None:
        """Return the refusal of a request that begins with these bytes; None when it is to be read."""
        if self._is_answering() or self.conn.their_state is not h11.IDLE or self.conn.trailing_data[0]:
            return None
        method, _, rest = data[:_LONGEST_LINE].partition(b" ")
        if method != b"POST":
            return None
        path = rest.partition(b" ")[0].partition(b"?")[0]  # clients may put what they ask for into the query
        return self.admission(path.decode("latin-1"), self._client)

    def on_response_complete(self) -> None:
        """Go on with the next request, or part from a client that was answered before it had said everything."""
        self._stop_clock()
        if self.conn.their_state is h11.SEND_BODY and not self.transport.is_closing():
            self.server_state.total_requests += 1
            self._linger()
        else:
            super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says the same in our words
        """Refuse what is not HTTP, in the shape of every other refusal."""
        self._stop_clock()
        self.transport.write(_NOT_HTTP)
        self._linger()

    def _linger(self) -> None:
        """Close, but not at once: a connection with unread data would be reset, and the refusal might be lost."""
        self._is_lingering = True
        self.transport.write_eof()
        self.loop.call_later(self.limits.linger_seconds, self._close)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also one that does not take the goodbye."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.limits.linger_seconds, self.transport.abort)

    def _expect_request(self) -> None:
        self._arrival = self.loop.call_later(self.limits.receive_seconds, self._close)

    def _stop_clock(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
        self.loop.call_later(self.limits.linger_seconds, self.transport.abort)


def protocol_with(limits: Limits, admission: Admission) -> type[BoundedProtocol]:
    """Return the class of connections with these bounds; uvicorn makes the connections itself."""

    class WithLimits(BoundedProtocol):
        """One connection, with the bounds of its server."""

    WithLimits.limits = limits
    WithLimits.admission = staticmethod(admission)
    return WithLimits


def _spelled(refusal: Refusal) -> bytes:
    """Spell an answer to what never became a request."""
    status = HTTPStatus(refusal.status)
    headers = "".join(f"{name}: {value}\r\n" for name, value in refusal.headers.items())
    return f"HTTP/1.1 {status.value} {status.phrase}\r\n{headers}connection: close\r\n\r\n".encode() + refusal.body


_LATER = {"retry-after": "1"}
_TOO_MANY = _spelled(refuse(503, "Too many connections are open. Try again in 1 s.", _LATER))
_NOT_HTTP = _spelled(refuse(400, "The request must be HTTP, with at most 64 KiB of headers.", _LATER))
_LONGEST_LINE = 128  # of which the path is wanted; those that can be refused are short
