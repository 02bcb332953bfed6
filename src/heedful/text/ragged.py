"""Many sequences of ids in one array: how sentences and segmentations lie in memory and in mapped files.

Everything is array arithmetic: gathering a thousand sequences costs a few calls, not a thousand. This file knows
numbers; it knows nothing of what the ids mean.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ragged:
    """Sequences of different lengths; sequence i is `values[starts[i] : starts[i] + lengths[i]]`."""

    values: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        start = self.starts[index]
        return self.values[start : start + self.lengths[index]]

    def gather(self, indices: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the values of these sequences, one after the other, and their lengths."""
        lengths = self.lengths[indices]
        return self.values[self.positions(indices)], lengths

    def positions(self, indices: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return where in `values` the elements of these sequences are, one sequence after the other."""
        lengths = self.lengths[indices]
        ends = np.cumsum(lengths, dtype=np.int64)
        # Counting up all the way, each sequence is shifted from where its copy begins to where it lies.
        shifts = self.starts[indices] - (ends - lengths)
        positions: NDArray[np.int64] = np.arange(ends[-1] if len(ends) else 0) + np.repeat(shifts, lengths)
        return positions


def sums_of_runs(values: NDArray[np.integer], run_lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Sum consecutive runs of values; an empty run sums to 0."""
    totals = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(run_lengths, dtype=np.int64)
    sums: NDArray[np.int64] = totals[ends] - totals[ends - run_lengths]
    return sums


def ragged_from_lengths(values: NDArray[np.int32], lengths: NDArray[np.int32]) -> Ragged:
    """Make sequences of values that lie one after the other."""
    return Ragged(values, np.cumsum(lengths, dtype=np.int64) - lengths, lengths)
