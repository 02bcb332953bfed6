"""A batch as named tensors: what every kind of batch can do, written once.

A kind of batch is a frozen dataclass whose fields are its columns. Each tensor, and each NumPy array, has one row for
each example; arrays are the host's and are never moved. Whatever else a kind has belongs to the batch as a whole. A new
column is a new field and nothing else. This file knows rows; it knows nothing of what the columns mean.
"""

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Self, TypeVar

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class NamedBatch:
    """Columns by name, all with the same number of rows."""

    @property
    def num_items(self) -> int:
        """What a loss over this batch is averaged over, known to the host: the rows, unless a kind says otherwise."""
        return len(self)

    @property
    def shape(self) -> tuple[torch.Size, ...]:
        """The shapes of all tensors: batches of equal shape run the same kernels."""
        return tuple(tensor.shape for tensor in self._tensors().values())

    def __len__(self) -> int:
        return len(next(iter(self._tensors().values())))

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Self:
        """Return the batch with its tensors on a device."""
        moved = {name: tensor.to(device, non_blocking=non_blocking) for name, tensor in self._tensors().items()}
        return replace(self, **moved)

    def pin_memory(self) -> Self:
        """Return the batch in page-locked memory, from which a copy to the GPU does not block."""
        return replace(self, **{name: tensor.pin_memory() for name, tensor in self._tensors().items()})

    def copy_from(self, other: Self) -> None:
        """Take over the tensors of a batch of the same shape; from page-locked memory the copy does not block.

        What is the host's stays as it was: whoever re-uses tensors reads it from `other`.
        """
        tensors = other._tensors()
        for name, tensor in self._tensors().items():
            tensor.copy_(tensors[name], non_blocking=True)

    def split(self, num_parts: int) -> list[Self]:
        """Cut into at most `num_parts` batches of nearly equal rows; padding stays, so shapes differ in rows only."""
        bounds = np.linspace(0, len(self), min(num_parts, len(self)) + 1).round().astype(int)
        return [self.rows(start, end) for start, end in pairwise(bounds.tolist())]

    def rows(self, start: int, end: int) -> Self:
        """Return the rows from `start` to before `end`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        columns = {name: value for name, value in values.items() if isinstance(value, Tensor | np.ndarray)}
        return replace(self, **{name: column[start:end] for name, column in columns.items()})

    def _tensors(self) -> dict[str, Tensor]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}


BatchT = TypeVar("BatchT", bound=NamedBatch)
