"""Signals that a part of one side of a translation is missing on the other, and their weighing.

Three kinds of signals. The *shape* of a pair costs nothing: how many tokens, sentences and clauses each side has. The
*forced* signals are what a model thinks of the given pair: how surprised it is by each token of one side when it has
read the other, both ways. What is nowhere on the other side comes as a surprise, several tokens in a row. Rare words
surprise anyway: the *compared* signals hold a translation against one of the model's own, and what counts is what the
source surprises more after the one than after the other, and which of its own words the given one lacks. They hold for
text of any kind.
A `Detector` weighs signals by logistic regression; omission is what the source has and the translation lacks, addition
the same with the sides exchanged. Knows texts and numbers; knows no model.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from heedful.text.words import UNIT

_ENDS = re.compile(r"[.!?…]+(?=[\s\"'”’»)\]]|$)|[。！？]+")
_MARKS = re.compile(r"[,;:—–](?=\s)|[，；：、]")
_TOLERATED = (1.0, 2.0, 4.0)
"""Nats of surprise at a token that are no sign of anything; what is more adds up over neighbours."""

_TOLERATED_MORE = (0.0, 0.5, 1.0, 2.0)
"""The same for surprise beyond that after the model's own translation."""

_STEM = 5
"""Letters by which words are taken for the same: forms of a word mostly differ behind them."""

NUM_SHAPE, NUM_FORCED, NUM_COMPARED = 5, 18, 32


@dataclass(frozen=True)
class Side:
    """One side of a pair."""

    text: str
    num_tokens: int
    log_probs: Sequence[float] = ()
    """Of each token and the end, when the other side has been read; empty where nobody has asked a model."""


def shape_signals(whole: Side, part: Side) -> list[float]:
    """Compare the two sides from without: something of `whole` may be missing in `part`."""
    length, other = max(whole.num_tokens, 1), max(part.num_tokens, 1)
    ratio = math.log(other / length)
    ends = len(_ENDS.findall(part.text)) - len(_ENDS.findall(whole.text))
    marks = len(_MARKS.findall(part.text)) - len(_MARKS.findall(whole.text))
    return [ratio, math.log(length), ratio * math.log(length), float(ends), float(marks)]


def forced_signals(whole: Side, part: Side) -> list[float]:
    """Say how surprising either side is after the other, beside their shape; both must have log-probabilities."""
    missing = [-value for value in whole.log_probs[:-1]] or [0.0]
    other = [-value for value in part.log_probs[:-1]] or [0.0]
    runs = [math.log1p(_longest_surprise(missing, tolerated)) for tolerated in _TOLERATED]
    return [
        *shape_signals(whole, part),
        _mean(missing),
        *runs,
        math.sqrt(_longest_surprise(missing, 2.0)),
        _mean(sorted(missing)[-3:]),
        missing[0],
        _mean(other),
        max(other),
        other[0],
        other[-1],
        math.log1p(_longest_surprise(other, 2.0)),
        part.log_probs[-1],
    ]


def compared_signals(pair: tuple[Side, Side], own: tuple[Side, Side]) -> list[float]:
    """Hold a translation against the model's own of the same source; all four sides must have log-probabilities."""
    (source, target), (same, rendering) = pair, own
    ratio = math.log(max(target.num_tokens, 1) / max(rendering.num_tokens, 1))
    both = zip(source.log_probs[:-1], same.log_probs[:-1], strict=True)
    more = [expected - found for found, expected in both] or [0.0]
    return [
        *forced_signals(source, target),
        ratio,
        ratio * math.log(target.num_tokens + rendering.num_tokens),
        _mean(rendering.log_probs),
        _mean(more),
        sum(more) / 10,
        *(math.log1p(_longest_surprise(more, tolerated)) for tolerated in _TOLERATED_MORE),
        max(more),
        math.sqrt(_longest_surprise(more, _TOLERATED_MORE[-1])),
        math.log(max(len(target.text), 1) / max(len(rendering.text), 1)),
        *_word_signals(target.text, rendering.text),
    ]


@dataclass(frozen=True)
class Detector:
    """A weighing of signals: what comes out above zero is flagged."""

    weights: tuple[float, ...]
    """The first stands alone, less the threshold; one for each signal follows."""

    def score(self, signals: Sequence[float]) -> float:
        """Weigh signals, of which there must be as many as weights."""
        return self.weights[0] + sum(weight * signal for weight, signal in zip(self.weights[1:], signals, strict=True))

    def finds(self, signals: Sequence[float]) -> bool:
        """Say whether something seems to be missing; what is not a number is no sign."""
        return self.score(signals) > 0


def _word_signals(text: str, own: str) -> tuple[float, float]:
    """Say how many words of the model's own translation a text lacks: more than it has beside them, and by share."""
    ours, theirs = ([unit[:_STEM] for unit in UNIT.findall(some.lower())] for some in (own, text))
    has, known = set(theirs), set(ours)
    lacking, beside = sum(word not in has for word in ours), sum(word not in known for word in theirs)
    more = lacking / math.sqrt(len(ours) + 1) - beside / math.sqrt(len(theirs) + 1)
    return more, lacking / (len(ours) + 1)


def _longest_surprise(surprises: Sequence[float], tolerated: float) -> float:
    """Return the largest sum, over neighbouring tokens, of the surprise beyond what is tolerated at each."""
    best = running = 0.0
    for surprise in surprises:
        running = max(0.0, running + surprise - tolerated)
        best = max(best, running)
    return best


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
