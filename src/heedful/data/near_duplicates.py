"""Texts that are the same, or nearly, as one that was noted before: letters and digits alone, in shingles.

Two texts are near when most of their shingles (five letters in a row) are shared. MinHash (Broder, 1997) finds those
that come into question without comparing all with all: texts that agree in one of twelve groups of four smallest
hashes. What is noted is the small side, what is held out; any number of texts can then be looked up in the same
memory. Random numbers are fixed: the same texts give the same answers. Knows no corpora.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SHINGLE = 5
_BANDS, _ROWS = 12, 4
_SKETCH = 256
"""Shingles kept of a text, the smallest hashes: of a longer text they are a fair sample."""

_LONGEST = 20_000
NEAR = 0.8
"""Share of common shingles (Jaccard) from which texts with the same digits are near; other numbers say other things."""

_FEWEST_SHINGLES = 16
"""Shorter texts are near only if they are the same: "Tom is here" and "Tom was there" are two sentences."""

_PASSAGE = 12
_KNOWN_SHIFT = 40
_LEAST_KNOWN = 0.5
"""Share of a text's passages (twelve letters in a row) that noted texts have to have for it to be looked at closely. A
change of one letter costs five shingles and twelve passages: where 0.8 of the shingles are common, most of the
passages are."""

Hashes = NDArray[np.uint64]
_generator = np.random.default_rng(1997)
_MULTIPLIERS = _generator.integers(1, 1 << 63, _BANDS * _ROWS, dtype=np.uint64) | np.uint64(1)
_ADDENDS = _generator.integers(0, 1 << 63, _BANDS * _ROWS, dtype=np.uint64)
_POWERS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, _PASSAGE + 1)], dtype=np.uint64)


def normalised(text: str) -> str:
    """Return the letters and digits of a text, without case, accents' spelling, spaces and punctuation."""
    folded = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
    return folded if folded.isalnum() else "".join(filter(str.isalnum, folded))


class NearDuplicates:
    """Texts that were noted, each by a number, and which of them another is near to."""

    def __init__(self) -> None:
        self._same: dict[str, int] = {}
        self._sketches: dict[int, Hashes] = {}
        self._digits: dict[int, str] = {}
        self._bands: dict[tuple[int, int], list[int]] = {}
        self._known = np.zeros(1 << (64 - _KNOWN_SHIFT), dtype=bool)
        """Which passages any noted text has, by the first bits of their hashes."""

    def note(self, text: str, number: int) -> None:
        """Remember a text; a text that was there before keeps its number."""
        plain = normalised(text)
        if not plain or plain in self._same:
            return
        self._same[plain] = number
        hashes = _hashes(plain, _PASSAGE)
        self._known[hashes >> np.uint64(_KNOWN_SHIFT)] = True
        sketch = _sketch(plain)
        if len(sketch) >= _FEWEST_SHINGLES:
            self._sketches[number], self._digits[number] = sketch, _digits(plain)
            for band in _bands(sketch):
                self._bands.setdefault(band, []).append(number)

    def find(self, text: str) -> int | None:
        """Return the number of the text that this one is the same as or nearest to, None where none is near."""
        return self._find(normalised(text))

    def find_many(self, texts: Sequence[str]) -> list[int | None]:
        """Do what `find` does for many texts at once.

        A text most of whose passages are in no noted text at all is not looked at closely: it is near to none.
        """
        plain = [normalised(text) for text in texts]
        # All texts as one, so that NumPy is asked once: a text's passages begin at its letters, the last ones apart.
        hashes = _hashes("".join(plain) + "\0" * _PASSAGE, _PASSAGE)
        is_known = self._known[hashes >> np.uint64(_KNOWN_SHIFT)]
        counts = np.concatenate([[0], np.cumsum(is_known)])
        lengths = np.fromiter(map(len, plain), dtype=np.int64, count=len(plain))
        ends = np.cumsum(lengths)
        num_passages = np.maximum(lengths - _PASSAGE + 1, 0)
        starts = ends - lengths
        num_known = counts[starts + num_passages] - counts[starts]
        comes_into_question = (num_known >= _LEAST_KNOWN * num_passages) | (lengths > _SKETCH)
        return [
            self._find(text) if is_candidate else None
            for text, is_candidate in zip(plain, comes_into_question.tolist(), strict=True)
        ]

    def _find(self, plain: str) -> int | None:
        if not self._same or not plain:
            return None
        if (same := self._same.get(plain)) is not None:
            return same
        sketch = _sketch(plain)
        if len(sketch) < _FEWEST_SHINGLES:
            return None
        met = {number for band in _bands(sketch) for number in self._bands.get(band, ())}
        candidates = [number for number in met if self._digits[number] == _digits(plain)]
        nearest = max(candidates, key=lambda one: (_likeness(sketch, self._sketches[one]), -one), default=None)
        return nearest if nearest is not None and _likeness(sketch, self._sketches[nearest]) >= NEAR else None


def _digits(plain: str) -> str:
    return "".join(filter(str.isdigit, plain))


def _hashes(plain: str, length: int) -> Hashes:
    """Return the hash of all letters in a row of some length, in order."""
    letters = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    if len(letters) < length:
        return np.empty(0, dtype=np.uint64)
    hashes = np.zeros(len(letters) - length + 1, dtype=np.uint64)
    for place, power in enumerate(_POWERS[:length]):
        hashes += letters[place : place + len(hashes)] * power
    hashes ^= hashes >> np.uint64(29)
    hashes *= _POWERS[0]
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _sketch(plain: str) -> Hashes:
    """Return the smallest hashes of a text's shingles, in order."""
    return np.unique(_hashes(plain, _SHINGLE))[:_SKETCH]


def _bands(sketch: Hashes) -> list[tuple[int, int]]:
    smallest = (sketch[:, None] * _MULTIPLIERS + _ADDENDS).min(axis=0).reshape(_BANDS, _ROWS)
    return list(enumerate((smallest * _POWERS[:_ROWS]).sum(axis=1, dtype=np.uint64).tolist()))


def _likeness(one: Hashes, other: Hashes) -> float:
    """Return the share of common shingles, of long texts as their sketches tell it."""
    union = np.union1d(one, other)[: max(len(one), len(other))] if _SKETCH in (len(one), len(other)) else None
    common = np.intersect1d(one, other, assume_unique=True)
    if union is None:
        return len(common) / (len(one) + len(other) - len(common))
    return float(np.isin(union, common).mean())
