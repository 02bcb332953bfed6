"""Where the sides of a corpus have come apart by a few lines: which lines, and by how many.

A lost or doubled line in one file shifts all lines behind it. Whether line i belongs to line i + k is judged without a
dictionary: by a lexicon of words that occur together, learned from the corpus itself (the offset at which the sides
tell most about each other is the one it is learned at), by numbers, names and related words that both sides have, and
by length. The most probable course of k through the file is found by dynamic programming (Viterbi, 1967), which may
change its mind anywhere, at a price. Reads pairs, twice; memory does not grow with the corpus. Knows no languages.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from heedful.data.readers import Pair
from heedful.text.words import UNIT

FARTHEST = 3
"""The largest shift that is looked for, in lines."""

_OFFSETS = range(-FARTHEST, FARTHEST + 1)
_STAY = _OFFSETS.index(0)
_FEWEST_LINES = 30
_BLOCK, _MOST_BLOCKS = 500, 40
"""The lexicon is learned from at most so many blocks of so many neighbouring lines, spread evenly over the file."""

_CHUNK = 2048
_MOST_UNITS, _MOST_WORDS = 24, 2000
_PREFIX, _RELATED = 4, 30.0
"""Letters by which a word counts as related, and how many times more often such words stand in translations."""

_BACKGROUND, _TRUST = 0.3, 0.5
"""Share of words that no other explains; the weight of words, which are not independent of one another."""

_LARGEST_STEP = 8.0
_PRICE_OF_CHANGE = 25.0
_LEAST_GAIN, _LEAST_GAIN_OF_A_LINE, _SHORTEST = 50.0, 0.5, 12
"""What a shift must gain, in nats, altogether and in a line, and the lines it must last, to be believed."""

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Shift:
    """Lines, counted from 1, whose translation stands `offset` lines further down, or up where it is negative."""

    first: int
    last: int | None
    """None: to the end."""

    offset: int

    def covers(self, line: int) -> bool:
        """Say whether a line is among them."""
        return self.first <= line and (self.last is None or line <= self.last)


def find_shifts(read: Callable[[], Iterable[Pair]], *, every: int = 1) -> list[Shift]:
    """Return where the target of a line stands on another one; `read` gives the pairs from the beginning.

    With `every` above 1 one block of 500 lines in so many is looked at: a shift is then found to begin with a block.
    """
    evidence = _Evidence.learned_from(_spread_blocks(read()))
    if evidence is None:
        return []
    path = _BestPath()
    looked_at = (pair for number, pair in enumerate(read()) if number // _BLOCK % every == 0)
    for scores in _scores(looked_at, evidence):
        path.add(scores)
    return [
        Shift(_line(shift.first, every), None if shift.last is None else _line(shift.last, every), shift.offset)
        for shift in path.shifts()
    ]


def _line(number: int, every: int) -> int:
    """Return the line of the file that is so many lines into what is looked at, both from 1."""
    block, rest = divmod(number - 1, _BLOCK)
    return block * every * _BLOCK + rest + 1


def _spread_blocks(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Return blocks of neighbouring pairs, evenly spread however long the file is."""
    every, kept, remaining = 1, list[list[Pair]](), iter(pairs)
    for number in range(1 << 62):
        block = list(islice(remaining, _BLOCK))
        if not block:
            break
        if number % every == 0:
            kept.append(block)
        if len(kept) > _MOST_BLOCKS:
            kept, every = kept[::2], 2 * every
    return kept


@dataclass(frozen=True)
class _Side:
    """The units of texts as numbers: those of the lexicon (0: none) and those of what is related (0: nothing)."""

    words: Ids
    """[lines, units]"""

    related: Ids
    lengths: Floats

    @classmethod
    def of(cls, texts: Sequence[str], vocabulary: dict[str, int], *, absent: int) -> "_Side":
        """`absent` marks what is related to nothing; the two sides have different marks."""
        units = [_units(text) for text in texts]
        width = max(1, max(map(len, units), default=1))
        words = np.zeros((len(texts), width), dtype=np.int64)
        related = np.full((len(texts), width), absent, dtype=np.int64)
        for row, found in enumerate(units):
            words[row, : len(found)] = [1 + vocabulary.get(unit, 0) for unit in found]
            related[row, : len(found)] = [_kinship(unit, absent) for unit in found]
        return cls(words, related, np.array([len(text.strip()) for text in texts], dtype=np.float64))

    def rows(self, chosen: Ids) -> "_Side":
        return _Side(self.words[chosen], self.related[chosen], self.lengths[chosen])


