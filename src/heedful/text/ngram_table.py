"""The table of language detection as data: what every character n-gram of a word says for every language.

A linear model: the scores of a text are the sum of its n-grams' rows. benchmarks/language_learning.py makes the table;
text/language_detection.py uses it. Knows no languages and no probabilities.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LONGEST_NGRAM = 5
BOUNDARY = "_"
"""Stands in n-grams for the beginning and the end of a word."""

_LONGEST_WORD = 40
"""Characters of a word that are looked at: more of them would only cost time."""

_MOST_KEPT = 1 << 15
"""Words whose sums are kept: a text repeats its words, and a sum costs more than all else."""

_NATS = 0.04
"""What one step of a weight means: a byte a weight then reaches from -5 to 5 nats."""


@dataclass(frozen=True)
class NgramTable:
    """The weights of n-grams, and where each n-gram's are."""

    languages: tuple[str, ...]
    rows: dict[str, int]
    weights: NDArray[np.int8]
    """[ngrams, languages], in steps of 0.04 nats."""

    bias: NDArray[np.int16]
    """[languages], in the same steps."""

    _kept: dict[str, NDArray[np.int32]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, languages: Sequence[str], ngrams: Sequence[str], weights: NDArray[np.float64]) -> "NgramTable":
        """Round weights in nats, [ngrams + 1, languages], the last row the bias."""
        steps = np.rint(weights / _NATS)
        rows = {ngram: row for row, ngram in enumerate(ngrams)}
        return cls(tuple(languages), rows, np.clip(steps[:-1], -127, 127).astype(np.int8), steps[-1].astype(np.int16))

    def scores(self, words: Iterable[str]) -> NDArray[np.float64]:
        """Return what the n-grams of words say for each language, in nats."""
        sums = self.bias.astype(np.int64)
        for word in words:
            sums += self.steps_of(word)
        return np.asarray(sums * _NATS)

    def nats_of(self, word: str) -> NDArray[np.float64]:
        """Return what one word in small letters says for each language, in nats."""
        return np.asarray(self.steps_of(word) * _NATS)

    def steps_of(self, word: str) -> NDArray[np.int32]:
        """Return the same for one word, in whole steps; words come back, so the last ones are kept."""
        found = self._kept.get(word)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            rows = [self.rows[ngram] for ngram in ngrams_of(word) if ngram in self.rows]
            found = self._kept[word] = self.weights[rows].sum(axis=0, dtype=np.int32)
        return found


def whole_of(word: str) -> str:
    """Return a word as the n-gram it is as a whole."""
    return f"{BOUNDARY}{word[:_LONGEST_WORD]}{BOUNDARY}"


def ngrams_of(word: str) -> list[str]:
    """Return every n-gram of a word and its two boundaries; a longer word is also one as a whole."""
    bounded = whole_of(word)
    ngrams = [
        bounded[start : start + length]
        for length in range(1, LONGEST_NGRAM + 1)
        for start in range(len(bounded) - length + 1)
    ]
    if len(bounded) > LONGEST_NGRAM:
        ngrams.append(bounded)
    return ngrams


def read_table(path: Traversable) -> NgramTable:
    """Read a table that `write_table` has written."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        ngrams = arrays["ngrams"].tobytes().decode("utf-8").split("\n")
        languages = arrays["languages"].tobytes().decode("utf-8").split("\n")
        # Languages stand together in the file: neighbours are more alike, and take half the space when compressed.
        weights = np.ascontiguousarray(arrays["weights"].T)
        rows = {ngram: row for row, ngram in enumerate(ngrams)}
        return NgramTable(tuple(languages), rows, weights, arrays["bias"])


def write_table(path: Path, table: NgramTable) -> None:
    """Write a table as arrays of numbers; text is an array of its bytes."""
    np.savez_compressed(
        path,
        languages=np.frombuffer("\n".join(table.languages).encode(), dtype=np.uint8),
        ngrams=np.frombuffer("\n".join(table.rows).encode(), dtype=np.uint8),
        weights=table.weights.T,
        bias=table.bias,
    )
