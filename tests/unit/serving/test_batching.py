"""The queue: what is gathered, what is refused, what is dropped, and that one bad item costs nobody else anything."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import pytest

from heedful.serving.callers import Caller
from heedful.serving.limits import Limits
from heedful.serving.request_queue import AbandonedError, Batcher, Item, RefusedError

LIMITS = Limits(max_queued_items=4, max_queued_tokens=100, max_batch_items=3, max_batch_tokens=40, deadline_seconds=5)

ONE, ANOTHER = Caller("one", 1), Caller("another", 2)


class Worker:
    """Shouts the texts; a text may also hold it up, break it, or make it wait until nobody listens."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.was_abandoned = threading.Event()

    def __call__(self, key: str, texts: Sequence[str], is_abandoned: Callable[[], bool]) -> list[str]:
        self.batches.append(list(texts))
        if "hold" in texts:
            self.gate.wait(5)
        if "bad" in texts:
            raise ValueError("this one is bad")
        while "long" in texts and not self.gate.is_set():
            if is_abandoned():
                raise AbandonedError
            time.sleep(0.001)
        while "endless" in texts:
            if is_abandoned():
                self.was_abandoned.set()
                raise AbandonedError
            time.sleep(0.001)
        return [f"{key}:{text.upper()}" for text in texts]


class Notes:
    def __init__(self) -> None:
        self.abandoned = 0
        self.batches: list[int] = []

    def on_batch(self, num_items: int, num_tokens: int, seconds: float) -> None:
        self.batches.append(num_items)

    def on_abandoned(self, num_items: int) -> None:
        self.abandoned += num_items


