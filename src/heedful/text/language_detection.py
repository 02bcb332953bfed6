"""Which language a text is written in: its script first, then the letters inside its words.

Most scripts tell their language (text/scripts.py). Languages with Latin letters are told apart by a linear model over
the character n-grams of words, a table in assets/language_detection/ (text/ngram_table.py reads it). Languages nobody
asked about come into question as well: that a text is in none of those asked about is an answer too. This file knows
nothing of models or translation.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from heedful.errors import UserError
from heedful.text import scripts
from heedful.text.ngram_table import NgramTable, read_table
from heedful.text.scripts import UNDETERMINED, count_scripts
from heedful.text.words import WORD

_LONGEST_TEXT = 4000
"""Characters that are looked at: more of them would only cost time."""

_ASCII = re.compile("[!-~]+")
_NO_LANGUAGE = re.compile(
    r"[_{}<>=\\@#;()\[\]+*]{2}|[_{}<>=\\@#\[\]]|://|^www\.|^\.{0,2}/|/[^/]*/|[a-z0-9]\.[a-z0-9]|[a-z]\d|\d[a-z]|([a-z])\1\1",
    re.IGNORECASE,
)
"""What addresses, paths, pieces of programs, codes and cries have and words do not: they are in no language."""

_NATS_PER_LETTER = 2.0
"""How strongly a letter of one script speaks for it against the others."""


_ENOUGH_WORDS, _ENOUGH_LETTERS = 4, 9
"""Words in small letters, or letters of another script, that tell enough to do without names."""

_NATS_PER_NAME = 1.0
"""How strongly a word that may be a name speaks for one language against another, at most: Müller is at home in any."""

_CLEAR = 0.97
"""How sure the detection must be to contradict what was said or what the rest of a text is in."""

_GLANCE = 120
"""Characters that are looked at first: what they speak for needs no closer look."""

_NATS_FOR_ASKED = 3.0
"""How much more probable a language that was asked about is in advance than one that was not: whoever asks expects it,
and a word that several languages have should not be claimed by one that nobody thought of."""


@dataclass(frozen=True)
class Detection:
    """A language, and the probability that a text is written in it."""

    language: str
    confidence: float


def known_languages() -> tuple[str, ...]:
    """Return the codes of all languages that can be recognised."""
    named = (language for language in _table().languages if language != UNDETERMINED)
    return (*named, scripts.CHINESE, *scripts.LANGUAGES)


def detect(text: str, languages: Sequence[str] | None = None) -> list[Detection]:
    """Return languages with their probabilities, which sum to 1, the most probable first.

    These are the `languages` asked about, and two further entries: the most probable of all the others, and "und" for
    what is left. The probability that the text is in none of those asked about is the sum of the two. Without
    `languages` there is an entry for each that comes into question.

    A text that says nothing, such as an empty one or a number, is every asked language's alike, in their order.
    """
    asked = None if languages is None else tuple(dict.fromkeys(languages))
    if asked is not None:
        _check(asked)
    found = _probabilities(_prepared(text), asked or ())
    if asked is None:
        return _ranked(found or {UNDETERMINED: 1.0})
    if not found:
        return [Detection(language, 1 / len(asked)) for language in asked]
    answer = {language: found.pop(language, 0.0) for language in asked}
    if found:
        other = max(found, key=lambda language: (language != UNDETERMINED, found[language]))
        answer[other] = found.pop(other)
    if found:
        answer[UNDETERMINED] = sum(found.values())
    return _ranked(answer)


def other_language(text: str, language: str, languages: Sequence[str]) -> Detection | None:
    """Return the language that a text clearly is in, if it is not the one it should be in; `languages` are likely ones.

    Texts of few words are not judged: names and loan words are in any language.
    """
    if _may_be(text, language) or language not in (known := known_languages()):
        return None
    words = _words(_prepared(text))
    num_others = sum(count_scripts(text[:_GLANCE]).values())
    if max(len(words), num_others) < _ENOUGH_WORDS or (words and _may_be(" ".join(_written_small(words)), language)):
        return None
    best = detect(text, [one for one in dict.fromkeys((language, *languages)) if one in known])[0]
    is_other = best.language not in (language, UNDETERMINED)
    return best if is_other and best.confidence >= _CLEAR else None


def _may_be(text: str, language: str) -> bool:
    """Say quickly whether the beginning of a text speaks for no language more than for this one."""
    table, beginning = _table(), text[:_GLANCE]
    if language not in table.languages:
        return sum(count_scripts(beginning).values()) > 0 and not scripts.LATIN.search(beginning)
    words = [word.lower() for word in WORD.findall(beginning) if scripts.LATIN.search(word)]
    if not words:
        return not any(count_scripts(beginning).values())
    scores = table.scores(words)
    is_first = bool(scores[table.languages.index(language)] >= scores.max())
    return is_first and (beginning.isascii() or sum(count_scripts(beginning).values()) < sum(map(len, words)))


def words_of(text: str) -> list[str]:
    """Return the words that are written with Latin letters, in lower case, as the n-grams are taken from them."""
    return [word.lower() for word in _words(_prepared(text))]


def _check(asked: tuple[str, ...]) -> None:
    known = known_languages()
    if not asked or any(language not in known for language in asked):
        listed = ", ".join(known)
        raise UserError(f"The languages to detect must be some of {listed}, but are: {', '.join(asked) or 'none'}.")


def _ranked(found: dict[str, float]) -> list[Detection]:
    detections = [Detection(language, confidence) for language, confidence in found.items()]
    return sorted(detections, key=lambda detection: -detection.confidence)


def _prepared(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text[:_LONGEST_TEXT]).replace("’", "'")
    return _ASCII.sub(lambda run: " " if _NO_LANGUAGE.search(run[0]) else run[0], plain)


def _words(prepared: str) -> list[str]:
    return [word for word in WORD.findall(prepared) if scripts.LATIN.search(word)]


def _telling_words(words: list[str], num_others: int) -> list[str]:
    """Leave out what may be names where enough is left, or enough in other scripts: names are in no language."""
    small = _written_small(words)
    if num_others >= _ENOUGH_LETTERS:
        return [word for word in small if word[0].islower()]
    return small if len(small) >= _ENOUGH_WORDS else words


def _written_small(words: list[str]) -> list[str]:
    """Return the words that are no names by their first letter; the first one may have a capital."""
    return [word for place, word in enumerate(words) if not word[0].isupper() or len(word) == 1 or place == 0]


def _may_be_name(place: int, word: str) -> bool:
    """Say whether a word is written as a name: with a capital, inside a text, and not in capitals throughout."""
    return place > 0 and word[0].isupper() and not word.isupper()


def _probabilities(prepared: str, expected: Sequence[str]) -> dict[str, float]:
    """Return the probability of each language that comes into question; of none when there are no letters."""
    by_language = count_scripts(prepared.lower())
    scores = {language: _NATS_PER_LETTER * letters for language, letters in by_language.items()}
    words = _telling_words(_words(prepared), sum(by_language.values()))
    if words:
        table = _table()
        sums = table.scores(word.lower() for place, word in enumerate(words) if not _may_be_name(place, word))
        for place, word in enumerate(words):
            if _may_be_name(place, word):
                said = table.nats_of(word.lower())
                sums += np.maximum(said - said.max(), -_NATS_PER_NAME)
        highest = sums.max()
        normalizer = highest + np.log(np.exp(sums - highest).sum()) - _NATS_PER_LETTER * sum(map(len, words))
        latin = dict(zip(table.languages, (sums - normalizer).tolist(), strict=True))
        # A script nobody knows and an unknown language with Latin letters are one answer.
        latin[UNDETERMINED] = max(latin[UNDETERMINED], scores.pop(UNDETERMINED, -math.inf))
        scores |= latin
    if not scores:
        return {}
    sums = np.array([score + _NATS_FOR_ASKED * (language in expected) for language, score in scores.items()])
    odds = np.exp(sums - sums.max())
    return dict(zip(scores, (odds / odds.sum()).tolist(), strict=True))


@cache
def _table() -> NgramTable:
    return read_table(resources.files("heedful") / "assets" / "language_detection" / "ngrams.npz")
