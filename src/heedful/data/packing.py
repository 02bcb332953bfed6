"""Which pairs are trained on together, and in which order (section 5.1 of the paper: similar lengths, a token budget).

Lengths are rounded up to a small fixed set, so that batches have few shapes and compiled code is used again. All
batches have as many rows as the budget allows; what is left of a group of similar lengths goes into the next longer
group, so an epoch has at most one batch that is smaller. Everything here is a pure function of its arguments: the order
of an epoch follows from the lengths, the seed and the number of the epoch. This file knows lengths; it knows neither
tokens nor tensors.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_GRAIN = 2
"""Padded lengths are multiples of this. What a matrix product sees is rows times length, so it need not be more."""

_FINE_UP_TO = 16
"""Beyond this length the steps grow with the length, so that padding is at most about an eighth and shapes stay few."""


@dataclass(frozen=True)
class PlannedBatch:
    """One batch of an epoch: which examples, and the lengths they are padded to."""

    example_ids: NDArray[np.int64]
    source_len: int
    target_len: int


@dataclass(frozen=True)
class EpochPlan:
    """All batches of an epoch, in order."""

    example_ids: NDArray[np.int64]
    """The examples of all batches, one batch after the other."""

    starts: NDArray[np.int64]
    """Where each batch begins in `example_ids`, and the end of the last."""

    shapes: NDArray[np.int64]
    """For each batch, padded source and target length."""

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, index: int) -> PlannedBatch:
        if not 0 <= index < len(self):
            raise IndexError(index)
        source_len, target_len = self.shapes[index].tolist()
        return PlannedBatch(self.example_ids[self.starts[index] : self.starts[index + 1]], source_len, target_len)


def padded_length(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Round lengths up to the fixed set: 2, 4, ... 16, 20, ... 32, 40, ... 64, 80, ... 128, 160, ..."""
    lengths = np.maximum(lengths.astype(np.int64), 1)
    octaves = np.ceil(np.log2(np.maximum(lengths, _FINE_UP_TO) / _FINE_UP_TO)).astype(np.int64)
    steps = _GRAIN * 2**octaves
    padded: NDArray[np.int64] = -(-lengths // steps) * steps
    return padded


def rows_within(batch_tokens: int, length: int) -> int:
    """Return how many rows of a padded length the budget allows; a row that exceeds it alone is still a batch."""
    return max(1, batch_tokens // length)


def repetitions(weights: NDArray[np.floating], seed: int, epoch: int) -> NDArray[np.int64]:
    """Return how often each example occurs in an epoch: the whole part of its weight, and the rest by lot.

    Of n examples with the same weight w, n · frac(w) occur once more, rounded up or down so that many epochs come out
    even. There is always at least one example.
    """
    generator = np.random.default_rng((seed, epoch, 2))
    counts: NDArray[np.int64] = np.floor(weights).astype(np.int64)
    for weight in np.unique(weights):
        same = np.flatnonzero(weights == weight)
        num_more = int(len(same) * (float(weight) % 1) + generator.random())
        counts[generator.permutation(same)[:num_more]] += 1
    if len(counts) and not counts.any():
        counts[generator.integers(len(counts))] = 1
    return counts


def epoch_plan(
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
    weights: NDArray[np.floating] | None = None,
) -> EpochPlan:
    """Arrange all examples into batches and shuffle: examples among those of similar length, and then the batches.

    Padded, neither side of a batch has more than `batch_tokens` tokens. `weights` say how often an example occurs.
    """
    examples = np.arange(len(source_lengths))
    if weights is not None:
        examples = np.repeat(examples, repetitions(weights, seed, epoch))
    shapes, groups = _group(source_lengths[examples], target_lengths[examples])
    generator = np.random.default_rng((seed, epoch, 0))
    shuffled = generator.permutation(len(examples))
    examples = examples[shuffled[np.argsort(groups[shuffled], kind="stable")]]
    batches = list(_layout(shapes, np.bincount(groups, minlength=len(shapes)), batch_tokens))
    order = np.random.default_rng((seed, epoch, 1)).permutation(len(batches))
    return _arrange(examples, [batches[number] for number in order])


def num_batches(source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer], *, batch_tokens: int) -> int:
    """Return how many batches `epoch_plan` makes of these examples: it does not depend on the order."""
    shapes, groups = _group(source_lengths, target_lengths)
    return sum(1 for _ in _layout(shapes, np.bincount(groups, minlength=len(shapes)), batch_tokens))


@dataclass(frozen=True)
class _Slot:
    """One batch as places in the examples sorted by group: whole groups or ends of groups lie side by side."""

    ranges: tuple[tuple[int, int], ...]
    source_len: int
    target_len: int


def _group(
    source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct padded shapes, cheapest first, and the number of the shape of each example."""
    sources, targets = padded_length(source_lengths), padded_length(target_lengths)
    span = int(max(sources.max(initial=0), targets.max(initial=0))) + 1
    keys, groups = np.unique((np.maximum(sources, targets) * span + targets) * span + sources, return_inverse=True)
    return np.stack([keys % span, keys // span % span], axis=1), groups.reshape(-1)


def _layout(shapes: NDArray[np.int64], sizes: NDArray[np.int64], batch_tokens: int) -> Iterator[_Slot]:
    """Cut groups into full batches; what is left of a group is carried into the next, longer one.

    Examples lie in one row, group after group, the cheapest shape first. A budget of 80 tokens holds ten rows of 8 or
    five of 16, so twelve examples of length 8 and four of 16 become

        examples   0 ........ 9 | 10 11 · 12 13 14 | 15
        slots      ten of 8     | five of 16       | one of 16
                                  ↑ carried: padded to 16, as the group they go with
    """
    # Ranges of examples that wait for company, how many they are, and the shape that holds them all. `start` is where
    # the examples begin that no slot has yet, apart from those that are carried.
    carried: list[tuple[int, int]] = []
    num_carried = source_len = target_len = start = 0
    for (source, target), size in zip(shapes.tolist(), sizes.tolist(), strict=True):
        stop = start + size
        wide_source, wide_target = max(source_len, source), max(target_len, target)
        # A batch of what is carried and of this group would be so wide, and therefore have so many rows.
        rows = rows_within(batch_tokens, max(wide_source, wide_target))
        if carried and num_carried >= rows:  # the longer rows leave no room for what was carried: it goes alone
            yield _Slot(tuple(carried), source_len, target_len)
            carried, num_carried = [], 0
        elif carried and num_carried + size >= rows:  # this group fills the batch up, and goes on behind it
            taken = start + rows - num_carried
            yield _Slot((*carried, (start, taken)), wide_source, wide_target)
            carried, num_carried, start = [], 0, taken
        if not carried:  # else even the whole group does not fill the batch: it is carried too
            source_len, target_len = source, target
            rows = rows_within(batch_tokens, max(source, target))
            for first in range(start, stop - rows + 1, rows):
                yield _Slot(((first, first + rows),), source, target)
            start += (stop - start) // rows * rows
        if start < stop:
            carried.append((start, stop))
            num_carried += stop - start
            source_len, target_len = max(source_len, source), max(target_len, target)
        start = stop
    if carried:
        yield _Slot(tuple(carried), source_len, target_len)


def _arrange(examples: NDArray[np.int64], batches: list[_Slot]) -> EpochPlan:
    parts = [examples[start:stop] for batch in batches for start, stop in batch.ranges]
    sizes = [sum(stop - start for start, stop in batch.ranges) for batch in batches]
    return EpochPlan(
        example_ids=np.concatenate([np.zeros(0, dtype=np.int64), *parts]),
        starts=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
        shapes=np.array([(batch.source_len, batch.target_len) for batch in batches], dtype=np.int64).reshape(-1, 2),
    )