def _units(text: str) -> list[str]:
    return UNIT.findall(text[:400].lower())[:_MOST_UNITS]


def _kinship(unit: str, absent: int) -> int:
    if unit.isdecimal():
        return crc32(unit.encode())
    return crc32(unit[:_PREFIX].encode()) if len(unit) >= _PREFIX and unit[0] < "\u0250" else absent


@dataclass(frozen=True)
class _Evidence:
    """What is learned of a corpus before it is judged."""

    source_words: dict[str, int]
    target_words: dict[str, int]
    ratios: NDArray[np.float32]
    """[source words, target words]: how many times more often two words meet than by chance. Rows and columns 0 are of
    no word, 1 of those that are not in the lexicon."""

    log_length_ratio: float
    log_length_deviation: float

    @classmethod
    def learned_from(cls, blocks: Sequence[Sequence[Pair]]) -> "_Evidence | None":
        pairs = list(chain.from_iterable(blocks))
        if len(pairs) < _FEWEST_LINES:
            return None
        source_words = _vocabulary(pair.source for pair in pairs)
        target_words = _vocabulary(pair.target for pair in pairs)
        sources = _Side.of([pair.source for pair in pairs], source_words, absent=-1)
        targets = _Side.of([pair.target for pair in pairs], target_words, absent=-2)
        shape = len(source_words) + 2, len(target_words) + 2
        block_of = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        best, best_told, best_offset = None, -math.inf, 0
        for offset in sorted(_OFFSETS, key=abs):
            rows = np.arange(max(0, -offset), len(pairs) - max(0, offset))
            rows = rows[block_of[rows] == block_of[rows + offset]]
            told, ratios = _associations(sources.words[rows], targets.words[rows + offset], shape)
            if told > 1.02 * best_told:
                best, best_told, best_offset = ratios, told, offset
        assert best is not None
        rows = np.arange(max(0, -best_offset), len(pairs) - max(0, best_offset))
        logs = np.log1p(targets.lengths[rows + best_offset]) - np.log1p(sources.lengths[rows])
        middle = float(np.median(logs))
        deviation = 1.5 * float(np.median(np.abs(logs - middle)))
        return cls(source_words, target_words, best, middle, max(deviation, 0.15))

    def of_pairs(self, sources: _Side, targets: _Side) -> Floats:
        """Return for each row what speaks for its being a pair, in nats."""
        num_units = np.maximum(1, (sources.words > 0).sum(axis=1))
        ratios = self.ratios[sources.words[:, :, None], targets.words[:, None, :]]
        is_related = sources.related[:, :, None] == targets.related[:, None, :]
        explained = np.where(is_related, np.maximum(ratios, _RELATED), ratios).sum(axis=1) / num_units[:, None]
        told = np.log(_BACKGROUND + (1 - _BACKGROUND) * explained) * (targets.words > 0)
        logs = np.log1p(targets.lengths) - np.log1p(sources.lengths) - self.log_length_ratio
        strange = np.minimum(np.square(logs / self.log_length_deviation), 9.0)
        scores = _TRUST * (told.sum(axis=1) - 0.5 * strange)
        return np.where((sources.lengths > 0) & (targets.lengths > 0), scores, 0.0)


def _vocabulary(texts: Iterable[str]) -> dict[str, int]:
    counts = Counter(unit for text in texts for unit in dict.fromkeys(_units(text)))
    return {word: number for number, (word, _) in enumerate(counts.most_common(_MOST_WORDS), start=1)}


