"""Models that answer concurrent callers: each has an id, a queue and the one thread that touches it.

A client names a model by its id, which is looked up among those that were loaded and never becomes a path. Without one,
the first model that has the wanted direction answers. This file knows translators and batches; it knows no HTTP.
"""

import asyncio
import copy
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import UserError
from heedful.serving.batching import Batcher, Item, Observer, RefusedError
from heedful.serving.interruption import InterruptibleModel
from heedful.serving.limits import Limits
from heedful.serving.texts import TextPlan, TranslatedText, Unit, assemble, plan_text
from heedful.tasks.translation import Translator
from heedful.text.sentences import split_sentences

BUNDLED_ID = "bundled"
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class TranslationKey:
    """What texts of one batch have in common."""

    source: str | None
    target: str | None
    beam_size: int | None
    n_best: int


@dataclass(frozen=True, eq=False)
class Exclusive:
    """Work that has the model to itself: a trace, or a translation somebody listens to. Equal only to itself."""

    work: Callable[[str, Callable[[], bool]], Any]


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


class Engine:
    """One model at work."""

    def __init__(self, model_id: str, translator: Translator, limits: Limits, observer: Observer) -> None:
        self.id = model_id
        self.translator = translator
        self._limits = limits
        self._model = InterruptibleModel(translator.model)
        self._interruptible = copy.copy(translator)
        self._interruptible.model = self._model
        self.queue: Batcher[TranslationKey | Exclusive, Any] = Batcher(model_id, self._run, limits, observer)

    def plan(self, texts: Sequence[str], asked: Asked) -> list[TextPlan]:
        """Settle languages and units of the texts; raises `UserError` for what cannot be done, or `RefusedError`."""
        self.queue.check_open()
        self.translator.directions.check(asked.source, asked.target)
        return [plan_text(self.translator, text, asked.source, asked.target) for text in texts]

    async def translate(self, plans: Sequence[TextPlan], asked: Asked) -> list[TranslatedText]:
        """Translate planned texts together with whatever else is waiting; raises `RefusedError`."""
        items = [self._item(_key(plan, asked), unit) for plan in plans for unit in plan.units]
        done = iter(await self._results(items))
        return [assemble(plan, [next(done) for _ in plan.units]) for plan in plans]

    async def stream(self, text: str, asked: Asked) -> AsyncIterator[Written | TranslatedText]:
        """Translate sentence by sentence and yield each when it is done, in order; greedy search also tells its tokens.

        A beam search changes its mind until a sentence ends, so nothing of it is told before. All sentences are
        admitted together, before the first result: what has begun is not refused in the middle.
        """
        sentences = [sentence.replace("\n", " ") for sentence in split_sentences(text) if sentence.strip()]
        plans = self.plan(sentences, asked)
        is_told = asked.beam_size == 1 and asked.n_best == 1
        heard: list[asyncio.Queue[Written | None]] = [asyncio.Queue() for _ in plans]
        parts = [
            [self._item(self._told(plan, asked, ear) if is_told else _key(plan, asked), unit) for unit in plan.units]
            for plan, ear in zip(plans, heard, strict=True)
        ]
        items = [item for part in parts for item in part]
        self._submit(items)
        try:
            for plan, part, ear in zip(plans, parts, heard, strict=True):
                results = asyncio.ensure_future(self._wait(part))
                results.add_done_callback(lambda _, ear=ear: ear.put_nowait(None))  # type: ignore[misc]
                while (written := await ear.get()) is not None:
                    yield written
                yield assemble(plan, await results)
        finally:
            self.queue.withdraw(items)

    async def exclusively(self, work: Callable[[Translator], Any], num_tokens: int) -> Any:
        """Run something that needs the model for itself, on the thread that owns it; raises `RefusedError`."""
        key = Exclusive(lambda _, __: work(self.translator))
        (result,) = await self._results([self._item(key, Unit("", num_tokens))])
        return result

    def _told(self, plan: TextPlan, asked: Asked, ear: "asyncio.Queue[Written | None]") -> Exclusive:
        """Make work of a unit whose tokens are told while they are written."""
        loop = asyncio.get_running_loop()
        key = _key(plan, asked)

        def work(text: str, is_abandoned: Callable[[], bool]) -> Any:
            # On a way through a third language, what is written first is not the translation.
            self._model.on_tokens = _Speller(self.translator, loop, ear) if len(plan.route.steps) == 1 else None
            try:
                return self._run(key, [text], is_abandoned)[0]
            finally:
                self._model.on_tokens = None

        return Exclusive(work)

    def _item(self, key: "TranslationKey | Exclusive", unit: Unit) -> "Item[TranslationKey | Exclusive, Any]":
        deadline = time.monotonic() + self._limits.deadline_seconds
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        return Item(key, unit.text, unit.num_tokens, deadline, future, is_alone=isinstance(key, Exclusive))

    async def _results(self, items: "Sequence[Item[TranslationKey | Exclusive, Any]]") -> list[Any]:
        """Have the items done and wait for them; whoever stops waiting takes them back."""
        self._submit(items)
        try:
            return await self._wait(items)
        finally:
            self.queue.withdraw(items)

    def _submit(self, items: "Sequence[Item[TranslationKey | Exclusive, Any]]") -> None:
        if items:
            self.queue.submit(items)

    async def _wait(self, items: "Sequence[Item[TranslationKey | Exclusive, Any]]") -> list[Any]:
        left = min((item.deadline for item in items), default=math.inf) - time.monotonic()
        try:
            async with asyncio.timeout(None if left == math.inf else max(left, 0.0)):
                return [await item.outcome for item in items]
        except TimeoutError:
            raise RefusedError("late", "The answer did not come in time. Try again later, with less text.", 2) from None

    def _run(
        self, key: "TranslationKey | Exclusive", texts: Sequence[str], is_abandoned: Callable[[], bool]
    ) -> Sequence[Any]:
        """Do the work of a batch, on the worker thread."""
        if isinstance(key, Exclusive):
            return [key.work(texts[0], is_abandoned)]
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


