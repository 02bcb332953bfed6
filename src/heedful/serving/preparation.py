"""What is done with texts before and after a model has its turn, beside the event loop: reading, planning, rendering.

A text of the longest kind takes a while to be cut and counted, and the event loop, which answers everybody, must not
wait for it. One thread does it, for one client after the other, within bounds, and never for who has gone. Knows
nothing of what is done.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from heedful.serving.limits import Limits
from heedful.serving.request_queue import Observer
from heedful.serving.workplace import Workplace

Made = TypeVar("Made")

_BYTES_LIKE_A_CHARACTER = 256  # a body is read so much more quickly than a text is planned


class Preparation(Workplace):
    """The thread on which texts are prepared, and the queue in front of it."""

    task = "preparation"

    def __init__(self, limits: Limits, observer: Observer) -> None:
        queued = replace(limits, max_queued_tokens=limits.max_prepared_characters)
        super().__init__("preparation", queued, observer)

    async def prepare(self, work: Callable[[], Made], num_characters: int) -> Made:
        """Run something whose time grows with a text, when it is the client's turn; raises `RefusedError`."""
        if num_characters <= self._limits.max_characters_in_passing:
            return work()
        made: Made = await self.alone(lambda _: work(), num_characters)
        return made

    async def read(self, work: Callable[[], Made], num_bytes: int) -> Made:
        """Run something whose time grows with a body, likewise."""
        return await self.prepare(work, num_bytes // _BYTES_LIKE_A_CHARACTER)

    async def render(self, work: Callable[[], Made], num_characters: int) -> Made:
        """Run something whose time grows with an answer: never refused, for the answer is there."""
        if num_characters <= self._limits.max_characters_in_passing:
            return work()
        return await asyncio.to_thread(work)
