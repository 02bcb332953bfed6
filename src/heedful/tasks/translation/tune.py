"""Choosing how a trained model is searched: the beam and the length penalty with the best BLEU on the validation set.

The same translations say how sure the model is of text of its own kind, and so below what it should be doubted, and how
far its words can be relied on (calibrating.py).

Every cell of the grid is a search of its own with exactly these settings, so that its BLEU is the one a user of the
model will get. Re-scoring one n-best list for all penalties would cost less, but a list ends with the n best for the
penalty it was made with, and the best for another may be missing. Not meant for test sets: a choice made on one makes
its score worthless.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from heedful.config.training import DecodingConfig
from heedful.errors import UserError
from heedful.evaluation.scores import bleu, tokenizer_of
from heedful.files import replace_folder
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import bundled_folder, find_model_folder
from heedful.storage.model_folder import load_model_folder, save_model_folder
from heedful.tasks.translation.calibrating import Asked, calibrate_direction
from heedful.tasks.translation.calibration import CALIBRATION, NO_CALIBRATION, Calibration
from heedful.tasks.translation.reliability_card import with_reliability
from heedful.tasks.translation.test_sets import TestSet, read_sentences
from heedful.tasks.translation.translated import Translation
from heedful.tasks.translation.translator import Translator

DOUBTED_SHARE = 0.02
"""Of the validation lines, so many are flagged as doubtful: few enough that a flag is worth reading."""


@dataclass(frozen=True)
class Direction:
    """The sentences of one direction that the choice is made on."""

    title: str
    source_language: str | None
    target_language: str | None
    tokenize: str | None
    sources: list[str]
    references: list[str]
    kinds: list[int] = field(default_factory=list)
    """Of each pair which of the corpora it is of: texts of different kinds."""


@dataclass(frozen=True)
class Cell:
    """One choice of settings, and how good it is."""

    beam_size: int
    length_penalty: float
    bleu_of: dict[str, float]
    """BLEU of each direction, by its title."""

    low_confidence: float = 0.0
    """The mean log-probability of a token that `DOUBTED_SHARE` of the translations fall below."""

    @property
    def bleu(self) -> float:
        """The mean over directions, by which cells are compared."""
        return sum(self.bleu_of.values()) / len(self.bleu_of)


def read_directions(test_sets: Sequence[TestSet]) -> list[Direction]:
    """Read validation corpora, those of one direction together; a pair with an empty side says nothing."""
    directions: dict[tuple[str | None, str | None], Direction] = {}
    for kind, test_set in enumerate(test_sets):
        languages = test_set.source_language, test_set.target_language
        direction = directions.setdefault(languages, Direction(test_set.title, *languages, test_set.tokenize, [], []))
        sentences = read_sentences(test_set)
        for source, [reference] in zip(sentences.sources, sentences.references, strict=True):
            if source.strip() and reference.strip():
                direction.sources.append(source)
                direction.references.append(reference)
                direction.kinds.append(kind)
    for direction in directions.values():
        if not direction.sources:
            raise UserError(f"{direction.title} must have at least one pair without an empty side, but has none.")
    return list(directions.values())


def score_grid(
    translator: Translator,
    directions: Sequence[Direction],
    *,
    beams: Sequence[int],
    length_penalties: Sequence[float],
    lowercase: bool = False,
) -> Iterator[Cell]:
    """Yield every cell as soon as it is known, beam by beam. Greedy search has nothing to weigh and is done once."""
    for beam_size in beams:
        cell: Cell | None = None
        for length_penalty in length_penalties:
            if beam_size > 1 or cell is None:
                searcher = _searching_with(translator, beam_size, length_penalty)
                cell = _score_cell(searcher, directions, lowercase)
            yield replace(cell, length_penalty=length_penalty)


def best_cell(cells: Sequence[Cell], present: DecodingConfig) -> Cell:
    """Return the cell with the best BLEU as printed; of equals the smallest beam, then the least change of penalty."""

    def merit(cell: Cell) -> tuple[float, int, float]:
        return round(cell.bleu, 2), -cell.beam_size, -abs(cell.length_penalty - present.length_penalty)

    return max(cells, key=merit)


def confidence_threshold(translations: Sequence[Translation], share: float = DOUBTED_SHARE) -> float:
    """Return the mean log-probability of a token that a share of the translations fall below.

    Where the share is less than one translation, none does. Translations without a token do not count.
    """
    found = (translation.alternatives[0].token_log_probs for translation in translations)
    means = sorted(sum(log_probs) / len(log_probs) for log_probs in found if log_probs)
    return means[int(share * len(means))] if means else 0.0


def find_writable(model: Path) -> Path:
    """Return the model folder meant by `model`, unless it is the one that ships with the package."""
    path = find_model_folder(model)
    if path == bundled_folder():
        raise UserError(
            "The settings of the bundled model must stay as they ship. Make a copy and tune that: "
            "heedful export bundled --format int8 --out DIR"
        )
    return path


def calibrate(translator: Translator, directions: Sequence[Direction], cell: Cell) -> Calibration:
    """Find out how far the translations of a cell can be relied on, direction by direction."""
    searcher = _searching_with(translator, cell.beam_size, cell.length_penalty)
    searcher = replace(searcher, traits=replace(searcher.traits, calibration=NO_CALIBRATION))
    found = {}
    for direction in directions:
        source = direction.source_language or translator.source_language
        target = direction.target_language or translator.target_language
        translations = searcher.translate_detailed(direction.sources, from_=source, to=target)
        pairs = list(zip(direction.sources, direction.references, strict=True))
        asked = Asked(searcher.scorer, (source, target), partial(_greedy, searcher, source, target))
        found[f"{source}-{target}"] = calibrate_direction(asked, pairs, translations, direction.kinds)
    return Calibration(found)


def write_settings(model: Path, cell: Cell, calibration: Calibration) -> Path:
    """Store what was chosen and found out in a model folder, or that of a run folder, which is replaced as a whole."""
    path = find_writable(model)
    folder = load_model_folder(path, TranslatorDescription)
    changed = folder.description.changed(
        decoding=_changed(folder.description.decoding, cell.beam_size, cell.length_penalty),
        facts={
            **folder.description.facts,
            "low_confidence": round(cell.low_confidence, 3),
            CALIBRATION: calibration.as_fact(),
        },
    )
    card = with_reliability(folder.card, calibration)
    replace_folder(path, lambda fresh: save_model_folder(fresh, replace(folder, description=changed, card=card)))
    return path


def _greedy(translator: Translator, source: str, target: str, texts: Sequence[str]) -> list[str]:
    """Translate without a beam."""
    return [one.text for one in translator.translate_detailed(texts, from_=source, to=target, beam_size=1)]


def _score_cell(translator: Translator, directions: Sequence[Direction], lowercase: bool) -> Cell:
    """Translate every direction with the settings the translator has."""
    bleu_of, translations = {}, []
    for direction in directions:
        language = direction.target_language
        found = translator.translate_detailed(direction.sources, from_=direction.source_language, to=language)
        tokenize = direction.tokenize or tokenizer_of(language or translator.target_language)
        texts = [translation.text for translation in found]
        bleu_of[direction.title] = bleu(texts, direction.references, tokenize=tokenize, lowercase=lowercase)
        translations += found
    decoding = translator.decoding
    return Cell(decoding.beam_size, decoding.length_penalty, bleu_of, confidence_threshold(translations))


def _searching_with(translator: Translator, beam_size: int, length_penalty: float) -> Translator:
    """Return the same translator, model and all, with other settings."""
    return replace(translator, decoding=_changed(translator.decoding, beam_size, length_penalty))


def _changed(decoding: DecodingConfig, beam_size: int, length_penalty: float) -> DecodingConfig:
    return decoding.model_copy(update={"beam_size": beam_size, "length_penalty": length_penalty})
