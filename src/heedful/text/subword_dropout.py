"""BPE-dropout (Provilkov et al., 2020): the same word is cut differently at each visit, in training only.

In each step of cutting a word every possible merge is passed over with probability `rate`. Hugging Face's own cannot be
seeded, and cutting anew for each batch is slow; here a table of cuts is made once for every word of a corpus, and a
visit is a look-up. Choice 0 is the plain cut, choices 1 to `NUM_CHOICES` are drawn. This file knows words and ids; it
knows nothing of corpora or batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.text.ragged import Ragged, ragged_from_lengths
from heedful.text.subwords import Merges, Subwords, unmark

NUM_CHOICES = 32
"""Cuts drawn per word: more than most words have different ones, and few enough to be kept."""

_ROW_BUDGET = 2_000_000
"""Symbols worked on at once."""

_NO_MERGE = np.int64(1) << 40
_NO_SYMBOL = -1


@dataclass(frozen=True)
class SegmentationTable:
    """Cuts of words. Entry `word * (NUM_CHOICES + 1) + choice` of `segments` are the ids of one cut of one word."""

    segments: Ragged

    def lengths(self, words: NDArray[np.integer], choices: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return how many ids each word has when cut by its choice."""
        return self.segments.lengths[_entries(words, choices)]

    def segment(self, words: NDArray[np.integer], choices: NDArray[np.integer]) -> NDArray[np.int32]:
        """Cut words, each by its choice, and return the ids of all, one word after the other."""
        return self.segments.gather(_entries(words, choices))[0]


def draw_choices(positions: NDArray[np.integer], *, seed: int, epoch: int, stream: int = 0) -> NDArray[np.int64]:
    """Draw a choice (1 to NUM_CHOICES) for the word at each position of a corpus: a pure function, not a generator.

    `stream` keeps apart what should not be drawn alike, such as the two sides of a corpus.
    """
    key = np.random.SeedSequence((seed, epoch, stream)).generate_state(1, np.uint64)[0]
    # The finaliser of SplitMix64 (Steele et al., 2014): consecutive positions give independent bits.
    mixed = (positions.astype(np.uint64) + key) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    choices: NDArray[np.int64] = (mixed % np.uint64(NUM_CHOICES)).astype(np.int64) + 1
    return choices


def build_table(
    side: Subwords, words: Sequence[str], *, rate: float, seed: int, symbols: Sequence[int] = ()
) -> SegmentationTable:
    """Cut every word in all its ways. Words 0, 1, ... of the table are `symbols`, which are never cut, then `words`."""
    rules = MergeRules(side)
    generator = np.random.default_rng((seed, 0x5EB))
    parts = [_Part.of_symbols(symbols)]
    spelled = [rules.spell(word) for word in words]
    order = sorted(range(len(words)), key=lambda number: len(spelled[number]))
    start = 0
    while start < len(order):
        # Words of like length together: a row is as wide as the longest of them.
        stop = start + 1
        while stop < len(order) and (stop - start + 1) * len(spelled[order[stop]]) * (NUM_CHOICES + 1) <= _ROW_BUDGET:
            stop += 1
        rows = [spelled[number] for number in order[start:stop]]
        parts.append(_Part.of_words(rules, rows, rate, generator))
        start = stop
    by_place = ragged_from_lengths(
        np.concatenate([part.values for part in parts]), np.concatenate([part.lengths for part in parts])
    )
    places = np.empty(len(words), dtype=np.int64)
    places[order] = np.arange(len(words))
    entries = np.concatenate([np.arange(len(symbols)), places + len(symbols)])
    entries = (entries[:, None] * (NUM_CHOICES + 1) + np.arange(NUM_CHOICES + 1)).reshape(-1)
    return SegmentationTable(ragged_from_lengths(*by_place.gather(entries)))