class Scene:
    """A queue with its worker, inside a running event loop."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.worker, self.notes = Worker(), Notes()
        self.queue: Batcher[str, str] = Batcher("test", self.worker, limits, self.notes)

    def put(
        self,
        text: str,
        key: str = "k",
        tokens: int = 1,
        seconds: float = 5,
        alone: bool = False,
        caller: Caller = ONE,
    ) -> Item[str, str]:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        item = Item(key, text, tokens, time.monotonic() + seconds, future, caller, is_alone=alone)
        self.queue.submit([item])
        return item

    async def occupy(self) -> Item[str, str]:
        """Keep the worker busy, so that what comes next has to wait."""
        item = self.put("hold")
        await self.until(lambda: self.worker.batches == [["hold"]])
        return item

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not holds():
                await asyncio.sleep(0.001)


def run(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def test_what_waits_together_is_done_together_and_comes_back_to_whom_it_belongs() -> None:
    async def scene() -> None:
        it = Scene()
        first = await it.occupy()
        items = [it.put(text) for text in ("a", "b", "c")]
        it.worker.gate.set()
        assert [await item.outcome for item in (first, *items)] == ["k:HOLD", "k:A", "k:B", "k:C"]
        assert it.worker.batches == [["hold"], ["a", "b", "c"]]
        await it.until(lambda: it.queue.is_idle)
        assert it.notes.batches == [1, 3]

    run(scene)


def test_who_is_alone_waits_for_nobody() -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, batching_delay_seconds=60))
        it.queue.check_open()  # as everybody does before submitting
        item = it.put("a")
        async with asyncio.timeout(2):
            assert await item.outcome == "k:A"

    run(scene)


def test_who_has_asked_for_room_is_waited_for() -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, batching_delay_seconds=60, idle_delay_seconds=0.2))
        first = it.put("a")
        it.queue.check_open()
        await asyncio.sleep(0.4)
        assert it.worker.batches == []
        rest = [it.put("b"), it.put("c")]
        assert [await item.outcome for item in (first, *rest)] == ["k:A", "k:B", "k:C"]
        assert it.worker.batches == [["a", "b", "c"]]

    run(scene)


def test_only_equal_keys_share_a_batch_and_the_oldest_comes_first() -> None:
    async def scene() -> None:
        it = Scene()
        await it.occupy()
        items = [it.put("a", "x"), it.put("b", "y"), it.put("c", "x")]
        it.worker.gate.set()
        assert [await item.outcome for item in items] == ["x:A", "y:B", "x:C"]
        assert it.worker.batches[1:] == [["a", "c"], ["b"]]

    run(scene)


def test_a_batch_keeps_its_budget_of_items_and_tokens() -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, max_queued_items=9))
        await it.occupy()
        items = [it.put(text) for text in "abcd"] + [it.put("long", tokens=30), it.put("more", tokens=30)]
        it.worker.gate.set()
        await asyncio.gather(*(item.outcome for item in items))
        assert it.worker.batches[1:] == [["a", "b", "c"], ["d", "long"], ["more"]]

    run(scene)


def test_what_is_listened_to_has_a_batch_of_its_own() -> None:
    async def scene() -> None:
        it = Scene()
        await it.occupy()
        items = [it.put("a"), it.put("solo", alone=True), it.put("b")]
        it.worker.gate.set()
        await asyncio.gather(*(item.outcome for item in items))
        assert it.worker.batches[1:] == [["a", "b"], ["solo"]]

    run(scene)


@pytest.mark.parametrize(("count", "tokens"), [(4, 1), (2, 50)], ids=["items", "tokens"])
def test_a_full_queue_refuses_at_once_and_says_when_to_come_again(count: int, tokens: int) -> None:
    async def scene() -> None:
        it = Scene()
        held = await it.occupy()
        items = [it.put("a", tokens=tokens) for _ in range(count)]
        with pytest.raises(RefusedError, match=r"Too many requests are waiting\. Try again in 1 s\.") as refused:
            it.put("one more")
        assert (refused.value.reason, refused.value.retry_after) == ("full", 1)
        it.worker.gate.set()
        await asyncio.gather(held.outcome, *(item.outcome for item in items))

    run(scene)


def test_what_is_larger_than_the_queue_is_done_when_nothing_else_waits() -> None:
    async def scene() -> None:
        it = Scene()
        assert await it.put("a book", tokens=1000).outcome == "k:A BOOK"

    run(scene)


def test_what_would_come_too_late_is_refused_before_it_waits() -> None:
    async def scene() -> None:
        it = Scene()
        slow = it.put("hold", tokens=200)
        asyncio.get_running_loop().call_later(0.5, it.worker.gate.set)  # 400 tokens a second
        await slow.outcome
        await it.until(lambda: it.queue.is_idle)
        it.worker.gate.clear()
        held = it.put("hold", tokens=1600)
        await it.until(lambda: len(it.worker.batches) == 2)
        with pytest.raises(RefusedError, match="would come too late") as refused:
            it.put("impatient", seconds=1)
        assert refused.value.reason == "late"
        assert 3 <= refused.value.retry_after <= 5
        it.worker.gate.set()
        await held.outcome

    run(scene)


def test_who_goes_away_leaves_the_queue_and_makes_room() -> None:
    async def scene() -> None:
        it = Scene()
        held = await it.occupy()
        items = [it.put("gone") for _ in range(4)]
        it.queue.withdraw(items)
        assert (it.queue.num_waiting, it.queue.num_waiting_tokens, it.notes.abandoned) == (0, 0, 4)
        stays = it.put("stays")
        it.worker.gate.set()
        await held.outcome
        assert await stays.outcome == "k:STAYS"
        assert it.worker.batches == [["hold"], ["stays"]]

    run(scene)


def test_a_running_batch_nobody_waits_for_stops_in_the_middle() -> None:
    async def scene() -> None:
        it = Scene()
        item = it.put("endless")
        await it.until(lambda: bool(it.worker.batches))
        it.queue.withdraw([item])
        await it.until(it.worker.was_abandoned.is_set)
        assert await it.put("next").outcome == "k:NEXT"
        assert it.notes.abandoned == 1

    run(scene)


def test_what_is_past_its_deadline_is_not_begun() -> None:
    async def scene() -> None:
        it = Scene()
        held = await it.occupy()
        late = it.put("late", seconds=0.05)
        await asyncio.sleep(0.1)
        it.worker.gate.set()
        await held.outcome
        assert await it.put("next").outcome == "k:NEXT"
        assert it.worker.batches == [["hold"], ["next"]]
        assert not late.outcome.done()

    run(scene)


def test_a_bad_item_fails_alone() -> None:
    async def scene() -> None:
        it = Scene()
        await it.occupy()
        items = [it.put(text) for text in ("a", "bad", "c")]
        it.worker.gate.set()
        done = await asyncio.gather(*(item.outcome for item in items), return_exceptions=True)
        assert done[0] == "k:A"
        assert isinstance(done[1], ValueError)
        assert done[2] == "k:C"
        assert await it.put("next").outcome == "k:NEXT"

    run(scene)


def test_draining_finishes_what_was_admitted_and_admits_nothing() -> None:
    async def scene() -> None:
        it = Scene()
        held = await it.occupy()
        waits = it.put("waits")
        it.queue.drain()
        assert not it.queue.is_ready
        with pytest.raises(RefusedError, match="The server is ending") as refused:
            it.put("too late")
        assert refused.value.reason == "draining"
        assert not it.queue.is_idle
        it.worker.gate.set()
        assert [await held.outcome, await waits.outcome] == ["k:HOLD", "k:WAITS"]
        await it.until(lambda: it.queue.is_idle)

    run(scene)


def test_a_full_queue_has_room_for_the_share_of_another_client() -> None:
    async def scene() -> None:
        it = Scene()
        held = await it.occupy()
        many = [it.put("a") for _ in range(4)]
        others = [it.put(text, caller=ANOTHER) for text in ("b", "c")]
        for caller in (ONE, ANOTHER):
            with pytest.raises(RefusedError, match="Too many requests are waiting"):
                it.put("one more", caller=caller)
            with pytest.raises(RefusedError, match="Too many requests are waiting"):
                it.queue.check_open(caller.client)
        it.queue.check_open("a third")
        it.worker.gate.set()
        await asyncio.gather(*(item.outcome for item in (held, *many, *others)))

    run(scene)


def test_clients_take_turns_however_much_one_of_them_wants() -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, max_queued_items=9, max_batch_items=2))
        held = await it.occupy()
        items = [it.put(text) for text in "abcd"] + [it.put(text, caller=ANOTHER) for text in "xy"]
        it.worker.gate.set()
        await asyncio.gather(*(item.outcome for item in (held, *items)))
        # "hold" has cost the first client its turn.
        assert it.worker.batches[1:] == [["x", "a"], ["y", "b"], ["c", "d"]]

    run(scene)


def test_who_is_short_does_not_share_a_batch_with_who_is_long() -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, max_queued_tokens=9999, max_batch_tokens=999))
        held = await it.occupy()
        items = [it.put("a", tokens=200), it.put("b"), it.put("c", tokens=150)]
        it.worker.gate.set()
        await asyncio.gather(*(item.outcome for item in (held, *items)))
        assert it.worker.batches[1:] == [["a", "c"], ["b"]]

    run(scene)


@pytest.mark.parametrize("caller", [ANOTHER, Caller("one", 2)], ids=["client", "request of the same client"])
def test_a_long_batch_is_interrupted_for_a_short_one_of_another(caller: Caller) -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, slice_seconds=0.01, deadline_seconds=60, max_queued_tokens=9999))
        held = it.put("long", tokens=256)
        own = it.put("the rest of it", tokens=256)
        await it.until(lambda: bool(it.worker.batches))
        assert await it.put("short", caller=caller).outcome == "k:SHORT"
        assert await it.put("again", caller=caller).outcome == "k:AGAIN"
        assert not held.outcome.done()
        assert not it.queue.is_idle
        it.worker.gate.set()
        assert [await held.outcome, await own.outcome] == ["k:LONG", "k:THE REST OF IT"]
        assert it.worker.batches == [["long"], ["short"], ["again"], ["the rest of it"]]

    run(scene)


def test_what_has_the_model_to_itself_is_never_interrupted() -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, slice_seconds=0.01, deadline_seconds=60, max_queued_tokens=9999))
        held = it.put("long", tokens=256, alone=True)
        await it.until(lambda: bool(it.worker.batches))
        short = it.put("short", caller=ANOTHER)
        await asyncio.sleep(0.1)
        assert it.worker.batches == [["long"]], "it may have changed the model, as who switches heads off does"
        it.worker.gate.set()
        assert [await held.outcome, await short.outcome] == ["k:LONG", "k:SHORT"]

    run(scene)


def test_who_goes_away_while_it_is_interrupted_is_not_gone_on_with() -> None:
    async def scene() -> None:
        it = Scene(replace(LIMITS, slice_seconds=0.01))
        held = it.put("long", tokens=256)
        await it.until(lambda: bool(it.worker.batches))
        other = it.put("hold", caller=ANOTHER)
        await it.until(lambda: len(it.worker.batches) == 2)
        it.queue.withdraw([held])
        it.worker.gate.set()
        assert await other.outcome == "k:HOLD"
        await it.until(lambda: it.queue.is_idle)
        assert it.notes.batches == [1, 1]

    run(scene)
