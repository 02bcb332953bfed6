"""All models of a server, by id, whatever they are for.

A client names a model by its id, which is looked up among those that were loaded and never becomes a path. Without one,
the first model answers that does what is asked.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from heedful.errors import UserError
from heedful.serving.facts import read_facts
from heedful.serving.labelling import LabellingEngine
from heedful.serving.limits import Limits
from heedful.serving.request_queue import Observer
from heedful.serving.translating import TranslationEngine
from heedful.serving.workplace import Workplace
from heedful.serving.writing import WritingEngine
from heedful.storage.locate import bundled_models, find_model_folder, lesson_models
from heedful.tasks.table import TASKS, task_name_of
from heedful.tasks.translation.fast import with_speed
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.text.language_detection import known_languages

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ENGINES: dict[str, Callable[[str, Any, Limits, Observer], Workplace]] = {
    engine.task: engine for engine in (TranslationEngine, LabellingEngine, WritingEngine)
}

Kind = TypeVar("Kind", bound=Workplace)


class Engines:
    """The models of a server; the first of each kind is the default."""

    def __init__(
        self,
        engines: Sequence[Workplace],
        facts: Mapping[str, dict[str, Any]] | None = None,
        beside: Sequence[Workplace] = (),
    ) -> None:
        """Take the models with what is known of them, and workplaces of no model that are drained with them."""
        self._by_id = {engine.id: engine for engine in engines}
        self.facts = dict(facts or {})
        self._beside = tuple(beside)
        self.is_draining = False

    def __iter__(self) -> Iterator[Workplace]:
        return iter(self._by_id.values())

    def of_kind(self, kind: type[Kind]) -> list[Kind]:
        """Return the models that do one kind of work."""
        return [engine for engine in self if isinstance(engine, kind)]

    def find(self, kind: type[Kind], model_id: str | None) -> Kind:
        """Return the model of that id, or the first of the kind."""
        known = self.of_kind(kind)
        if not known:
            raise UserError(f"This server has no model for {kind.task.replace('_', ' ')}. Add one with --model.")
        if model_id is None:
            return known[0]
        chosen = self._by_id.get(model_id)
        if not isinstance(chosen, kind):
            raise UserError(f"`model` must be one of {', '.join(engine.id for engine in known)}.")
        return chosen

    def find_translator(self, model_id: str | None, request: TranslationRequest) -> TranslationEngine:
        """Return the model of that id, or the first that has these languages; it can then be asked to plan."""
        first = self.find(TranslationEngine, model_id)
        refusals = []
        for engine in self.of_kind(TranslationEngine) if model_id is None else [first]:
            try:
                engine.translator.directions.check(request.source, request.target)
            except UserError as refusal:
                refusals.append(refusal)
            else:
                return engine
        raise refusals[0]  # that of the first is as good as any other's

    @property
    def ids(self) -> list[str]:
        """The ids of all models."""
        return list(self._by_id)

    @property
    def is_idle(self) -> bool:
        """Say whether no model has anything to do."""
        return all(engine.queue.is_idle for engine in (*self, *self._beside))

    @property
    def is_ready(self) -> bool:
        """Say whether every model would admit a request now."""
        return all(engine.queue.is_ready for engine in self)

    def drain(self) -> None:
        """Admit nothing more."""
        self.is_draining = True
        for engine in (*self, *self._beside):
            engine.queue.drain()


def load_engines(
    folders: Sequence[Path],
    limits: Limits,
    observer: Callable[[str], Observer],
    *,
    device: str | None,
    quantize: str,
    fast: bool = False,
    say: Callable[[str], None],
    beside: Sequence[Workplace] = (),
) -> Engines:
    """Load model folders, each for what it was trained for; none means all that ship with the package."""

    def load(model_id: str, folder: Path) -> Workplace:
        task = task_name_of(folder)
        model = TASKS[task].load(folder, device=device, quantize=quantize, say=say)
        if fast and isinstance(model, Translator):
            model = with_speed(model, fast)
        engine = _ENGINES[task](model_id, model, limits, observer(model_id))
        engine.warm_up()
        return engine

    named: dict[str, Path] = bundled_models() | lesson_models()
    if folders:
        named = dict(zip(ids_of(folders), folders, strict=True))
    engines = [load(*model) for model in named.items()]
    known_languages()  # the table of n-grams is read now, and not while somebody waits
    facts = {
        engine.id: {**read_facts(find_model_folder(named[engine.id])), "engine": _engine_of(engine)}
        for engine in engines
    }
    return Engines(engines, facts, beside)


def _engine_of(engine: Workplace) -> str:
    return engine.translator.engine if isinstance(engine, TranslationEngine) else "float"


def ids_of(folders: Sequence[Path]) -> list[str]:
    """Name models after their folders, in small letters, `runs/NAME/model` after the run; a second gets a number."""
    ids: list[str] = []
    for folder in folders:
        path = folder.resolve()
        ids.append(id_of(path.parent.name if path.name == "model" else path.name, ids))
    return ids


def id_of(name: str, taken: Collection[str]) -> str:
    """Make an id of the name of a folder: small letters, and a number when another has it already."""
    base = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:56] or "model"
    number, candidate = 1, base
    while candidate in taken:
        number += 1
        candidate = f"{base}-{number}"
    assert _ID.fullmatch(candidate), f"{candidate} is no id"
    return candidate
