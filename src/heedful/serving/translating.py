"""A translator that answers concurrent callers: whole texts, or sentence by sentence while they are written.

Knows translators and the queue in front of them; it knows no HTTP.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.serving.batching import Observer
from heedful.serving.interruption import InterruptibleModel
from heedful.serving.limits import Limits
from heedful.serving.texts import TextPlan, TranslatedText, assemble, plan_text
from heedful.serving.workplace import Exclusive, IsAbandoned, Workplace
from heedful.tasks.translation import Translation, Translator, left_as_it_is
from heedful.text.sentences import split_sentences


@dataclass(frozen=True)
class TranslationKey:
    """What texts of one batch have in common."""

    source: str | None
    target: str | None
    beam_size: int | None
    n_best: int


@dataclass(frozen=True)
class Asked:
    """What a request asks of a model, beside the text."""

    source: str | None = None
    target: str | None = None
    beam_size: int | None = None
    n_best: int = 1


@dataclass(frozen=True)
class Written:
    """One more token of a sentence, and the sentence as far as it is written."""

    token: str
    text: str


class TranslationEngine(Workplace):
    """A translator at work."""

    task = "translation"

    def __init__(self, model_id: str, translator: Translator, limits: Limits, observer: Observer) -> None:
        self.translator = translator
        self._model = InterruptibleModel(translator.model)
        self._interruptible = copy.copy(translator)
        self._interruptible.model = self._model
        super().__init__(model_id, limits, observer)

    def plan(self, texts: Sequence[str], asked: Asked) -> list[TextPlan]:
        """Settle languages and units of the texts; raises `UserError` for what cannot be done, or `RefusedError`."""
        self.queue.check_open()
        self.translator.directions.check(asked.source, asked.target)
        return [plan_text(self.translator, text, asked.source, asked.target) for text in texts]

    async def translate(self, plans: Sequence[TextPlan], asked: Asked) -> list[TranslatedText]:
        """Translate planned texts together with whatever else is waiting; raises `RefusedError`."""
        items = [
            self.item(_key(plan, asked), unit.text, unit.num_tokens)
            for plan in plans
            if not plan.route.is_unknown
            for unit in plan.units
        ]
        done = iter(await self.results(items))
        return [_untranslated(plan) or assemble(plan, [next(done) for _ in plan.units]) for plan in plans]

    async def stream(self, text: str, asked: Asked) -> AsyncIterator[Written | TranslatedText]:
        """Translate sentence by sentence and yield each when it is done, in order; greedy search also tells its tokens.

        A beam search changes its mind until a sentence ends, so nothing of it is told before. All sentences are
        admitted together, before the first result: what has begun is not refused in the middle.
        """
        sentences = [sentence.replace("\n", " ").strip() for sentence in split_sentences(text) if sentence.strip()]
        plans = self.plan(sentences, asked)
        is_told = asked.beam_size == 1 and asked.n_best == 1
        heard: list[asyncio.Queue[Written | None]] = [asyncio.Queue() for _ in plans]
        keys = [
            self._told(plan, asked, ear) if is_told else _key(plan, asked)
            for plan, ear in zip(plans, heard, strict=True)
        ]
        parts = [
            [] if plan.route.is_unknown else [self.item(key, unit.text, unit.num_tokens) for unit in plan.units]
            for plan, key in zip(plans, keys, strict=True)
        ]
        items = [item for part in parts for item in part]
        self.submit(items)
        try:
            for plan, part, ear in zip(plans, parts, heard, strict=True):
                results = asyncio.ensure_future(self.wait(part))
                results.add_done_callback(lambda _, ear=ear: ear.put_nowait(None))  # type: ignore[misc]
                while (written := await ear.get()) is not None:
                    yield written
                yield _untranslated(plan) or assemble(plan, await results)
        finally:
            self.queue.withdraw(items)

    async def exclusively(self, work: Callable[[Translator], Any], num_tokens: int) -> Any:
        """Run something that needs the model for itself, on the thread that owns it; raises `RefusedError`."""
        key = Exclusive(lambda _, __: work(self.translator))
        (result,) = await self.results([self.item(key, "", num_tokens)])
        return result

    def _told(self, plan: TextPlan, asked: Asked, ear: "asyncio.Queue[Written | None]") -> Exclusive:
        """Make work of a unit whose tokens are told while they are written."""
        loop = asyncio.get_running_loop()
        key = _key(plan, asked)

        def work(text: str, is_abandoned: IsAbandoned) -> Translation:
            # On a way through a third language, what is written first is not the translation.
            self._model.on_tokens = _Speller(self.translator, loop, ear) if len(plan.route.steps) == 1 else None
            try:
                return self.run_batch(key, [text], is_abandoned)[0]
            finally:
                self._model.on_tokens = None

        return Exclusive(work)

    def run_batch(self, key: TranslationKey, texts: Sequence[str], is_abandoned: IsAbandoned) -> Sequence[Translation]:
        """Translate texts that are asked for in the same way, on the worker thread."""
        self._model.is_abandoned = is_abandoned
        return self._interruptible.translate_detailed(
            texts, to=key.target, from_=key.source, beam_size=key.beam_size, n_best=key.n_best
        )


class _Speller:
    """Hears the tokens of one greedy search and tells the event loop the text so far."""

    def __init__(
        self, translator: Translator, loop: asyncio.AbstractEventLoop, heard: "asyncio.Queue[Written | None]"
    ) -> None:
        self._tokenizer = translator.tokenizer
        self._loop = loop
        self._heard = heard
        self._ids: list[int] = []

    def __call__(self, token_ids: list[int]) -> None:
        """Take note of the token that each row appends."""
        if len(token_ids) != 1 or token_ids[0] == self._tokenizer.bos_id:
            return
        self._ids.append(token_ids[0])
        written = Written(self._tokenizer.target_piece(token_ids[0]), self._tokenizer.decode_target(self._ids))
        self._loop.call_soon_threadsafe(self._heard.put_nowait, written)


def _untranslated(plan: TextPlan) -> TranslatedText | None:
    """Return a text in a language the model does not know as it is; None for others, which are translated."""
    if not plan.route.is_unknown:
        return None
    return assemble(plan, [left_as_it_is(unit.text, plan.route) for unit in plan.units])


def _key(plan: TextPlan, asked: Asked) -> TranslationKey:
    return TranslationKey(plan.route.source, plan.route.target, asked.beam_size, asked.n_best)
