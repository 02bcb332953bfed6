"""What is compared: configs to be trained and runs that are finished, all on the same test sets with one tokenizer.

What cannot be compared is refused: other test cases, another tokenizer, another task. What is broken by itself, such as
a config with a problem, becomes a candidate with a sentence, and the others stay.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heedful.comparisons.judging import TestCases, find_cases
from heedful.config.classification import ClassificationRun
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.load import AnyRun, changed_settings, load_any
from heedful.config.section import Section
from heedful.config.translation import TranslationRun
from heedful.data.labelled import read_split
from heedful.data.text_stream import read_train
from heedful.errors import HeedfulError, UserError
from heedful.files import write_atomic
from heedful.storage.locate import find_model_folder
from heedful.tasks.classification.train import find_label_tokenizer
from heedful.tasks.language_modeling.train import find_symbols
from heedful.tasks.run_folder import CONFIG, TOKENIZER
from heedful.tasks.translation.data import new_tokenizer

Say = Callable[[str], None]
_NOT_THE_TOKENIZER = ("dropout", "take_from")


@dataclass(frozen=True)
class Candidate:
    """One row of a comparison."""

    label: str
    config: AnyRun
    finished: Path | None = None
    """The run folder, where it is trained already."""


@dataclass(frozen=True)
class Broken:
    """What was named but cannot be compared, and why in a sentence."""

    label: str
    failure: str
    exit_code: int = 2


@dataclass(frozen=True)
class Field:
    """All that is compared, and what on."""

    candidates: list[Candidate]
    broken: list[Broken]
    cases: list[TestCases]


def read_field(places: Sequence[Path], overrides: Sequence[str] = ()) -> Field:
    """Read configs and finished runs, and check that they can be compared; the first sound one says what is the same.

    `overrides` win over every config; a finished run is what it is.
    """
    candidates: list[Candidate] = []
    broken: list[Broken] = []
    cases: list[TestCases] = []
    for label, place in zip(_labels(places), places, strict=True):
        try:
            candidate = _read(label, place, overrides)
            its_cases = find_cases(candidate.config)
        except HeedfulError as error:
            broken.append(Broken(label, in_a_line(error), error.exit_code))
            continue
        if candidates:
            _check_same(candidates[0], cases, candidate, its_cases)
        else:
            cases = its_cases
        candidates.append(candidate)
    if not candidates:
        raise UserError("\n".join(it.failure for it in broken))
    return Field(candidates, broken, cases)


def in_a_line(error: object) -> str:
    """Return what an error says, all problems of a config in one line."""
    return " ".join(str(error).split())


def with_shared_tokenizer(field: Field, folder: Path, say: Say) -> list[Candidate]:
    """Return the candidates with one tokenizer for all: that of a finished run, or one learned once for all configs.

    Language models have none to share: each learns its symbols from its text, and the same text gives the same.
    """
    path = folder / TOKENIZER
    finished = [it for it in field.candidates if it.finished is not None]
    if isinstance(field.candidates[0].config, LanguageModelRun) or len(finished) == len(field.candidates):
        return field.candidates
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        first = finished[0] if finished else field.candidates[0]
        write_atomic(path, tokenizer_json_of(first, say).encode())
    update = {"take_from": str(path)}
    return [
        it if it.finished is not None else replace(it, config=_with(it.config, "tokenizer", update))
        for it in field.candidates
    ]


def tokenizer_json_of(candidate: Candidate, say: Say = lambda _: None) -> str:
    """Return the tokenizer of a candidate: that of its run folder, or what its training would begin with."""
    folder, run = candidate.finished or Path("/nonexistent"), candidate.config
    if candidate.finished is not None:
        return (folder / TOKENIZER).read_text(encoding="utf-8")
    match run:
        case TranslationRun():
            return new_tokenizer(run, say).to_json()
        case ClassificationRun():
            return find_label_tokenizer(run, folder, read_split(run.data), say).to_json()
        case LanguageModelRun():
            return find_symbols(run, folder, read_train(run.data), say).to_json()


def settings_that_differ(candidates: Sequence[Candidate]) -> dict[str, list[object]]:
    """Return the settings in which candidates differ, with the value of each; names, seeds and places apart."""
    first = candidates[0].config
    changes = [changed_settings(first, it.config) for it in candidates]
    names = list(dict.fromkeys(name for change in changes for name in change))
    skipped = ("name", "runs_folder", "seed", "tokenizer.take_from")
    values: dict[str, list[object]] = {}
    for name in names:
        if name not in skipped:
            own = next(change[name][0] for change in changes if name in change)
            values[name] = [change[name][1] if name in change else own for change in changes]
    return values


def _labels(places: Sequence[Path]) -> list[str]:
    """Name each by its file or folder; what would be named twice gets a number."""
    labels: list[str] = []
    for place in places:
        name = place.stem if place.suffix == ".toml" else place.resolve().name
        number, label = 1, name
        while label in labels:
            number += 1
            label = f"{name}-{number}"
        labels.append(label)
    return labels


def _read(label: str, place: Path, overrides: Sequence[str]) -> Candidate:
    if not place.is_dir():
        return Candidate(label, load_any(place, overrides))
    if not (place / CONFIG).is_file():
        raise UserError(f"{place} must be a config file or the folder of a run, but is neither.")
    find_model_folder(place)  # says so when its training has not ended
    return Candidate(label, load_any(place / CONFIG), place)


def _check_same(first: Candidate, cases: list[TestCases], other: Candidate, its_cases: list[TestCases]) -> None:
    """Refuse what cannot be compared with the first."""
    if other.config.task != first.config.task:
        raise UserError(
            f"What is compared must be for one task, but {first.label} is for {first.config.task} and {other.label} "
            f"for {other.config.task}."
        )
    if [(it.name, it.digest) for it in its_cases] != [(it.name, it.digest) for it in cases]:
        raise UserError(
            f"The test sets must be the same, but those of {first.label} ({_listed(cases)}) and of {other.label} "
            f"({_listed(its_cases)}) differ. Let both configs name the same files in `data.test`."
        )
    ours, theirs = first.config.tokenizer, other.config.tokenizer
    for name, (before, after) in _tokenizer_changes(ours, theirs).items():
        raise UserError(
            f"The tokenizer must be the same, but `tokenizer.{name}` is {before!r} in {first.label} and {after!r} in "
            f"{other.label}."
        )
    both_finished = first.finished is not None and other.finished is not None
    if both_finished and tokenizer_json_of(first) != tokenizer_json_of(other):
        raise UserError(f"The tokenizer must be the same, but those of {first.finished} and {other.finished} differ.")


def _tokenizer_changes(ours: Section, theirs: Section) -> dict[str, tuple[object, object]]:
    changed = changed_settings(ours, theirs)
    return {name: both for name, both in changed.items() if name not in _NOT_THE_TOKENIZER}


def _listed(cases: Sequence[TestCases]) -> str:
    return ", ".join(f"{it.name} with {len(it.sources):,} cases" for it in cases)


def _with(run: AnyRun, section: str, update: Mapping[str, object]) -> AnyRun:
    """Return a run with some settings of a section changed."""
    return run.model_copy(update={section: getattr(run, section).model_copy(update=update)})