class MergeRules:
    """The merges of a vocabulary as arrays, so that many words are merged at once."""

    def __init__(self, side: Subwords) -> None:
        assert isinstance(side.segmentation, Merges)
        self._side = side
        self._size = len(side)
        ids = side.ids_of_pieces
        pairs = side.segmentation.pairs
        keys = np.array([ids[left] * self._size + ids[right] for left, right in pairs], dtype=np.int64)
        order = np.argsort(keys, kind="stable")
        self._keys = np.append(keys[order], np.iinfo(np.int64).max)
        self._ranks = np.append(order, _NO_MERGE)
        merged = np.array([ids[left + right] for left, right in pairs], dtype=np.int32)
        self.merged = np.append(merged, np.int32(_NO_SYMBOL))

    def spell(self, word: str) -> list[int]:
        """Return the ids of a word's characters, before any merge."""
        side = self._side
        spelled: list[int] = []
        for character in word:
            piece_id = side.ids_of_pieces.get(character)
            if piece_id is not None:
                spelled.append(piece_id)
            elif side.byte_ids:
                spelled.extend(side.byte_ids[byte] for byte in unmark(character))
            else:
                spelled.append(side.unk_id)
        return spelled

    def ranks(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the place of each pair among the merges, a large number where there is no such merge."""
        keys = np.where((left < 0) | (right < 0), -1, left.astype(np.int64) * self._size + right)
        found = np.searchsorted(self._keys, keys)
        ranks: NDArray[np.int64] = np.where(self._keys[found] == keys, self._ranks[found], _NO_MERGE)
        return ranks

    def merge_all(
        self, symbols: NDArray[np.int32], rates: NDArray[np.float32], generator: np.random.Generator
    ) -> NDArray[np.int32]:
        """Merge rows of symbols (padded with -1) to the end: the earliest merge first, each passed over by `rates`.

        Rows are changed in place: a merged symbol stands where its left half stood, and -1 where its right half did.
        """
        # Every row is a linked list within an array: `following` and `preceding` have the column of a symbol's
        # neighbour, since a merge leaves a gap behind it. ranks[row, column] is that of the pair which begins there;
        # only the two pairs beside a merge change, so nothing else is looked up again.
        symbols = symbols.copy()
        num_rows, width = symbols.shape
        following = np.broadcast_to(np.arange(1, width + 1), (num_rows, width)).copy()
        preceding = np.broadcast_to(np.arange(-1, width - 1), (num_rows, width)).copy()
        ranks = np.full((num_rows, width), _NO_MERGE)
        ranks[:, :-1] = self.ranks(symbols[:, :-1], symbols[:, 1:])
        open_rows = np.flatnonzero((ranks < _NO_MERGE).any(axis=1))
        while len(open_rows):  # each time round, one merge in every row that has one left
            candidates = ranks[open_rows]
            if rates.any():
                # Dropout (Provilkov et al., 2020): a pair is passed over this time, and may be merged the next.
                passed = generator.random(candidates.shape, dtype=np.float32) < rates[open_rows, None]
                candidates[passed] = _NO_MERGE
            columns = candidates.argmin(axis=1)
            # A row ends when it has no merge left, or when all that it has were passed over at once.
            goes_on = candidates[np.arange(len(open_rows)), columns] < _NO_MERGE
            open_rows, columns = open_rows[goes_on], columns[goes_on]
            self._merge_at(symbols, following, preceding, ranks, open_rows, columns)
        return symbols

    def _merge_at(
        self,
        symbols: NDArray[np.int32],
        following: NDArray[np.int64],
        preceding: NDArray[np.int64],
        ranks: NDArray[np.int64],
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
    ) -> None:
        """Merge, in each of these rows, the symbol in its column with the one that follows."""
        width = symbols.shape[1]
        gone = following[rows, columns]  # the right half, whose place stays empty
        after = following[rows, gone]
        symbols[rows, columns] = self.merged[ranks[rows, columns]]
        symbols[rows, gone] = _NO_SYMBOL
        ranks[rows, gone] = _NO_MERGE
        following[rows, columns] = after
        has_after = after < width
        preceding[rows[has_after], after[has_after]] = columns[has_after]
        ranks[rows, columns] = _NO_MERGE  # where nothing follows; else the pair with what follows now
        r, c, a = rows[has_after], columns[has_after], after[has_after]
        ranks[r, c] = self.ranks(symbols[r, c], symbols[r, a])
        before = preceding[rows, columns]  # the pair that ends here is another one too
        has_before = before >= 0
        r, c, b = rows[has_before], columns[has_before], before[has_before]
        ranks[r, b] = self.ranks(symbols[r, b], symbols[r, c])


@dataclass(frozen=True)
class _Part:
    """Cuts of some words, one after the other, all choices of a word together."""

    values: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @classmethod
    def of_symbols(cls, symbols: Sequence[int]) -> "_Part":
        values = np.repeat(np.array(symbols, dtype=np.int32), NUM_CHOICES + 1)
        return cls(values, np.ones(len(values), dtype=np.int32))

    @classmethod
    def of_words(
        cls, rules: MergeRules, spelled: Sequence[Sequence[int]], rate: float, generator: np.random.Generator
    ) -> "_Part":
        symbols = np.full((len(spelled), max(map(len, spelled))), _NO_SYMBOL, dtype=np.int32)
        for row, ids in enumerate(spelled):
            symbols[row, : len(ids)] = ids
        rates = np.tile(np.array([0.0] + [rate] * NUM_CHOICES, dtype=np.float32), len(spelled))
        merged = rules.merge_all(np.repeat(symbols, NUM_CHOICES + 1, axis=0), rates, generator)
        kept = merged != _NO_SYMBOL
        return cls(merged[kept], kept.sum(axis=1, dtype=np.int32))


def _entries(words: NDArray[np.integer], choices: NDArray[np.integer]) -> NDArray[np.int64]:
    return words.astype(np.int64) * (NUM_CHOICES + 1) + choices