class Engines:
    """All models of a server, by id; the first is the default."""

    def __init__(self, translators: dict[str, Translator], limits: Limits, observer: Callable[[str], Observer]) -> None:
        self._by_id = {
            model_id: Engine(model_id, translator, limits, observer(model_id))
            for model_id, translator in translators.items()
        }

    def __iter__(self) -> Iterator[Engine]:
        return iter(self._by_id.values())

    def find(self, model_id: str | None, source: str | None, target: str | None) -> Engine:
        """Return the model of that id, or the first that can be asked for these languages."""
        if model_id is not None:
            if model_id not in self._by_id:
                raise UserError(f"`model` must be one of {', '.join(self._by_id)}.")
            return self._by_id[model_id]
        for engine in self._by_id.values():
            try:
                engine.translator.directions.check(source, target)
            except UserError:
                continue
            return engine
        return next(iter(self._by_id.values()))  # its refusal is as good as any other's

    @property
    def ids(self) -> list[str]:
        """The ids of all models."""
        return list(self._by_id)

    @property
    def is_idle(self) -> bool:
        """Say whether no model has anything to do."""
        return all(engine.queue.is_idle for engine in self)

    @property
    def is_ready(self) -> bool:
        """Say whether every model would admit a request now."""
        return all(engine.queue.is_ready for engine in self)

    def check_open(self) -> None:
        """Raise `RefusedError` when no model would admit anything: known before a request is even read."""
        refusals = []
        for engine in self:
            try:
                engine.queue.check_open()
            except RefusedError as refusal:
                refusals.append(refusal)
            else:
                return
        raise min(refusals, key=lambda refusal: refusal.retry_after)

    def drain(self) -> None:
        """Admit nothing more."""
        for engine in self:
            engine.queue.drain()


def ids_of(folders: Sequence[Path]) -> list[str]:
    """Name models after their folders, in small letters, `runs/NAME/model` after the run; a second gets a number."""
    ids: list[str] = []
    for folder in folders:
        path = folder.resolve()
        name = path.parent.name if path.name == "model" else path.name
        base = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:56] or "model"
        number, candidate = 1, base
        while candidate in ids:
            number += 1
            candidate = f"{base}-{number}"
        assert _ID.fullmatch(candidate), f"{candidate} is no id"
        ids.append(candidate)
    return ids


def _key(plan: TextPlan, asked: Asked) -> TranslationKey:
    return TranslationKey(plan.route.source, plan.route.target, asked.beam_size, asked.n_best)
