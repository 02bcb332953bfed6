"""A language model that writes for one caller after the other, and is read while it writes.

Knows language models and the queue in front of them; it knows no HTTP.
"""

import asyncio
import codecs
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from heedful.insight.text_trace import spell
from heedful.serving.limits import Limits
from heedful.serving.request_queue import AbandonedError, Observer
from heedful.serving.workplace import Exclusive, IsAbandoned, Workplace
from heedful.tasks.language_modeling.model import TextModel, WrittenSymbol


@dataclass(frozen=True)
class Wish:
    """How a text is to be gone on with."""

    prompt: str
    max_tokens: int
    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int
    num_choices: int = 0
    """How many of the likeliest symbols are told at each place."""


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

    async def write(self, wish: Wish) -> AsyncIterator[Piece]:
        """Yield the text that goes on from the prompt, in pieces as they come; raises `RefusedError` before them."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[WrittenSymbol | None] = asyncio.Queue()

        def work(prompt: str, is_abandoned: IsAbandoned) -> None:
            for symbol in self._symbols(prompt, wish):
                if is_abandoned():
                    raise AbandonedError
                loop.call_soon_threadsafe(heard.put_nowait, symbol)

        items = [self.item(Exclusive(work), wish.prompt, wish.max_tokens)]
        self.submit(items)
        try:
            done = asyncio.ensure_future(self.wait(items))
            done.add_done_callback(lambda _: heard.put_nowait(None))
            # A model of bytes may tell a character in parts.
            decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
            while (symbol := await heard.get()) is not None:
                text = decoder.decode(symbol.piece)
                choices = tuple((spell(self.writer.symbols, id_), share) for id_, share in symbol.choices)
                if text or choices:
                    yield Piece(text, symbol.probability, choices)
            if rest := decoder.decode(b"", final=True):
                yield Piece(rest)
            await done
        finally:
            self.queue.withdraw(items)

    def _symbols(self, prompt: str, wish: Wish) -> Iterator[WrittenSymbol]:
        return self.writer.write(
            prompt,
            max_tokens=wish.max_tokens,
            temperature=wish.temperature,
            top_k=wish.top_k,
            top_p=wish.top_p,
            seed=wish.seed,
            num_choices=wish.num_choices,
        )
