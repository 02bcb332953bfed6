"""Honest flags for doubtful output: each a pure function of texts and numbers that answers None or a warning.

A model always says something. These rules find what a reader who knows no source language would notice too late: a
translation the model itself thinks improbable, one that goes round in circles, one that was left in the language it
came in, one that is far too short, one that lacks a negation or a name. They are computed once for each finished
translation, outside the search.
Knows words and counts; knows no model and no tokenizer. Every threshold is a constant here, said with its reason;
that of the confidence is a property of a model, so a model folder may bring its own (`facts.low_confidence`).
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from heedful.text.names import lost_names
from heedful.text.negation import knows_negation, negation_difference
from heedful.text.words import HAN, LETTER, UNIT

Code = Literal[
    "split", "truncated", "broken", "pivot", "unchanged", "unknown_language", "mixed_languages",
    "other_language", "unchanged_sentence", "unknown_sentence", "one_of_several", "placed", "stand_ins",
    "low_confidence", "looping", "copied", "leftover_words", "length", "unknown_characters", "unknown_words", "numbers",
    "missing_term", "negation", "names", "omission", "addition",
]  # fmt: skip
"""Stable names for programs. The first nine say what was done; the others that the result is doubtful."""

LOW_CONFIDENCE = -1.1
"""Mean log-probability of a token under which a translation is doubtful, when the model folder names no other."""

_REPEATS = {1: 5, 2: 4}  # so often must a unit of 1 or 2 words follow itself: people say "very, very" and "ha ha ha"
_REPEATS_OF_MORE = 3  # a longer unit: no good sentence says three words three times in a row
_LONGEST_UNIT = 12
_LETTERS_IN_A_LOOP = 12  # within one word, where "hahaha" is fine and "banabanabanabana" is not
_COPIED_SHARE, _LEAST_COPIED = 0.5, 3  # "in" and "hotel" are words of two languages, most words are not
_MOST_TIMES, _LEAST_TIMES, _SLACK = 3.0, 1 / 4, 8  # times the source's tokens, and so many more or fewer anyway
_LOOKED_AT = 10_000  # characters read by the rules about words: some pages, so that a megabyte costs no seconds
_LEAST_WORDS, _LEAST_LETTERS, _LETTERS_SHARE = 3, 12, 0.6  # of words that are looked at; the share of all characters
_UNKNOWN_SHARE = 0.2  # of the characters; an emoji at the end of a sentence is less

_WORD = re.compile(rf"{LETTER}{{2,}}")
_NOT_PROSE = re.compile(  # addresses, and units after numbers
    r"(?:https?://|www\.)[^\s\u2e80-\uffef]+|[\w.+-]{1,64}@[\w.-]+|(?<![a-zA-Z0-9-])[a-zA-Z0-9-]{1,63}(?:\.[a-zA-Z0-9-]{1,63})+"
    r"|\d\s?[a-zA-Z]{1,3}(?![a-zA-Z])"
)
_HAN = re.compile(f"[{HAN}]")


@dataclass(frozen=True)
class OutputWarning:
    """One thing to know about a translation."""

    code: Code
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Output:
    """What the rules look at: one text, what was made of it, and the numbers of the search."""

    source: str
    text: str
    target_language: str | None
    token_log_probs: Sequence[float]
    finish_reason: str
    num_source_tokens: int
    source_language: str | None = None
    num_unknown: int = 0
    """Characters of the source that no piece of the vocabulary has."""

    letters_per_piece: float = 0.0
    """Fewer of them in the pieces of a source are a sign that its words are none; 0 where that is not known."""


def numbers_warning(lost: Sequence[str]) -> OutputWarning:
    """Name the first of the numbers that a translation lacks."""
    return OutputWarning("numbers", f"numbers of the input are missing: {', '.join(lost[:5])}.")


def find_warnings(output: Output, *, low_confidence: float = LOW_CONFIDENCE) -> Iterator[OutputWarning]:
    """Yield what is to be known about an output, what was done first."""
    source, text = output.source[:_LOOKED_AT], output.text[:_LOOKED_AT]
    if output.finish_reason == "length":
        yield OutputWarning("truncated", "the translation was cut at the length cap (`decoding.extra_tokens`).")
    if output.finish_reason == "error":
        yield OutputWarning("broken", "the model's output was not a number, and the translation may be incomplete.")
    if is_unsure(output.token_log_probs, low_confidence):
        yield OutputWarning("low_confidence", "the model is unsure of this translation.")
    if is_looping(source, text):
        yield OutputWarning("looping", "the translation repeats itself.")
    if is_copied(source, text):
        yield OutputWarning("copied", "the translation is largely copied from the input.")
    elif left := leftover_words(text, output.target_language):
        yield OutputWarning("leftover_words", f"the translation has untranslated words: {', '.join(left[:5])}.")
    if is_length_off(output.num_source_tokens, len(output.token_log_probs)):
        yield OutputWarning("length", "the translation has an unlikely length for this input.")
    if is_foreign(output.source, output.num_unknown):
        yield OutputWarning("unknown_characters", "the input has many characters that the model has never seen.")
    if is_spelled_out(source, output.num_source_tokens, output.letters_per_piece):
        yield OutputWarning("unknown_words", "the words of the input are unknown to the model.")
    yield from meaning_warnings(source, text, output.source_language, output.target_language)


def meaning_warnings(
    source: str, text: str, source_language: str | None, target_language: str | None
) -> Iterator[OutputWarning]:
    """Yield what a translation says otherwise than its source, as far as words alone show it."""
    if source_language is None or target_language is None:
        return
    if knows_negation(source_language, target_language):
        difference = negation_difference(source, text, source_language, target_language)
        if difference is not None:
            verb = "seems to have lost a negation" if difference == "lost" else "has a negation that the input lacks"
            yield OutputWarning("negation", f"the translation {verb}.")
    if lost := lost_names(source, text, source_language, target_language):
        yield OutputWarning("names", f"names of the input are missing: {', '.join(lost[:5])}.")


def is_unsure(token_log_probs: Sequence[float], threshold: float = LOW_CONFIDENCE) -> bool:
    """Say whether the tokens are improbable on average: the geometric mean of their probabilities is below e^threshold.

    A mean of nothing is no reason for doubt; one that is not a number is.
    """
    return bool(token_log_probs) and not mean_log_prob(token_log_probs) >= threshold


def mean_log_prob(token_log_probs: Sequence[float]) -> float:
    """Return the logarithm of the geometric mean of the probabilities; 0 for no tokens."""
    return sum(token_log_probs) / len(token_log_probs) if token_log_probs else 0.0


def is_looping(source: str, text: str) -> bool:
    """Say whether words, or letters within a word, follow themselves again and again, as they do not in the source."""
    found = max((repeats for repeats, least in _loops(text) if repeats >= least), default=0)
    if not found:
        return False
    in_source = max((repeats for repeats, _ in _loops(source)), default=1)
    # A source that repeats itself may be answered with twice as many: who laughs "hahaha" is not counted.
    return in_source < _REPEATS_OF_MORE or found > 2 * in_source


def is_copied(source: str, text: str) -> bool:
    """Say whether half of the ordinary words, and at least three, stand in the source as well.

    Ordinary are words in small letters: a name, a number or an address is the same in every language.
    """
    given = set(_WORD.findall(source.lower()))
    if len(given.intersection(_WORD.findall(text))) < _LEAST_COPIED:
        return False
    words = [word for word in _WORD.findall(_NOT_PROSE.sub(" ", text)) if word[0].islower()]
    copied = [word for word in words if word in given]
    return len(set(copied)) >= _LEAST_COPIED and len(copied) >= _COPIED_SHARE * (len(words) + len(_HAN.findall(text)))


def leftover_words(text: str, target_language: str | None) -> list[str]:
    """Return words in another script that were left standing in a translation from or into Chinese.

    Into Chinese these are words in small Latin letters, of the source or of a third language, except units and
    addresses; into a language written in letters, every Chinese character.
    """
    if target_language is None or not target_language.startswith("zh"):
        is_lettered = target_language is not None and not target_language.startswith(("ja", "yue", "ko"))
        return list(dict.fromkeys(_HAN.findall(text))) if is_lettered else []
    words = _WORD.findall(_NOT_PROSE.sub(" ", text))
    # "iPad" and "DNA" are the same in Chinese, but a Chinese sentence has hardly ever a word in small Latin letters.
    return [word for word in dict.fromkeys(words) if word.isascii() and word.islower()]


def is_length_off(num_source_tokens: int, num_target_tokens: int) -> bool:
    """Say whether an output is several times longer or shorter than its source, in tokens."""
    return (
        num_target_tokens > _MOST_TIMES * num_source_tokens + _SLACK
        or num_target_tokens < _LEAST_TIMES * num_source_tokens - _SLACK / 4
    )


def is_foreign(source: str, num_unknown: int) -> bool:
    """Say whether a good part of the source is made of characters that no piece of the vocabulary has."""
    if not num_unknown:
        return False
    num_characters = sum(not character.isspace() for character in source)
    return num_unknown >= _UNKNOWN_SHARE * num_characters


def is_spelled_out(source: str, num_source_tokens: int, least: float) -> bool:
    """Say whether the words of a source are cut into pieces of fewer letters than `least`, as keys hit at random are.

    Words in capitals are always cut so, and Chinese characters have no pieces: both are passed over.
    """
    letters = letters_of_words(source)
    return letters > 0 and letters < least * num_pieces_of_words(source, letters, num_source_tokens)


def letters_of_words(source: str) -> int:
    """Count the letters of words in small letters; 0 where there are few, or much else."""
    words = [word for word in _WORD.findall(source) if word[1:].islower()]
    letters, characters = sum(map(len, words)), sum(not character.isspace() for character in source)
    are_enough = len(words) >= _LEAST_WORDS and letters >= max(_LEAST_LETTERS, _LETTERS_SHARE * characters)
    return letters if are_enough else 0


def num_pieces_of_words(source: str, letters: int, num_source_tokens: int) -> int:
    """Return how many tokens are left for so many letters when every other character has one, and the end."""
    return max(1, num_source_tokens - 1 - (sum(not character.isspace() for character in source) - letters))


def _loops(text: str) -> Iterator[tuple[int, int]]:
    """Yield how often units of every size follow themselves, and how often they must to count as a loop."""
    units = UNIT.findall(text.lower())
    if len(units) - len(set(units)) >= _REPEATS_OF_MORE - 1:  # else nothing is there three times
        for size in range(1, min(_LONGEST_UNIT, len(units) // 2) + 1):
            yield _repeats(units, size), _REPEATS.get(size, _REPEATS_OF_MORE)
    for word in units:
        if len(word) >= _LETTERS_IN_A_LOOP // 2:
            for size in range(1, min(_LONGEST_UNIT, len(word) // 3) + 1):
                yield _repeats(word, size), max(4, math.ceil(_LETTERS_IN_A_LOOP / size))


def _repeats(units: Sequence[str], size: int) -> int:
    """Return how often some `size` neighbouring units follow themselves, 1 when they never do."""
    longest = run = 0
    for here, before in zip(units[size:], units, strict=False):
        run = run + 1 if here == before else 0
        longest = max(longest, run)
    return longest // size + 1
