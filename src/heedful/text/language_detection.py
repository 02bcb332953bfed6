"""Which language a text is written in: its script first, then the letters inside its words.

Chinese is known by its characters. Languages with Latin letters are told apart by a linear model over the character
n-grams of words, a table in assets/language_detection/ (one column a language; text/language_learning.py makes it).
The confidences are probabilities among the languages asked about: of a text in none of them they say nothing. This
file knows nothing of models or translation.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from heedful.errors import UserError

LONGEST_NGRAM = 5
BOUNDARY = "_"
"""Stands in n-grams for the beginning and the end of a word."""

_CHINESE = "zh"
_LONGEST_TEXT = 4000
_LONGEST_WORD = 40
"""Characters that are looked at: more of them would only cost time."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323ff]")
_KANA_OR_HANGUL = re.compile("[\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_LATIN = re.compile("[a-z\u00aa\u00ba\u00df-\u024f\u1e00-\u1eff]")

_NATS_PER_HAN = 6.0
_NATS_PER_LATIN = 2.0
"""How strongly a character speaks for and against Chinese: an ideograph is about as much text as three letters."""


@dataclass(frozen=True)
class Detection:
    """A language, and the probability that a text is written in it."""

    language: str
    confidence: float


@dataclass(frozen=True)
class NgramTable:
    """A linear model: what each n-gram says for each language, in hundredths of a nat."""

    languages: tuple[str, ...]
    bias: tuple[int, ...]
    weights: dict[str, tuple[int, ...]]


def known_languages() -> tuple[str, ...]:
    """Return the codes of all languages that can be recognised."""
    return (*_table().languages, _CHINESE)


def detect(text: str, languages: Sequence[str] | None = None) -> list[Detection]:
    """Return the languages with their probabilities, which sum to 1, the most probable first.

    `languages` are those that come into question; None means all that are known. A text that says nothing, such as an
    empty one or a number, is every language's alike, in the order of `languages`.
    """
    asked = known_languages() if languages is None else tuple(dict.fromkeys(languages))
    unknown = [language for language in asked if language not in known_languages()]
    if unknown or not asked:
        known = ", ".join(known_languages())
        raise UserError(f"The languages to detect must be some of {known}, but are: {', '.join(asked) or 'none'}.")
    scores = _scores(_prepared(text))
    highest = max(scores[language] for language in asked)
    odds = {language: math.exp(scores[language] - highest) for language in asked}
    total = sum(odds.values())
    found = [Detection(language, share / total) for language, share in odds.items()]
    return sorted(found, key=lambda detection: -detection.confidence)


def words_of(text: str) -> list[str]:
    """Return the words that are written with Latin letters, in lower case, as the n-grams are taken from them."""
    return _words(_prepared(text))


def ngrams_of(word: str) -> list[str]:
    """Return every n-gram of a word and its two boundaries."""
    bounded = f"{BOUNDARY}{word[:_LONGEST_WORD]}{BOUNDARY}"
    return [
        bounded[start : start + length]
        for length in range(1, LONGEST_NGRAM + 1)
        for start in range(len(bounded) - length + 1)
    ]


def _prepared(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:_LONGEST_TEXT]).lower().replace("’", "'")


def _words(prepared: str) -> list[str]:
    return [word for word in _WORD.findall(prepared) if _LATIN.search(word)]


def _scores(prepared: str) -> dict[str, float]:
    """Return the logarithm of each language's odds."""
    num_han = 0 if _KANA_OR_HANGUL.search(prepared) else len(_HAN.findall(prepared))
    num_latin = len(_LATIN.findall(prepared))
    table = _table()
    if not num_han and not num_latin:
        return dict.fromkeys(known_languages(), 0.0)
    known = table.weights
    rows = [known[ngram] for word in _words(prepared) for ngram in ngrams_of(word) if ngram in known]
    sums = [sum(column) / 100 for column in zip(table.bias, *rows, strict=True)]
    highest = max(sums)
    normalizer = highest + math.log(sum(math.exp(score - highest) for score in sums))
    scores = {
        language: score - normalizer + _NATS_PER_LATIN * num_latin
        for language, score in zip(table.languages, sums, strict=True)
    }
    return scores | {_CHINESE: _NATS_PER_HAN * num_han}


@cache
def _table() -> NgramTable:
    path = resources.files("heedful") / "assets" / "language_detection" / "ngrams.tsv"
    return read_table(path.read_text(encoding="utf-8"))


def read_table(text: str) -> NgramTable:
    """Read a table: a line of language codes, a line of biases, and a line for every n-gram."""
    num_columns = len(text.partition("\n")[0].split())
    # Cut as a whole and not line by line, which takes several times as long: it is what a first detection waits for.
    cells = text.split()
    languages = tuple(cells[1:num_columns])
    columns = [map(int, cells[num_columns + column :: num_columns]) for column in range(1, num_columns)]
    bias, *rows = zip(*columns, strict=True)
    return NgramTable(languages, bias, dict(zip(cells[2 * num_columns :: num_columns], rows, strict=True)))


def write_table(table: NgramTable) -> str:
    """Write a table as `read_table` reads it."""
    lines = ["\t".join(("ngram", *table.languages))]
    for ngram, weights in [("*", table.bias), *sorted(table.weights.items())]:
        lines.append("\t".join((ngram, *map(str, weights))))
    return "\n".join(lines) + "\n"
