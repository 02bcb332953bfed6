"""A language model that writes for one caller after the other, and is read while it writes.

Knows language models and the queue in front of them; it knows no HTTP.
"""

import asyncio
import codecs
from collections.abc import AsyncIterator
from dataclasses import dataclass

from heedful.decoding.continuation import SamplingRequest
from heedful.insight.text_trace import spell
from heedful.serving.limits import Limits
from heedful.serving.request_queue import AbandonedError, Exclusive, IsAbandoned, Observer
from heedful.serving.workplace import Workplace
from heedful.tasks.language_modeling.model import TextModel, WrittenSymbol


@dataclass(frozen=True)
class Piece:
    """Some text that was written; where choices are told, one symbol's, which may be a part of a character."""

    text: str
    probability: float | None = None
    """Of the symbol, as the model has it before temperature and choice."""

    choices: tuple[tuple[str, float], ...] = ()
    """The likeliest symbols at its place with their probabilities, best first."""


class WritingEngine(Workplace):
    """A language model at work."""

    task = "language_modeling"

    def __init__(self, model_id: str, writer: TextModel, limits: Limits, observer: Observer) -> None:
        self.writer = writer
        super().__init__(model_id, limits, observer)

    async def write(self, prompt: str, request: SamplingRequest, num_choices: int = 0) -> AsyncIterator[Piece]:
        """Yield the text that goes on from the prompt, in pieces as they come; raises `RefusedError` before them.

        Each is told with the `num_choices` likeliest symbols at its place.
        """
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[WrittenSymbol | None] = asyncio.Queue()

        def work(prompt: str, is_abandoned: IsAbandoned) -> None:
            for symbol in self.writer.write(prompt, request, num_choices=num_choices):
                if is_abandoned():
                    raise AbandonedError
                loop.call_soon_threadsafe(heard.put_nowait, symbol)

        items = [self.item(Exclusive(work), prompt, request.max_tokens)]
        self.submit(items)
        try:
            done = asyncio.ensure_future(self.wait(items))
            done.add_done_callback(lambda _: heard.put_nowait(None))
            # A model of bytes may tell a character in parts.
            decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
            last = prompt[-1:]
            while (symbol := await heard.get()) is not None:
                text, begins = decoder.decode(symbol.piece), last in ("", "\n")
                choices = tuple(
                    (spell(self.writer.symbols, id_, begins_line=begins), share) for id_, share in symbol.choices
                )
                last = text[-1:] or last
                if text or choices:
                    yield Piece(text, symbol.probability, choices)
            if rest := decoder.decode(b"", final=True):
                yield Piece(rest)
            await done
        finally:
            self.queue.withdraw(items)
