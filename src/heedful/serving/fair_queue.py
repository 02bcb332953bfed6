"""A queue in which nobody waits for another's many: fair queueing, first between clients, then between their requests.

Each has an account of the worker's time it has had, and who has had least is next (start-time fair queueing: Goyal, Vin
& Cheng, 1996). A newcomer begins level with whoever has had least, so that neither past idleness nor past work counts,
but not far behind the virtual time, which is what everybody would have had if all had had the same: however many come,
who was there before gets its share. Who is alone has everything. Knows no threads and no clock; it is told the time.
"""

from collections import OrderedDict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from heedful.serving.callers import Caller

_NEWEST_COUNTS = 0.3
_HEAD_START = 2.0  # seconds that a newcomer may be behind the virtual time: it is short, or soon no newcomer any more


class Charged(Protocol):
    """Something to be done for somebody."""

    @property
    def caller(self) -> Caller:
        """For whom."""

    @property
    def num_tokens(self) -> int:
        """How much it is."""


AnyCharged = TypeVar("AnyCharged", bound=Charged)


@dataclass
class _Request(Generic[AnyCharged]):
    seconds: float
    waiting: OrderedDict[AnyCharged, None] = field(default_factory=OrderedDict)  # in order, and quick to leave
    num_running: int = 0


@dataclass
class _Client(Generic[AnyCharged]):
    seconds: float
    tokens_per_second: float
    requests: dict[int, _Request[AnyCharged]] = field(default_factory=dict)
    virtual_seconds: float = 0.0
    num_waiting: int = 0
    num_waiting_tokens: int = 0
    num_running_tokens: int = 0

    @property
    def seconds_ahead(self) -> float:
        """How long the worker needs for all of it; 0 as long as nobody knows."""
        num_tokens = self.num_waiting_tokens + self.num_running_tokens
        return num_tokens / self.tokens_per_second if self.tokens_per_second else 0.0


