"""Which pairs of words occur together more than once, and a place for each: a hash table in arrays, of bounded size.

Pairs are numbers, source · target vocabulary + target. They are counted block by block; when there are more than the
table may hold, the rarest are forgotten (lossy counting, Manku and Motwani, 2002), so that memory is bounded. To look
up is array arithmetic with linear probing. This file knows numbers; it knows nothing of sentences.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

MOST_PAIRS = 1 << 24
"""Pairs a table may hold: half a gigabyte for both directions of a model."""

_EMPTY = np.int64(-1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

Pairs = NDArray[np.int64]


class PairTable:
    """Pairs, each with a place of its own from 0 to before `size`; what it does not hold has the place `size`."""

    def __init__(self, pairs: Pairs) -> None:
        """Make a table of distinct pairs."""
        bits = max(4, int(2 * len(pairs)).bit_length())
        self.size = 1 << bits
        self._shift = np.uint64(64 - bits)
        self._pairs = np.full(self.size, _EMPTY)
        slots, waiting = self._first_slots(pairs), pairs
        while len(waiting):
            free = self._pairs[slots] == _EMPTY
            self._pairs[slots[free]] = waiting[free]  # of several that want a slot the last one has it
            left = self._pairs[slots] != waiting
            slots, waiting = self._next(slots[left]), waiting[left]

    def places(self, pairs: Pairs) -> NDArray[np.intp]:
        """Return the place of each pair, in an array of the same shape."""
        flat = pairs.ravel()
        slots = self._first_slots(flat)
        held = self._pairs.take(slots)
        open_ = np.flatnonzero((held != flat) & (held != _EMPTY))
        places = np.where(held == flat, slots, self.size)
        slots = slots[open_]
        while len(open_):
            slots = self._next(slots)
            held, wanted = self._pairs.take(slots), flat.take(open_)
            places[open_] = np.where(held == wanted, slots, self.size)
            go_on = (held != wanted) & (held != _EMPTY)
            open_, slots = open_[go_on], slots[go_on]
        return places.reshape(pairs.shape)

    def pairs_at(self, start: int, stop: int) -> Pairs:
        """Return the pairs at a range of places, -1 where there is none."""
        return self._pairs[start:stop]

    def _first_slots(self, pairs: Pairs) -> NDArray[np.intp]:
        return ((pairs.view(np.uint64) * _MULTIPLIER) >> self._shift).view(np.int64)

    def _next(self, slots: NDArray[np.intp]) -> NDArray[np.intp]:
        return (slots + 1) & (self.size - 1)


def count_pairs(blocks: Iterable[Pairs], most: int = MOST_PAIRS) -> PairTable:
    """Make a table of the pairs that occur more than once in all blocks, at most `most` of them."""
    counter = _Counter(most)
    for block in blocks:
        counter.add(block)
    return PairTable(counter.repeated())


class _Counter:
    """Counts of distinct pairs, of which no more than four times `most` are ever held."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pairs, self._counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self._waiting: list[tuple[Pairs, NDArray[np.int32]]] = []
        self._num_waiting = 0
        self._forgotten = 0

    def add(self, block: Pairs) -> None:
        pairs, counts = np.unique(block, return_counts=True)
        self._waiting.append((pairs, counts.astype(np.int32)))
        self._num_waiting += len(pairs)
        if self._num_waiting > max(len(self._pairs), self._most):
            self._merge()

    def repeated(self) -> Pairs:
        self._merge()
        least = 2
        kept = self._counts >= least
        while int(kept.sum()) > self._most:
            least += 1
            kept = self._counts >= least
        return self._pairs[kept]

    def _merge(self) -> None:
        pairs = np.concatenate([self._pairs, *(some for some, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(some for _, some in self._waiting)])
        self._waiting, self._num_waiting = [], 0
        if not len(pairs):
            return
        order = np.argsort(pairs, kind="stable")  # of sorted runs: they are merged
        pairs, counts = pairs[order], counts[order]
        starts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
        self._pairs, self._counts = pairs[starts], np.add.reduceat(counts, starts)
        while len(self._pairs) > 2 * self._most:
            self._forgotten += 1
            kept = self._counts > self._forgotten
            self._pairs, self._counts = self._pairs[kept], self._counts[kept]
