"""Many callers, one worker: what is waiting is gathered into batches, within bounds.

The event loop submits items and awaits their futures; one thread takes the oldest item and all that can be done
together with it, and runs them. A caller is refused at once when the queue is full, when it could not be answered
in time, or when the server is ending. A caller that goes away takes its items out of the queue; a batch nobody waits
for any more is abandoned in the middle. Knows nothing of models, languages or HTTP.
"""

import asyncio
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, Literal, Protocol, TypeVar

from heedful.errors import HeedfulError
from heedful.serving.limits import Limits

Key = TypeVar("Key", contravariant=True)
Result = TypeVar("Result", covariant=True)
Reason = Literal["full", "draining", "late"]

_LONGEST_WAIT_TO_NAME = 60
_SHARE_OF_DEADLINE = 0.5  # the wait that is expected is an estimate, and being run takes time, too
_NEWEST_COUNTS = 0.3
_SETTLED_AT_ONCE = 4
_TOKENS_THAT_SAY_SOMETHING = 128  # a lone sentence is slower than a queue is worked off, and must not scare others away


class RefusedError(HeedfulError):
    """The caller must come again later."""

    def __init__(self, reason: Reason, sentence: str, retry_after: int) -> None:
        super().__init__(sentence)
        self.reason: Reason = reason
        self.retry_after = retry_after


class AbandonedError(Exception):
    """Nobody waits for the batch that is running."""


class Runner(Protocol[Key, Result]):
    """Does the work of a batch."""

    def __call__(self, key: Key, contents: Sequence[Any], is_abandoned: Callable[[], bool]) -> Sequence[Result]:
        """Return a result for each content; may raise `AbandonedError` when `is_abandoned`, which is cheap, says so."""


AnyKey = TypeVar("AnyKey")
AnyResult = TypeVar("AnyResult")


@dataclass(eq=False)
class Item(Generic[AnyKey, AnyResult]):
    """One thing to be done, and the future its caller awaits."""

    key: AnyKey
    """Items with equal keys may share a batch."""

    content: Any
    """What it is: a text, or what was planned for one."""

    num_tokens: int
    deadline: float
    """On the clock of `time.monotonic`."""

    outcome: "asyncio.Future[AnyResult]"
    is_alone: bool = False
    """True when it must not share its batch, because somebody listens to it."""

    submitted: float = field(default_factory=time.monotonic)

    @property
    def is_wanted(self) -> bool:
        """Say whether somebody still waits for it."""
        return not self.outcome.done() and time.monotonic() < self.deadline


class Observer(Protocol):
    """Hears what the worker does, for the metrics."""

    def on_batch(self, num_items: int, num_tokens: int, seconds: float) -> None:
        """Take note of a batch that was run."""

    def on_abandoned(self, num_items: int) -> None:
        """Take note of items nobody waited for any more."""


