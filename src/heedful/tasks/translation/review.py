"""Looking at a translation that is there, whoever made it: does it lack something, or say more than its source?

What words and numbers show costs nothing. A model that knows both directions is asked as well: how surprised it is by
either side when it has read the other, and how much more than by its own translation. Where only the former is known,
it is not asked about texts it does not know itself: it would be surprised by everything. Knows models by what they can
be asked, and calibrations by their answers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from heedful.decoding import Decodable
from heedful.errors import UserError
from heedful.tasks.translation.calibration import UNCALIBRATED, Calibration, DirectionCalibration
from heedful.tasks.translation.coverage import Side
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.doubts import Output, OutputWarning, find_warnings, mean_log_prob, numbers_warning
from heedful.tasks.translation.forced_scores import forced_scores
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.translated import TranslatedUnit
from heedful.text.quantities import lost_numbers
from heedful.text.sentences import split_sentences
from heedful.text.tokenizer import Tokenizer

TextPair = tuple[str, str]
Sides = tuple[Side, Side]
_GREEDY_IS_LESS_SURE = 1.2
"""Times the log-probability that is a low confidence: the threshold is that of translations found with a beam."""

_MOST_SENTENCES = 5
"""Of a line that is looked at as a whole: as many as the texts that calibrations are made from have."""


@dataclass(frozen=True)
class PairScorer:
    """A model that is asked about given pairs."""

    model: Decodable[Any] | None
    """None where there is none that can be asked: then only tokens are counted."""

    tokenizer: Tokenizer
    directions: Directions
    max_tokens: int
    device: torch.device

    def can_ask(self, source_language: str | None, target_language: str | None) -> bool:
        """Say whether the model knows a direction and the way back."""
        there, back = (source_language, target_language), (target_language, source_language)
        return self.model is not None and there in self.directions.pairs and back in self.directions.pairs

    def counted(self, pairs: Sequence[TextPair]) -> list[Sides]:
        """Count the tokens of both sides, their ends included."""
        sources = self._source_ids([source for source, _ in pairs], None)
        targets = self.tokenizer.encode_target_batch([target for _, target in pairs])
        num_tags = int(bool(self.tokenizer.languages))
        return [
            (Side(source, len(read) - num_tags), Side(target, len(written)))
            for (source, target), read, written in zip(pairs, sources, targets, strict=True)
        ]

    def scored(self, pairs: Sequence[TextPair], source_language: str, target_language: str) -> list[Sides]:
        """Ask the model about both sides of pairs; those too long for it are only counted."""
        sides = self.counted(pairs)
        fitting = [
            number
            for number, (source, target) in enumerate(sides)
            if min(source.num_tokens, target.num_tokens) > 1
            and max(source.num_tokens, target.num_tokens) < self.max_tokens
        ]
        sources, targets = [pairs[number][0] for number in fitting], [pairs[number][1] for number in fitting]
        of_targets = self._scores(sources, targets, target_language)
        of_sources = self._scores(targets, sources, source_language)
        for number, source_scores, target_scores in zip(fitting, of_sources, of_targets, strict=True):
            source, target = sides[number]
            sides[number] = replace(source, log_probs=source_scores), replace(target, log_probs=target_scores)
        return sides

    def _scores(self, texts: Sequence[str], translations: Sequence[str], language: str) -> list[list[float]]:
        """Return the log-probabilities of translations into a language, token by token."""
        read = self._source_ids(texts, language)
        written = self.tokenizer.encode_target_batch(translations)
        assert self.model is not None, "who asks has looked"
        return forced_scores(
            self.model,
            list(zip(read, written, strict=True)),
            bos_id=self.tokenizer.bos_id,
            vocab_size=self.tokenizer.target_vocab_size,
            device=self.device,
        )

    def _source_ids(self, texts: Sequence[str], language: str | None) -> list[list[int]]:
        languages = self.tokenizer.languages
        return self.tokenizer.encode_source_batch(texts, [language or languages[0]] * len(texts) if languages else None)


def coverage_warnings(is_omission: bool, is_addition: bool) -> Iterator[OutputWarning]:
    """Say in sentences what was found."""
    if is_omission:
        yield OutputWarning("omission", "part of the input seems to be missing in the translation.")
    if is_addition:
        yield OutputWarning("addition", "the translation seems to say more than the input.")


def aligned_parts(source: str, target: str) -> list[TextPair]:
    """Cut a pair into lines, and long ones into sentences, as far as both sides have as many."""
    lines, others = source.split("\n"), target.split("\n")
    if len(lines) != len(others):
        return [(source, target)]
    parts: list[TextPair] = []
    for line, other in zip(lines, others, strict=True):
        sentences, theirs = _sentences(line), _sentences(other)
        is_cut = len(sentences) == len(theirs) > _MOST_SENTENCES
        parts += zip(sentences, theirs, strict=True) if is_cut else [(line, other)]
    return parts


def plain_warnings(
    source: Side, target: Side, source_language: str | None, target_language: str | None
) -> Iterator[OutputWarning]:
    """Yield what words, numbers and lengths of a given pair show."""
    output = Output(
        source=source.text,
        text=target.text,
        target_language=target_language,
        token_log_probs=[0.0] * target.num_tokens,
        finish_reason="eos",
        num_source_tokens=source.num_tokens,
        source_language=source_language,
    )
    yield from find_warnings(output)
    if lost := lost_numbers(source.text, target.text):
        yield numbers_warning(lost)


@dataclass(frozen=True)
class Reviewer:
    """Looks at pairs with a model and its calibration."""

    scorer: PairScorer
    calibration: Calibration
    low_confidence: float
    own_translations: Callable[[Sequence[str], str, str], list[str]]
    """The model's own of texts, from one language into another, found without a beam."""

    def review_texts(
        self, sources: Sequence[str], translations: Sequence[str], source: str | None, target: str | None
    ) -> list[tuple[OutputWarning, ...]]:
        """Do what `review` does for texts from one language into another; None is found out, text by text."""
        if len(sources) != len(translations):
            counts = f"{len(sources):,} and {len(translations):,}"
            raise UserError(f"There must be a translation for each source, but there are {counts}.")
        directions = self.scorer.directions
        directions.check(source, target)
        routes = [directions.route(text if text.strip() else "", source, target) for text in sources]
        languages = [(route.source, route.target) for route in routes]
        return self.review(list(zip(sources, translations, strict=True)), languages)

    def review(
        self, pairs: Sequence[TextPair], languages: Sequence[tuple[str | None, str | None]]
    ) -> list[tuple[OutputWarning, ...]]:
        """Say what is doubtful about each pair, each kind once; `languages` are those of its sides."""
        parts_of: dict[tuple[str | None, str | None], list[tuple[int, TextPair]]] = {}
        for number, (pair, direction) in enumerate(zip(pairs, languages, strict=True)):
            parts_of.setdefault(direction, []).extend((number, part) for part in aligned_parts(*pair))
        found: list[dict[str, OutputWarning]] = [{} for _ in pairs]
        for direction, parts in parts_of.items():
            warnings = self._review_parts([part for _, part in parts], *direction)
            for (number, _), some in zip(parts, warnings, strict=True):
                for warning in some:
                    found[number].setdefault(warning.code, warning)
        return [tuple(warnings.values()) for warnings in found]

    def check(self, units: Sequence[Unit], done: Sequence[TranslatedUnit]) -> list[TranslatedUnit]:
        """Ask the model about its own translations, and warn of what seems to be left out or added.

        It is not asked where it was unsure to begin with, nor about units translated through a third language.
        """
        checked = list(done)
        numbers_of: dict[tuple[str, str], list[int]] = {}
        for number, (unit, made) in enumerate(zip(units, done, strict=True)):
            is_direct = len(unit.steps) == 1 and unit.has_words
            if is_direct and unit.language is not None and made.text and not self._is_unsure(made):
                numbers_of.setdefault((unit.language, unit.steps[0]), []).append(number)
        for direction, numbers in numbers_of.items():
            calibration = self.calibration.of("-".join(direction))
            if calibration.can_score and self.scorer.can_ask(*direction):
                pairs = [(done[number].source, done[number].text) for number in numbers]
                for number, sides in zip(numbers, self.scorer.scored(pairs, *direction), strict=True):
                    missing = calibration.missing_by_scores(*sides)
                    checked[number] = done[number].warned(coverage_warnings(*missing))
        return checked

    def _is_unsure(self, made: TranslatedUnit) -> bool:
        return any(warning.code == "low_confidence" for warning in made.warnings)

    def _review_parts(
        self, parts: Sequence[TextPair], source_language: str | None, target_language: str | None
    ) -> Iterator[list[OutputWarning]]:
        """Yield what is doubtful about each of several pairs of the same languages."""
        sides = self.scorer.counted(parts)
        calibration = UNCALIBRATED
        scored = [(False, False)] * len(sides)
        if source_language is not None and target_language is not None:
            calibration = self.calibration.of(f"{source_language}-{target_language}")
            if calibration.can_score and self.scorer.can_ask(source_language, target_language):
                scored = self._asked(parts, (source_language, target_language), calibration)
        for (source, target), (left_out, added) in zip(sides, scored, strict=True):
            omission, addition = calibration.missing_by_shape(source, target)
            yield [
                *plain_warnings(source, target, source_language, target_language),
                *coverage_warnings(omission or left_out, addition or added),
            ]

    def _asked(
        self, parts: Sequence[TextPair], languages: tuple[str, str], calibration: DirectionCalibration
    ) -> list[tuple[bool, bool]]:
        """Ask the model whether something seems to be left out of each translation, and whether something was added.

        What is known only from the given pair counts where the model is sure it could translate the source itself; what
        comes from the comparison with its own translation counts always.
        """
        sources = [source for source, _ in parts]
        owns = list(zip(sources, self.own_translations(sources, *languages), strict=True))
        least = self.low_confidence if calibration.low_confidence is None else calibration.low_confidence
        found = []
        for pair, own in zip(self.scorer.scored(parts, *languages), self.scorer.scored(owns, *languages), strict=True):
            is_sure = mean_log_prob(own[1].log_probs) >= _GREEDY_IS_LESS_SURE * least
            left_out, added = calibration.missing_by_scores(*pair) if is_sure else (False, False)
            if calibration.omission_compared is not None:
                left_out = calibration.omitted_by_comparison(pair, own)
            found.append((left_out, added))
        return found


def _sentences(line: str) -> list[str]:
    return [sentence.strip() for sentence in split_sentences(line) if sentence.strip()]
