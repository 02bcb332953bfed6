"""A translator that answers concurrent callers: whole texts, or sentence by sentence while they are written.

Knows translators and the queue in front of them; it knows no HTTP.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from heedful.decoding.request import TokenListener
from heedful.serving.interruption import Interruptible
from heedful.serving.limits import Limits
from heedful.serving.request_queue import Exclusive, IsAbandoned, Observer
from heedful.serving.workplace import Workplace, unhurried
from heedful.tasks.translation.plan import TextPlan, Unit, gap_between
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translated import Alternative, TranslatedUnit, assemble
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line

_NOTHING = Alternative("", 0.0, 0.0, "eos", ())


@dataclass(frozen=True)
class Written:
    """One more token of a sentence, and the sentence as far as it is written."""

    token: str
    text: str


@dataclass(frozen=True)
class SentenceDone:
    """One more sentence of a text: what stands before it in the translation of the whole text, and the sentence."""

    before: str
    unit: TranslatedUnit


class TranslationEngine(Workplace):
    """A translator at work."""

    task = "translation"

    def __init__(self, model_id: str, translator: Translator, limits: Limits, observer: Observer) -> None:
        self.translator = translator
        super().__init__(model_id, limits, observer)

    def warm_up(self) -> None:
        """Translate something, in a language the model knows or not."""
        source, target = self.translator.directions.pairs[0]
        self.translator.translate("Where is the station?", from_=source, to=target)

    async def translate(self, plans: Sequence[TextPlan], request: TranslationRequest) -> list[TranslatedUnit]:
        """Translate the units of planned texts together with whatever else is waiting; raises `RefusedError`."""
        units = (unit for plan in plans for unit in plan.units)
        key = request.after_planning()
        return await self.results([self.item(key, unit, len(unit.read_ids)) async for unit in unhurried(units)])

    async def stream(self, plan: TextPlan, request: TranslationRequest) -> AsyncIterator[Written | SentenceDone]:
        """Translate a planned text and yield each sentence when it is done; greedy search also tells its tokens.

        A beam search changes its mind until a sentence ends, so nothing of it is told before. All sentences are
        admitted together, before the first result: what has begun is not refused in the middle. What stands before a
        sentence and the sentence, one after the other, are the translation of the whole text.
        """
        if not plan.lines:
            left = assemble(plan, [])
            yield SentenceDone("", TranslatedUnit(plan.text, left.alternatives, left.warnings))
            return
        is_told = request.beam_size == 1 and request.n_best == 1
        key = request.after_planning()
        heard: list[asyncio.Queue[Written | None]] = []
        items = []
        async for unit in unhurried(plan.units):
            heard.append(asyncio.Queue())
            items.append(self.item(self._told(key, heard[-1]) if is_told else key, unit, len(unit.read_ids)))
        self.submit(items)
        try:
            rest = zip(items, heard, strict=True)
            before = ""
            for number, line in enumerate(plan.lines):
                before += ("\n" if number else "") + one_line(line.indent)
                written_of_line = ""
                for _ in line.units:
                    item, ear = next(rest)
                    results = asyncio.ensure_future(self.wait([item]))
                    results.add_done_callback(lambda _, ear=ear: ear.put_nowait(None))  # type: ignore[misc]
                    while (written := await ear.get()) is not None:
                        yield written
                    (unit,) = await results
                    yield SentenceDone(before + gap_between(written_of_line, unit.text), unit)
                    before, written_of_line = "", written_of_line + unit.text
            if before:
                yield SentenceDone(before, TranslatedUnit("", (_NOTHING,)))
        finally:
            self.queue.withdraw(items)

    def _told(self, request: TranslationRequest, ear: "asyncio.Queue[Written | None]") -> Exclusive:
        """Make work of a unit whose tokens are told while they are written."""
        loop = asyncio.get_running_loop()

        def work(unit: Unit, is_abandoned: IsAbandoned) -> TranslatedUnit:
            # Through a third language, with parts that must not change or with terms, what is written first may not
            # be the result.
            is_final = len(unit.steps) == 1 and len(unit.readings) == 1 and not unit.wishes.terms
            speller = _Speller(self.translator, loop, ear) if is_final else None
            return self._search(request, [unit], is_abandoned, speller)[0]

        return Exclusive(work)

    def run_batch(
        self, request: TranslationRequest, units: Sequence[Unit], is_abandoned: IsAbandoned
    ) -> Sequence[TranslatedUnit]:
        """Translate units that are asked for in the same way, on the worker thread."""
        return self._search(request, units, is_abandoned)

    def _search(
        self,
        request: TranslationRequest,
        units: Sequence[Unit],
        is_abandoned: IsAbandoned,
        on_tokens: TokenListener | None = None,
    ) -> Sequence[TranslatedUnit]:
        # A translator of its own: others may have their turn in the middle of it.
        generator = Interruptible(self.translator.generator, is_abandoned, on_tokens)
        interruptible = replace(self.translator, generator=generator)
        done = interruptible.translate_units(units, request)
        return self.translator.reviewer.check(units, done) if request.check else done


class _Speller:
    """Hears the tokens of one greedy search and tells the event loop the text so far."""

    def __init__(
        self, translator: Translator, loop: asyncio.AbstractEventLoop, heard: "asyncio.Queue[Written | None]"
    ) -> None:
        self._tokenizer = translator.tokenizer
        self._loop = loop
        self._heard = heard
        self._ids: list[int] = []

    def __call__(self, _: int, token_ids: Sequence[int]) -> None:
        """Take note of the tokens that the one sentence has got."""
        for token_id in token_ids:
            self._ids.append(token_id)
            written = Written(self._tokenizer.target_piece(token_id), self._tokenizer.decode_target(self._ids))
            self._loop.call_soon_threadsafe(self._heard.put_nowait, written)
