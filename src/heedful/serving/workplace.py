"""What every kind of model at work has in common: an id, a queue, and ways to wait for what it does.

Subclasses say what a batch is. Some work cannot share a batch, because somebody listens to it or looks into it: it
is exclusive. Knows nothing of what models do, nor of HTTP.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, TypeVar

from heedful.serving.callers import current_caller
from heedful.serving.limits import Limits
from heedful.serving.request_queue import AbandonedError, Batcher, Exclusive, IsAbandoned, Item, Observer, RefusedError

AnyItem = Item[Any, Any]
Check = Callable[[], None]
"""Raises `AbandonedError` when nobody waits for the work any more."""

Thing = TypeVar("Thing")
_AT_ONCE = 128


async def unhurried(things: Iterable[Thing]) -> AsyncIterator[Thing]:
    """Give things, thousands maybe, a few at a time: others want to be answered meanwhile."""
    for number, thing in enumerate(things, 1):
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
        yield thing


def checking(is_abandoned: IsAbandoned) -> Check:
    """Make a check of the question whether nobody waits."""

    def check() -> None:
        if is_abandoned():
            raise AbandonedError

    return check


class Workplace:
    """One model, its queue, and the thread that touches it."""

    task: str
    """What it is for, as config.json of a model folder calls it."""

    def __init__(self, model_id: str, limits: Limits, observer: Observer) -> None:
        self.id = model_id
        self._limits = limits
        self.queue: Batcher[Any, Any] = Batcher(model_id, self.run_batch, limits, observer)

    def warm_up(self) -> None:
        """Do what is done lazily now, so that the first client need not wait for it."""

    def run_batch(self, key: Any, contents: Sequence[Any], is_abandoned: IsAbandoned) -> Sequence[Any]:
        """Do the work of a batch, on the worker thread; where all work is exclusive there is none."""
        raise NotImplementedError

    def item(self, key: Any, content: Any, num_tokens: int) -> AnyItem:
        """Make an item of a text, or of what was planned for one; it has as long as the server gives every request."""
        deadline = time.monotonic() + self._limits.deadline_seconds
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        return Item(key, content, num_tokens, deadline, future, current_caller(), is_alone=isinstance(key, Exclusive))

    async def results(self, items: Sequence[AnyItem]) -> list[Any]:
        """Have the items done and wait for them; whoever stops waiting takes them back. Raises `RefusedError`."""
        self.submit(items)
        try:
            return await self.wait(items)
        finally:
            self.queue.withdraw(items)

    async def alone(self, work: Callable[[Check], Any], num_tokens: int) -> Any:
        """Run something that needs the model for itself, on the thread that owns it; raises `RefusedError`.

        What takes long calls its `Check` between its parts, and ends there when nobody waits for it any more.
        """
        key = Exclusive(lambda _, is_abandoned: work(checking(is_abandoned)))
        (result,) = await self.results([self.item(key, "", num_tokens)])
        return result

    def submit(self, items: Sequence[AnyItem]) -> None:
        """Put items into the queue, all of them or none; who submits must also withdraw."""
        if items:
            self.queue.submit(items)

    async def wait(self, items: Sequence[AnyItem]) -> list[Any]:
        """Wait for submitted items, until their deadline."""
        left = min((item.deadline for item in items), default=math.inf) - time.monotonic()
        try:
            async with asyncio.timeout(None if left == math.inf else max(left, 0.0)):
                return [await item.outcome for item in items]
        except TimeoutError:
            sentence = "The answer did not come in time. Try again later, with less text."
            raise RefusedError("late", sentence, 2) from None