def _associations(sources: Ids, targets: Ids, shape: tuple[int, int]) -> tuple[float, NDArray[np.float32]]:
    """Return how much words of one side tell of the other's, and how many times more often than by chance they meet.

    `shape` says how many numbers there are for the words of either side. A meeting is taken off every count: that a
    pair of words has met once tells nothing, and a line must not speak for itself.
    """
    num_sources, num_targets = shape
    together = np.zeros(num_sources * num_targets, dtype=np.float64)
    for start in range(0, len(sources), _CHUNK):
        met = sources[start : start + _CHUNK, :, None] * num_targets + targets[start : start + _CHUNK, None, :]
        together += np.bincount(met.ravel(), minlength=len(together))
    counts = together.reshape(shape)
    counts[0], counts[:, 0] = 0, 0
    total = max(1.0, counts.sum())
    by_chance = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / total
    ratios = np.maximum(counts - 1, 0) / np.maximum(by_chance, 1e-9)
    told = float((counts * np.log(np.maximum(ratios, 1e-9)))[(counts > 1) & (ratios > 0)].sum())
    ratios[1], ratios[:, 1] = 1.0, 1.0  # a word outside the lexicon says nothing
    ratios[0], ratios[:, 0] = 0.0, 0.0
    return told, ratios.astype(np.float32)


def _scores(pairs: Iterable[Pair], evidence: _Evidence) -> Iterator[Floats]:
    """Yield for each line what speaks for each offset, compared with none."""
    before: list[Pair] = []
    remaining = iter(pairs)
    window = list(islice(remaining, _CHUNK + FARTHEST))
    while len(window) > len(before):
        sources = _Side.of([pair.source for pair in window], evidence.source_words, absent=-1)
        targets = _Side.of([pair.target for pair in window], evidence.target_words, absent=-2)
        end = len(before) + _CHUNK
        rows = np.arange(len(before), min(len(window), end))
        table = np.zeros((len(rows), len(_OFFSETS)))
        for column, offset in enumerate(_OFFSETS):
            is_there = (rows + offset >= 0) & (rows + offset < len(window))
            chosen = rows[is_there]
            table[is_there, column] = evidence.of_pairs(sources.rows(chosen), targets.rows(chosen + offset))
        yield from np.clip(table - table[:, [_STAY]], -_LARGEST_STEP, _LARGEST_STEP)
        before = window[max(0, end - FARTHEST) : end]
        window = [*before, *window[end:], *islice(remaining, _CHUNK)]


@dataclass(frozen=True)
class _Stretch:
    """The last stretch of a path: its first line, its offset's place, what the path was worth, what was before."""

    first: int
    column: int
    worth: float
    before: "_Stretch | None"


class _BestPath:
    """The best course of the offset so far for each offset it may end with. Paths share their beginnings."""

    def __init__(self) -> None:
        self._worth = [0.0 if column == _STAY else -_PRICE_OF_CHANGE for column in range(len(_OFFSETS))]
        self._paths = [_Stretch(1, column, 0.0, None) for column in range(len(_OFFSETS))]
        self._num_lines = 0

    def add(self, scores: Floats) -> None:
        """Go on by a line, whose offsets have these scores."""
        worth, steps = self._worth, scores.tolist()
        self._num_lines += 1
        best = max(range(len(worth)), key=worth.__getitem__)
        changed, path = worth[best] - _PRICE_OF_CHANGE, self._paths[best]
        for column, step in enumerate(steps):
            if worth[column] < changed:
                worth[column] = changed
                self._paths[column] = _Stretch(self._num_lines, column, changed, path)
            worth[column] += step

    def shifts(self) -> list[Shift]:
        """Return the stretches of the best path that are shifted and can be believed."""
        best = max(range(len(self._worth)), key=self._worth.__getitem__)
        stretch: _Stretch | None = self._paths[best]
        found, last, worth = list[Shift](), self._num_lines, self._worth[best]
        while stretch is not None:
            num_lines, gain = last - stretch.first + 1, worth - stretch.worth
            is_believed = gain >= max(_LEAST_GAIN, _LEAST_GAIN_OF_A_LINE * num_lines) and num_lines >= _SHORTEST
            if stretch.column != _STAY and is_believed:
                end = None if last == self._num_lines else last
                found.append(Shift(stretch.first, end, _OFFSETS[stretch.column]))
            last, worth = stretch.first - 1, stretch.worth + _PRICE_OF_CHANGE
            stretch = stretch.before
        return found[::-1]