class FairQueue(Generic[AnyCharged]):
    """What waits, and what runs, by client and request. Who is in it has something waiting or running."""

    def __init__(self) -> None:
        self._clients: dict[str, _Client[AnyCharged]] = {}
        self._virtual_seconds = 0.0
        self._usual_tokens_per_second = 0.0  # unknown until a client has been seen
        self.num_waiting = 0
        self.num_waiting_tokens = 0

    def waiting_of(self, client: str) -> tuple[int, int]:
        """Return how many items, and tokens, of a client wait."""
        found = self._clients.get(client)
        return (found.num_waiting, found.num_waiting_tokens) if found else (0, 0)

    def num_clients_with(self, client: str) -> int:
        """Return how many clients there are when this one is, too."""
        return len(self._clients) + (client not in self._clients)

    def expected_wait(self, client: str, num_tokens: int) -> float:
        """Return in how many seconds the worker would come to new tokens of a client.

        After all its own, and as much of everybody else's.
        """
        found = self._clients.get(client)
        rate = found.tokens_per_second if found else self._usual_tokens_per_second
        own = found.seconds_ahead if found else 0.0
        share = own + (num_tokens / rate if rate else 0.0)
        return own + sum(min(other.seconds_ahead, share) for other in self._clients.values() if other is not found)

    def add(self, items: Sequence[AnyCharged]) -> None:
        """Let items of one caller, thousands maybe, wait in this order."""
        caller = items[0].caller
        client = self._clients.get(caller.client)
        if client is None:
            seconds = _first_balance(self._clients.values(), self._virtual_seconds)
            client = self._clients[caller.client] = _Client(seconds, self._usual_tokens_per_second)
        request = client.requests.get(caller.request)
        if request is None:
            seconds = _first_balance(client.requests.values(), client.virtual_seconds)
            request = client.requests[caller.request] = _Request(seconds)
        request.waiting.update(dict.fromkeys(items))
        self._count(client, len(items), sum(item.num_tokens for item in items))

    def in_order(self) -> Iterator[AnyCharged]:
        """Give all that waits in a fair order: one item of each client in turn, and of each of its requests."""
        clients = sorted(self._clients.values(), key=lambda client: client.seconds)
        return _in_turn([_in_turn(_requests_of(client)) for client in clients])

    def waiting(self) -> Iterator[AnyCharged]:
        """Give all that waits."""
        return (
            item
            for client in self._clients.values()
            for request in client.requests.values()
            for item in request.waiting
        )

    def remove(self, items: Sequence[AnyCharged]) -> int:
        """Forget those of the items that wait; returns how many did."""
        num_removed = 0
        for caller, group in groupby(items, key=lambda item: item.caller):
            client = self._clients.get(caller.client)
            request = client.requests.get(caller.request) if client else None
            if client is None or request is None:
                continue
            waiting = [item for item in group if item in request.waiting]
            for item in waiting:
                del request.waiting[item]
            self._count(client, -len(waiting), -sum(item.num_tokens for item in waiting))
            self._close(caller)
            num_removed += len(waiting)
        return num_removed

    def begin(self, items: Sequence[AnyCharged]) -> None:
        """Let items that wait run."""
        for item in items:
            client, request = self._account_of(item)
            del request.waiting[item]
            self._count(client, -1, -item.num_tokens)
            request.num_running += 1
            client.num_running_tokens += item.num_tokens

    def charge(self, items: Sequence[AnyCharged], seconds: float) -> None:
        """Put time of the worker on the accounts of those for whom items run."""
        total = max(1, sum(item.num_tokens for item in items))
        for item in items:
            client, request = self._account_of(item)
            part = seconds * item.num_tokens / total
            client.seconds += part
            request.seconds += part
            self._virtual_seconds += part / len(self._clients)
            client.virtual_seconds += part / len(client.requests)

    def note_speed(self, items: Sequence[AnyCharged], tokens_per_second: float) -> None:
        """Remember how quickly items of this kind were done, for those who brought them."""
        for name in {item.caller.client for item in items}:
            client = self._clients[name]
            weight = _NEWEST_COUNTS if client.tokens_per_second else 1.0
            client.tokens_per_second += weight * (tokens_per_second - client.tokens_per_second)

    def end(self, items: Sequence[AnyCharged]) -> None:
        """Forget items that have run."""
        for item in items:
            client, request = self._account_of(item)
            request.num_running -= 1
            client.num_running_tokens -= item.num_tokens
            self._close(item.caller)

    def has_had_less(self, item: AnyCharged, others: Sequence[AnyCharged]) -> bool:
        """Say whether those for whom an item waits have had less of the worker than all for whom others run."""
        client, request = self._account_of(item)
        for other in others:
            its_client, its_request = self._account_of(other)
            if its_request is request:
                return False
            if request.seconds >= its_request.seconds if its_client is client else client.seconds >= its_client.seconds:
                return False
        return True

    def _account_of(self, item: AnyCharged) -> tuple[_Client[AnyCharged], _Request[AnyCharged]]:
        client = self._clients[item.caller.client]
        return client, client.requests[item.caller.request]

    def _count(self, client: _Client[AnyCharged], num_items: int, num_tokens: int) -> None:
        client.num_waiting += num_items
        client.num_waiting_tokens += num_tokens
        self.num_waiting += num_items
        self.num_waiting_tokens += num_tokens

    def _close(self, caller: Caller) -> None:
        """Close the accounts of who has nothing left; how quick its work was is remembered for newcomers."""
        client = self._clients[caller.client]
        request = client.requests[caller.request]
        if request.waiting or request.num_running:
            return
        del client.requests[caller.request]
        if client.requests:
            return
        del self._clients[caller.client]
        if client.tokens_per_second:
            weight = _NEWEST_COUNTS if self._usual_tokens_per_second else 1.0
            self._usual_tokens_per_second += weight * (client.tokens_per_second - self._usual_tokens_per_second)


def _first_balance(
    others: Collection[_Client[AnyCharged]] | Collection[_Request[AnyCharged]], virtual_seconds: float
) -> float:
    least = min((other.seconds for other in others), default=virtual_seconds)
    return max(least, virtual_seconds - _HEAD_START)


def _requests_of(client: _Client[AnyCharged]) -> list[Iterator[AnyCharged]]:
    requests = sorted(client.requests.values(), key=lambda request: request.seconds)
    return [iter(request.waiting) for request in requests if request.waiting]


def _in_turn(sources: Sequence[Iterator[AnyCharged]]) -> Iterator[AnyCharged]:
    """Give one item of each source, again and again, until all are empty."""
    rest = deque(sources)
    while rest:
        source = rest.popleft()
        for item in source:
            yield item
            rest.append(source)
            break