class Batcher(Generic[AnyKey, AnyResult]):
    """The queue in front of one worker thread. All methods but the thread's own are called by the event loop."""

    def __init__(self, name: str, run: Runner[AnyKey, AnyResult], limits: Limits, observer: Observer) -> None:
        self._run = run
        self._limits = limits
        self._observer = observer
        # In order, and quick to leave: hundreds may go at once, and somebody is waiting behind them.
        self._waiting: OrderedDict[Item[AnyKey, AnyResult], None] = OrderedDict()
        self._running: list[Item[AnyKey, AnyResult]] = []
        self._num_tokens = 0
        self._last_heard = 0.0  # on the clock of `time.monotonic`
        self._tokens_per_second = 0.0  # unknown until the first batch of some size
        self._changed = threading.Condition()
        self._is_draining = False
        self._loop: asyncio.AbstractEventLoop | None = None
        # A daemon: after the drain nothing of value is left, and a second signal must end the process at once.
        self._thread = threading.Thread(target=self._work, name=f"heedful-{name}", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        """Items in the queue."""
        return len(self._waiting)

    @property
    def num_waiting_tokens(self) -> int:
        """Tokens of the items in the queue."""
        return self._num_tokens

    @property
    def is_idle(self) -> bool:
        """Say whether nothing waits and nothing runs."""
        return not self._waiting and not self._running

    @property
    def is_ready(self) -> bool:
        """Say whether a small request would be admitted now."""
        return self._thread.is_alive() and not self._is_draining and len(self._waiting) < self._limits.max_queued_items

    def drain(self) -> None:
        """Admit nothing more; what was admitted is finished."""
        self._is_draining = True

    def check_open(self) -> None:
        """Refuse when not even the smallest item would be admitted: before anybody takes the trouble to make items.

        Who asks is about to submit something, and whoever has submitted before may wait for it.
        """
        with self._changed:
            self._last_heard = time.monotonic()
            self._check_room(1, 1, time.monotonic() + self._limits.deadline_seconds)

    def submit(self, items: Sequence[Item[AnyKey, AnyResult]]) -> None:
        """Put the items of one caller into the queue, all of them or none; raises `RefusedError`."""
        self._loop = asyncio.get_running_loop()
        tokens = sum(item.num_tokens for item in items)
        with self._changed:
            self._check_room(len(items), tokens, min((item.deadline for item in items), default=math.inf))
            self._waiting.update(dict.fromkeys(items))
            self._num_tokens += tokens
            self._changed.notify()

    def withdraw(self, items: Sequence[Item[AnyKey, AnyResult]]) -> None:
        """Forget items whose caller has gone or has given up; those that are running are not waited for."""
        left = [item for item in items if item.outcome.cancel()]
        if not left:
            return
        with self._changed:
            waiting = [item for item in left if item in self._waiting]
            self._leave(waiting)
        self._observer.on_abandoned(len(waiting))

    def _check_room(self, num_items: int, num_tokens: int, deadline: float) -> None:
        if self._is_draining or not self._thread.is_alive():
            raise RefusedError("draining", "The server is ending. Try again in a moment.", 2)
        limits = self._limits
        retry_after = max(1, min(math.ceil(self._expected_wait()), _LONGEST_WAIT_TO_NAME))
        is_too_many = len(self._waiting) + num_items > limits.max_queued_items
        # What is larger than the whole queue is let in when nothing else waits, or it could never be done.
        if (is_too_many or self._num_tokens + num_tokens > limits.max_queued_tokens) and self._waiting:
            raise RefusedError("full", f"Too many requests are waiting. Try again in {retry_after} s.", retry_after)
        if self._expected_wait() > _SHARE_OF_DEADLINE * (deadline - time.monotonic()):
            raise RefusedError("late", f"The answer would come too late. Try again in {retry_after} s.", retry_after)

    def _expected_wait(self) -> float:
        ahead = self._num_tokens + sum(item.num_tokens for item in self._running)
        return ahead / self._tokens_per_second if self._tokens_per_second else 0.0

    def _work(self) -> None:
        while True:
            batch = self._take()
            started = time.monotonic()
            self._run_batch(batch)
            seconds = max(time.monotonic() - started, 1e-6)
            num_tokens = sum(item.num_tokens for item in batch)
            if num_tokens >= _TOKENS_THAT_SAY_SOMETHING and not batch[0].is_alone:
                weight = _NEWEST_COUNTS if self._tokens_per_second else 1.0
                self._tokens_per_second += weight * (num_tokens / seconds - self._tokens_per_second)
            self._observer.on_batch(len(batch), num_tokens, seconds)
            self._running = []

    def _take(self) -> list[Item[AnyKey, AnyResult]]:
        """Wait for work, then a little for company, and take the oldest item with all that fits to it."""
        with self._changed:
            while True:
                self._drop_unwanted()
                if not self._waiting:
                    self._changed.wait()
                    continue
                oldest = next(iter(self._waiting))
                batch = self._company_of(oldest)
                left = oldest.submitted + self._patience_with(oldest) - time.monotonic()
                if left <= 0 or self._is_full(batch):
                    self._running = batch  # first: at no instant may it look as if there were nothing to do
                    self._leave(batch)
                    return batch
                self._changed.wait(left)

    def _patience_with(self, oldest: Item[AnyKey, AnyResult]) -> float:
        """Return how long to wait for company: who is alone is done at once, unless somebody is heard to come."""
        is_coming = self._last_heard > oldest.submitted
        return self._limits.patience_seconds if is_coming else self._limits.listening_seconds

    def _company_of(self, oldest: Item[AnyKey, AnyResult]) -> list[Item[AnyKey, AnyResult]]:
        batch = [oldest]
        num_tokens = oldest.num_tokens
        for item in islice(self._waiting, 1, None):
            if self._is_full(batch):
                break
            fits = num_tokens + item.num_tokens <= self._limits.max_batch_tokens
            if item.key == oldest.key and not item.is_alone and fits:
                batch.append(item)
                num_tokens += item.num_tokens
        return batch

    def _is_full(self, batch: Sequence[Item[AnyKey, AnyResult]]) -> bool:
        return batch[0].is_alone or len(batch) >= self._limits.max_batch_items

    def _drop_unwanted(self) -> None:
        unwanted = [item for item in self._waiting if not item.is_wanted]
        if unwanted:
            self._leave(unwanted)
            self._observer.on_abandoned(len(unwanted))

    def _leave(self, items: Sequence[Item[AnyKey, AnyResult]]) -> None:
        for item in items:
            del self._waiting[item]
            self._num_tokens -= item.num_tokens

    def _run_batch(self, batch: Sequence[Item[AnyKey, AnyResult]]) -> None:
        try:
            results = self._run(
                batch[0].key, [item.content for item in batch], lambda: not any(item.is_wanted for item in batch)
            )
        except AbandonedError:
            self._observer.on_abandoned(len(batch))
        except Exception as failure:
            if len(batch) > 1:  # one bad item must not cost the others their answer
                for item in batch:
                    self._run_batch([item])
            else:
                self._deliver([(batch[0], failure)])
        else:
            self._deliver(list(zip(batch, results, strict=True)))

    def _deliver(self, outcomes: "Sequence[tuple[Item[AnyKey, AnyResult], AnyResult | Exception]]") -> None:
        assert self._loop is not None, "there is no item before the first submission"
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_settle, self._loop, outcomes)


def _settle(
    loop: asyncio.AbstractEventLoop, outcomes: "Sequence[tuple[Item[AnyKey, AnyResult], AnyResult | Exception]]"
) -> None:
    """Give the callers what became of their items; runs in the event loop.

    A few at a time: who is answered writes a whole response, and a batch of them in a row would let newcomers, who may
    only want to be refused, wait for all.
    """
    if rest := outcomes[_SETTLED_AT_ONCE:]:
        loop.call_soon(_settle, loop, rest)
    for item, outcome in outcomes[:_SETTLED_AT_ONCE]:
        if item.outcome.done():
            continue
        if isinstance(outcome, Exception):
            item.outcome.set_exception(outcome)
        else:
            item.outcome.set_result(outcome)
