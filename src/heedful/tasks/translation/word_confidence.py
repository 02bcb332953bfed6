"""How sure a translation is of each of its words: the probability of its pieces together, and how often that is right.

Words are put together from pieces as text/words.py says, which is how the page does it. Knows no model.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heedful.tasks.translation.calibration import WordCalibration
from heedful.text.words import SPACE_MARK, begins_word

_SYMBOL = re.compile(r"<(?!0x[0-9A-F]{2}>).+>")


@dataclass(frozen=True)
class WordConfidence:
    """One word of a translation, a mark by itself included."""

    text: str
    """As its pieces spell it; a character without a piece is spelled by its bytes."""

    probability: float
    """What the model gave it: the product over its pieces."""

    confidence: float | None
    """How often words of this probability are right, where that was found out."""


def word_confidences(
    tokens: Sequence[str], token_log_probs: Sequence[float], calibration: WordCalibration | None
) -> Iterator[WordConfidence]:
    """Yield the words of a unit's translation in order; its end symbol is none of them."""
    pieces: list[str] = []
    log_prob = 0.0
    for number, (piece, value) in enumerate(zip(tokens, token_log_probs, strict=False)):
        if number == len(tokens) - 1 and _SYMBOL.fullmatch(piece):
            break
        if pieces and begins_word(pieces[-1], piece):
            yield _word(pieces, log_prob, calibration)
            pieces, log_prob = [], 0.0
        pieces.append(piece)
        log_prob += value
    if pieces:
        yield _word(pieces, log_prob, calibration)


def _word(pieces: Sequence[str], log_prob: float, calibration: WordCalibration | None) -> WordConfidence:
    probability = math.exp(log_prob) if log_prob <= 0 else 0.0  # not a number is no confidence
    confidence = None if calibration is None else calibration(probability)
    return WordConfidence("".join(pieces).replace(SPACE_MARK, ""), probability, confidence)
