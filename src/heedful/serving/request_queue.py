"""Many callers, one worker: what is waiting is gathered into batches, within bounds.

The event loop submits items and awaits their futures; one thread takes the item whose turn it is and all that can be
done together with it, and runs them. Whose turn it is follows from fair queueing (fair_queue.py); a batch that takes
long is interrupted for a shorter one of somebody who has had less of the worker (preemption), wherever it asks
whether it is still wanted. A caller is refused at once when the queue is full, when it could not be answered
in time, or when the server is ending. A caller that goes away takes its items out of the queue; a batch nobody waits
for any more is abandoned in the middle. Knows nothing of models, languages or HTTP.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from heedful.errors import HeedfulError
from heedful.serving.callers import NOBODY, Caller
from heedful.serving.fair_queue import FairQueue
from heedful.serving.limits import Limits

Key = TypeVar("Key", contravariant=True)
Result = TypeVar("Result", covariant=True)
Reason = Literal["full", "draining", "late"]

_LONGEST_WAIT_TO_NAME = 60
_SHARE_OF_DEADLINE = 0.5  # the wait that is expected is an estimate, and being run takes time, too
_SETTLED_AT_ONCE = 4
_SHORT = 64  # tokens of a sentence that takes no longer in a batch than alone
_AS_LONG_AS = 2
_TOKENS_THAT_SAY_SOMETHING = 128  # a lone sentence is slower than a queue is worked off, and must not scare others away


class RefusedError(HeedfulError):
    """The caller must come again later."""

    def __init__(self, reason: Reason, sentence: str, retry_after: int) -> None:
        super().__init__(sentence)
        self.reason: Reason = reason
        self.retry_after = retry_after


class AbandonedError(Exception):
    """Nobody waits for the batch that is running."""


IsAbandoned = Callable[[], bool]
"""Says whether nobody waits for the work any more. It is to be asked often, between any two steps: it is cheap, and
lets others have their turn."""


@dataclass(frozen=True, eq=False)
class Exclusive:
    """A key of work that has the worker to itself: does it, given its content. Equal only to itself."""

    work: Callable[[Any, IsAbandoned], Any]


class Runner(Protocol[Key, Result]):
    """Does the work of a batch."""

    def __call__(self, key: Key, contents: Sequence[Any], is_abandoned: IsAbandoned) -> Sequence[Result]:
        """Return a result for each content; may raise `AbandonedError` when `is_abandoned` says so."""


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
    caller: Caller = NOBODY
    """For whom it is done."""

    is_alone: bool = False
    """True when it must not share its batch, because somebody listens to it."""

    submitted: float = field(default_factory=time.monotonic)

    @property
    def is_wanted(self) -> bool:
        """Say whether somebody still waits for it."""
        return not self.outcome.done() and time.monotonic() < self.deadline

    def is_alike(self, other: "Item[AnyKey, AnyResult]") -> bool:
        """Say whether it may share a batch with another: who is short does not wait for who is long."""
        longer, shorter = max(self.num_tokens, other.num_tokens), min(self.num_tokens, other.num_tokens)
        is_alone = self.is_alone or other.is_alone
        return not is_alone and self.key == other.key and longer <= max(_SHORT, _AS_LONG_AS * shorter)


class Observer(Protocol):
    """Hears what the worker does, for the metrics."""

    def on_batch(self, num_items: int, num_tokens: int, seconds: float) -> None:
        """Take note of a batch that was run."""

    def on_abandoned(self, num_items: int) -> None:
        """Take note of items nobody waited for any more."""


@dataclass(eq=False)
class _Run(Generic[AnyKey, AnyResult]):
    """A batch at work."""

    batch: list[Item[AnyKey, AnyResult]]
    resumed: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    """Of work, up to `resumed`; those during which it was interrupted do not count."""

    def clock(self) -> float:
        """Count the seconds since it was resumed, and return them."""
        now = time.monotonic()
        passed, self.resumed = now - self.resumed, now
        self.seconds += passed
        return passed


class Batcher(Generic[AnyKey, AnyResult]):
    """The queue in front of one worker thread. All methods but the thread's own are called by the event loop."""

    def __init__(self, name: str, run: Runner[AnyKey, AnyResult], limits: Limits, observer: Observer) -> None:
        self._run = run
        self._limits = limits
        self._observer = observer
        self._queue: FairQueue[Item[AnyKey, AnyResult]] = FairQueue()
        self._runs: list[_Run[AnyKey, AnyResult]] = []  # the last one runs, those before it are interrupted
        self._last_heard = 0.0  # on the clock of `time.monotonic`
        self._changed = threading.Condition()
        self._is_draining = False
        self._loop: asyncio.AbstractEventLoop | None = None
        # A daemon: after the drain nothing of value is left, and a second signal must end the process at once.
        self._thread = threading.Thread(target=self._work, name=f"heedful-{name}", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        """Items in the queue."""
        return self._queue.num_waiting

    @property
    def num_waiting_tokens(self) -> int:
        """Tokens of the items in the queue."""
        return self._queue.num_waiting_tokens

    @property
    def is_idle(self) -> bool:
        """Say whether nothing waits and nothing runs."""
        return not self._queue.num_waiting and not self._runs

    @property
    def is_ready(self) -> bool:
        """Say whether a small request would be admitted now, whoever asks."""
        has_room = self._queue.num_waiting < self._limits.max_queued_items
        return self._thread.is_alive() and not self._is_draining and has_room

    def drain(self) -> None:
        """Admit nothing more; what was admitted is finished."""
        self._is_draining = True

    def check_open(self, client: str = "") -> None:
        """Refuse when not even the smallest item would be admitted: before anybody takes the trouble to make items.

        Who asks is about to submit something, and whoever has submitted before may wait for it.
        """
        with self._changed:
            self._last_heard = time.monotonic()
            self._check_room(client, 1, 1, time.monotonic() + self._limits.deadline_seconds)

    def submit(self, items: Sequence[Item[AnyKey, AnyResult]]) -> None:
        """Put the items of one caller into the queue, all of them or none; raises `RefusedError`."""
        self._loop = asyncio.get_running_loop()
        tokens = sum(item.num_tokens for item in items)
        with self._changed:
            self._check_room(items[0].caller.client, len(items), tokens, min(item.deadline for item in items))
            self._queue.add(items)
            self._changed.notify()

    def withdraw(self, items: Sequence[Item[AnyKey, AnyResult]]) -> None:
        """Forget items whose caller has gone or has given up; those that are running are not waited for."""
        left = [item for item in items if item.outcome.cancel()]
        if not left:
            return
        with self._changed:
            num_waiting = self._queue.remove(left)
        self._observer.on_abandoned(num_waiting)

    def _check_room(self, client: str, num_items: int, num_tokens: int, deadline: float) -> None:
        if self._is_draining or not self._thread.is_alive():
            raise RefusedError("draining", "The server is ending. Try again in a moment.", 2)
        expected_wait = self._queue.expected_wait(client, num_tokens)
        retry_after = max(1, min(math.ceil(expected_wait), _LONGEST_WAIT_TO_NAME))
        if self._is_full_for(client, num_items, num_tokens):
            raise RefusedError("full", f"Too many requests are waiting. Try again in {retry_after} s.", retry_after)
        if expected_wait > _SHARE_OF_DEADLINE * (deadline - time.monotonic()):
            raise RefusedError("late", f"The answer would come too late. Try again in {retry_after} s.", retry_after)

    def _is_full_for(self, client: str, num_items: int, num_tokens: int) -> bool:
        """Say whether there is no room: neither in the queue, nor in the share of it that is the client's by right.

        Who has nothing waiting is let in: what is larger than the queue could else never be done.
        """
        queue, limits = self._queue, self._limits
        own_items, own_tokens = queue.waiting_of(client)
        items_over = queue.num_waiting + num_items > limits.max_queued_items
        if not own_items or not (items_over or queue.num_waiting_tokens + num_tokens > limits.max_queued_tokens):
            return False
        share = 1 / queue.num_clients_with(client)
        return (
            own_items + num_items > share * limits.max_queued_items
            or own_tokens + num_tokens > share * limits.max_queued_tokens
        )

    def _work(self) -> None:
        while True:
            self._do(self._take())

    def _take(self) -> _Run[AnyKey, AnyResult]:
        """Wait for work, then a little for more that can share its batch, and begin with the item whose turn it is."""
        with self._changed:
            while True:
                self._drop_unwanted()
                batch = self._gather(lambda _: True)
                if not batch:
                    self._changed.wait()
                    continue
                left = batch[0].submitted + self._delay_of(batch[0]) - time.monotonic()
                if left <= 0 or self._is_full(batch):
                    return self._begin(batch)
                self._changed.wait(left)

    def _begin(self, batch: list[Item[AnyKey, AnyResult]]) -> _Run[AnyKey, AnyResult]:
        run = _Run(batch)
        self._runs.append(run)  # first: at no instant may it look as if there were nothing to do
        self._queue.begin(batch)
        return run

    def _delay_of(self, first: Item[AnyKey, AnyResult]) -> float:
        """Return how long a batch is held back for others: hardly at all, unless somebody has just asked for room."""
        is_coming = self._last_heard > first.submitted
        return self._limits.batching_delay_seconds if is_coming else self._limits.idle_delay_seconds

    def _gather(self, may_go: Callable[[Item[AnyKey, AnyResult]], bool]) -> list[Item[AnyKey, AnyResult]]:
        """Return the first item in a fair order that may go, with all that fits to it; nothing when there is none."""
        order = self._queue.in_order()
        first = next((item for item in order if may_go(item)), None)
        if first is None:
            return []
        batch = [first]
        num_tokens = first.num_tokens
        for item in order:
            if self._is_full(batch):
                break
            if item.is_alike(first) and num_tokens + item.num_tokens <= self._limits.max_batch_tokens:
                batch.append(item)
                num_tokens += item.num_tokens
        return batch

    def _is_full(self, batch: Sequence[Item[AnyKey, AnyResult]]) -> bool:
        return batch[0].is_alone or len(batch) >= self._limits.max_batch_items

    def _drop_unwanted(self) -> None:
        unwanted = [item for item in self._queue.waiting() if not item.is_wanted]
        if unwanted:
            self._queue.remove(unwanted)
            self._observer.on_abandoned(len(unwanted))

    def _do(self, run: _Run[AnyKey, AnyResult]) -> None:
        """Run a batch to its end, and note what it has cost."""
        self._run_batch(run, run.batch)
        num_tokens = sum(item.num_tokens for item in run.batch)
        with self._changed:
            self._queue.charge(run.batch, run.clock())
            if num_tokens >= _TOKENS_THAT_SAY_SOMETHING and not run.batch[0].is_alone:
                self._queue.note_speed(run.batch, num_tokens / max(run.seconds, 1e-6))
            self._queue.end(run.batch)
            self._runs.remove(run)
        self._observer.on_batch(len(run.batch), num_tokens, run.seconds)

    def _let_others_go_first(self, run: _Run[AnyKey, AnyResult]) -> None:
        """Interrupt a batch that has been running for a while, when somebody waits who has had less of the worker.

        Never one that has the model to itself: it may have changed it, as who switches heads off does.
        """
        if run.batch[0].is_alone:
            return
        is_time = time.monotonic() - run.resumed >= self._limits.slice_seconds
        if not is_time or not self._queue.num_waiting or len(self._runs) >= self._limits.max_interrupted:
            return
        with self._changed:
            self._queue.charge(run.batch, run.clock())
            self._drop_unwanted()
            batch = self._gather(lambda item: self._goes_before(item, run.batch))
            other = self._begin(batch) if batch else None
        if other is not None:
            self._do(other)
            run.resumed = time.monotonic()

    def _goes_before(self, item: Item[AnyKey, AnyResult], running: Sequence[Item[AnyKey, AnyResult]]) -> bool:
        """Say whether a batch is interrupted for an item: not for one that is like it, which can wait for its end."""
        return not item.is_alike(running[0]) and self._queue.has_had_less(item, running)

    def _run_batch(self, run: _Run[AnyKey, AnyResult], batch: Sequence[Item[AnyKey, AnyResult]]) -> None:
        def is_abandoned() -> bool:
            self._let_others_go_first(run)
            return not any(item.is_wanted for item in batch)

        try:
            key, contents = batch[0].key, [item.content for item in batch]
            results: Sequence[AnyResult]
            if isinstance(key, Exclusive):
                results = [key.work(contents[0], is_abandoned)]
            else:
                results = self._run(key, contents, is_abandoned)
        except AbandonedError:
            self._observer.on_abandoned(len(batch))
        except Exception as failure:
            if len(batch) > 1:  # one bad item must not cost the others their answer
                for item in batch:
                    self._run_batch(run, [item])
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
