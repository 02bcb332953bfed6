"""Which sentences are computed together, and how rows of unequal length become tensors. Knows ids and numbers."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor


def padded(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Return ids and mask, [batch, length] each; the mask is True at real tokens."""
    longest = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(longest) < lengths.unsqueeze(1)


def batches_by_length(lengths: Sequence[int], most_tokens: int) -> Iterator[list[int]]:
    """Yield the numbers of rows to be computed together, longest first, within a budget of padded tokens."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        rows = max(1, most_tokens // max(lengths[order[start]], 1))
        yield order[start : start + rows]
        start += rows
