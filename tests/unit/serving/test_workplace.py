"""What every model at work has: batches, work that has it alone, deadlines, and what nobody waits for."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.request_queue import AbandonedError, IsAbandoned, RefusedError
from heedful.serving.workplace import Check, Workplace, unhurried


class Doubling(Workplace):
    """Doubles numbers, and remembers what came together."""

    def __init__(self, **limits: Any) -> None:
        super().__init__("doubling", replace(Limits(), **limits), Measures().of_model("doubling"))
        self.batches: list[list[int]] = []
        self.may_go_on = threading.Event()

    def run_batch(self, key: Any, contents: Sequence[Any], is_abandoned: IsAbandoned) -> Sequence[Any]:
        self.batches.append(list(contents))
        if key == "slow":
            self.may_go_on.wait(10)
        return [2 * content for content in contents]


def test_items_submitted_together_are_one_batch_and_come_back_in_order() -> None:
    async def scene() -> tuple[list[int], list[list[int]]]:
        place = Doubling()
        items = [place.item("quick", number, 1) for number in range(5)]
        return await place.results(items), place.batches

    found, batches = asyncio.run(scene())
    assert found == [0, 2, 4, 6, 8]
    assert sorted(map(sorted, batches)) == [[0, 1, 2, 3, 4]]


def test_work_that_needs_the_model_alone_runs_on_its_thread_and_shares_no_batch() -> None:
    async def scene() -> tuple[int, int, list[list[int]]]:
        place = Doubling()
        thread, *_ = await asyncio.gather(
            place.alone(lambda _: threading.get_ident(), 1), place.results([place.item("quick", 1, 1)])
        )
        return thread, threading.get_ident(), place.batches

    worker, ours, batches = asyncio.run(scene())
    assert worker != ours
    assert batches == [[1]]


def test_what_comes_too_late_is_refused_with_a_sentence() -> None:
    async def scene() -> None:
        place = Doubling(deadline_seconds=0.1)
        try:
            await place.results([place.item("slow", 1, 1)])
        finally:
            place.may_go_on.set()

    with pytest.raises(RefusedError, match=r"^The answer did not come in time\. Try again later, with less text\.$"):
        asyncio.run(scene())


def test_work_that_nobody_waits_for_ends_at_its_next_check() -> None:
    ended, began = threading.Event(), threading.Event()

    def work(check: Check) -> None:
        began.set()
        try:
            while True:
                check()
        except AbandonedError:
            ended.set()
            raise

    async def scene() -> None:
        task = asyncio.ensure_future(Doubling().alone(work, 1))
        await asyncio.to_thread(began.wait, 10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await asyncio.to_thread(ended.wait, 10)

    asyncio.run(scene())


def test_others_are_answered_while_many_things_are_given() -> None:
    async def scene() -> tuple[list[int], int]:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        given = [thing async for thing in unhurried(range(1000))]
        task.cancel()
        return given, turns

    given, turns = asyncio.run(scene())
    assert given == list(range(1000))
    assert turns >= 7
