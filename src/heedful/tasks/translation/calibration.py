"""What was found out about a model on its validation pairs: when to flag its translations, and how sure its words are.

Part of a model folder (`facts.calibration`), for each direction by itself; `heedful tune --write` finds it out
(calibrating.py). A folder that has none, or one that makes no sense, gets no flags for omission and addition, and its
words have their bare probabilities. Knows numbers only.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pydantic import JsonValue

from heedful.tasks.translation.coverage import (
    NUM_COMPARED,
    NUM_FORCED,
    NUM_SHAPE,
    Detector,
    Side,
    compared_signals,
    forced_signals,
    shape_signals,
)

CALIBRATION = "calibration"
"""The name of the fact."""

_MOST_POINTS = 100
_SIZES = {
    "omission": NUM_SHAPE,
    "addition": NUM_SHAPE,
    "omission_forced": NUM_FORCED,
    "addition_forced": NUM_FORCED,
    "omission_compared": NUM_COMPARED,
}
"""How many signals each detector weighs."""

_NUMBERS = ("low_confidence", "letters_per_piece")


@dataclass(frozen=True)
class WordCalibration:
    """How often a word of a given probability is right: points, between which one goes in straight lines."""

    probabilities: tuple[float, ...]
    shares: tuple[float, ...]
    """Of words that were right, ascending like `probabilities`."""

    def __call__(self, probability: float) -> float:
        """Return how often words of this probability are right."""
        places, shares = self.probabilities, self.shares
        if not probability > places[0]:  # also where it is no number
            return shares[0]
        number = bisect_left(places, probability)
        if number == len(places):
            return shares[-1]
        part = (probability - places[number - 1]) / (places[number] - places[number - 1])
        return shares[number - 1] + part * (shares[number] - shares[number - 1])


@dataclass(frozen=True)
class ReliabilityBin:
    """Words of similar confidence: their number, their mean probability before and after, and how many were right."""

    num_words: int
    probability: float
    confidence: float
    share: float


@dataclass(frozen=True)
class DirectionCalibration:
    """What holds for one direction; None is what was not found out."""

    omission: Detector | None = None
    addition: Detector | None = None
    omission_forced: Detector | None = None
    addition_forced: Detector | None = None
    omission_compared: Detector | None = None
    words: WordCalibration | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    """Of the words of translations that had no part in finding `words`."""

    low_confidence: float | None = None
    """The mean log-probability of a token that few good translations fall below."""

    letters_per_piece: float | None = None
    """Of the words of a source; the words of one with fewer are none that the vocabulary was learned from."""

    def missing_by_shape(self, source: Side, target: Side) -> tuple[bool, bool]:
        """Say whether something seems to be left out, and whether something was added, from the outside of a pair."""
        return (
            self.omission is not None and self.omission.finds(shape_signals(source, target)),
            self.addition is not None and self.addition.finds(shape_signals(target, source)),
        )

    @property
    def can_score(self) -> bool:
        """Whether it is known what to make of a model's scores."""
        return any((self.omission_forced, self.addition_forced, self.omission_compared))

    def missing_by_scores(self, source: Side, target: Side) -> tuple[bool, bool]:
        """Say the same from what a model thinks of the pair; of one it was not asked about, no to both."""
        if not source.log_probs or not target.log_probs:
            return False, False
        return (
            self.omission_forced is not None and self.omission_forced.finds(forced_signals(source, target)),
            self.addition_forced is not None and self.addition_forced.finds(forced_signals(target, source)),
        )

    def omitted_by_comparison(self, pair: tuple[Side, Side], own: tuple[Side, Side]) -> bool:
        """Say whether something is missing that the model's own translation of the source has."""
        if self.omission_compared is None or not all(side.log_probs for side in (*pair, *own)):
            return False
        return self.omission_compared.finds(compared_signals(pair, own))


UNCALIBRATED = DirectionCalibration()


@dataclass(frozen=True)
class Calibration:
    """Of all directions of a model, by their names, as in "en-de"."""

    directions: Mapping[str, DirectionCalibration] = field(default_factory=dict)

    def of(self, direction: str | None) -> DirectionCalibration:
        """Return what is known of a direction."""
        return UNCALIBRATED if direction is None else self.directions.get(direction, UNCALIBRATED)

    def as_fact(self) -> dict[str, JsonValue]:
        """Write it as config.json keeps it."""
        return {direction: _written(found) for direction, found in self.directions.items()}


NO_CALIBRATION = Calibration()


def calibration_of(facts: Mapping[str, JsonValue]) -> Calibration:
    """Read the calibration of a model folder; what makes no sense is as if it was not there."""
    found = facts.get(CALIBRATION)
    if not isinstance(found, Mapping):
        return NO_CALIBRATION
    return Calibration({name: _read(one) for name, one in found.items() if isinstance(one, Mapping)})


def _written(found: DirectionCalibration) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for name in _SIZES:
        detector = getattr(found, name)
        if detector is not None:
            fields[name] = [_short(weight) for weight in detector.weights]
    for name in _NUMBERS:
        if getattr(found, name) is not None:
            fields[name] = _short(getattr(found, name))
    if found.words is not None:
        points = zip(found.words.probabilities, found.words.shares, strict=True)
        fields["words"] = [[_short(place), _short(share)] for place, share in points]
    if found.reliability:
        fields["reliability"] = [
            [one.num_words, _short(one.probability), _short(one.confidence), _short(one.share)]
            for one in found.reliability
        ]
    return fields


def _read(fields: Mapping[str, JsonValue]) -> DirectionCalibration:
    detectors = {name: _detector(fields.get(name), 1 + size) for name, size in _SIZES.items()}
    low_confidence, letters_per_piece = (next(iter(_numbers([fields.get(name)])), None) for name in _NUMBERS)
    rows = _rows(fields.get("reliability"), 4)
    bins = tuple(ReliabilityBin(int(row[0]), *row[1:]) for row in rows if _are_shares(row[1:]) and row[0] >= 1)
    words = _words(_rows(fields.get("words"), 2))
    return DirectionCalibration(
        omission=detectors["omission"],
        addition=detectors["addition"],
        omission_forced=detectors["omission_forced"],
        addition_forced=detectors["addition_forced"],
        omission_compared=detectors["omission_compared"],
        words=words,
        reliability=bins,
        low_confidence=low_confidence,
        letters_per_piece=letters_per_piece,
    )


def _detector(value: JsonValue | None, size: int) -> Detector | None:
    weights = _numbers(value)
    return Detector(weights) if len(weights) == size else None


def _words(rows: Sequence[tuple[float, ...]]) -> WordCalibration | None:
    places, shares = tuple(row[0] for row in rows), tuple(row[1] for row in rows)
    rises = all(before < after for before, after in pairwise(places))
    return WordCalibration(places, shares) if rows and rises and _are_shares([*places, *shares]) else None


def _rows(value: JsonValue | None, size: int) -> list[tuple[float, ...]]:
    rows = [_numbers(row) for row in value[:_MOST_POINTS]] if isinstance(value, list) else []
    return rows if all(len(row) == size for row in rows) else []


def _numbers(value: JsonValue | None) -> tuple[float, ...]:
    """Return a list of numbers, empty where anything else is among them."""
    if not isinstance(value, list) or len(value) > _MOST_POINTS:
        return ()
    numbers = tuple(float(one) for one in value if isinstance(one, int | float) and not isinstance(one, bool))
    return numbers if len(numbers) == len(value) and all(map(math.isfinite, numbers)) else ()


def _are_shares(values: Sequence[float]) -> bool:
    return all(0 <= value <= 1 for value in values)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
