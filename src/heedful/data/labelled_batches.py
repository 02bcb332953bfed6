"""Batches of labelled documents: which are trained on together is a function of the seed and the position.

The order is that of packing.py, with one length in the place of two. Documents too long for the model's way of reading
them are shortened here, and counted. This file knows ids and labels; it knows no text and no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.data.batch import LabelledBatch
from heedful.data.packing import EpochPlan, epoch_plan, padded_length
from heedful.text.ragged import Ragged, ragged_from_lengths


@dataclass(frozen=True)
class LabelledTokens:
    """Documents as ids, one after the other, and the number of each one's label."""

    documents: Ragged
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, numbers: NDArray[np.int64], *, pad_id: int, length: int | None = None) -> LabelledBatch:
        """Pad documents into a batch, to `length` or to the longest of them rounded up."""
        values, lengths = self.documents.gather(numbers)
        width = int(padded_length(lengths).max()) if length is None else length
        padded = np.full((len(numbers), width), pad_id, dtype=np.int64)
        padded[np.arange(width) < lengths[:, None]] = values
        return LabelledBatch(torch.from_numpy(padded), torch.from_numpy(self.labels[numbers]))

    def in_batches(self, *, batch_tokens: int, pad_id: int) -> list[tuple[NDArray[np.int64], LabelledBatch]]:
        """Return all documents in batches of similar length, each with the numbers of its documents."""
        order = np.argsort(self.documents.lengths, kind="stable").astype(np.int64)
        widths = padded_length(self.documents.lengths)
        batches: list[tuple[NDArray[np.int64], LabelledBatch]] = []
        end = len(order)
        while end > 0:  # from the longest on: its width then holds for all of its batch
            start = max(0, end - max(1, batch_tokens // int(widths[order[end - 1]])))
            numbers = order[start:end]
            batches.append((numbers, self.batch(numbers, pad_id=pad_id)))
            end = start
        return batches


def labelled_tokens(documents: Sequence[Sequence[int]], labels: Sequence[int]) -> LabelledTokens:
    """Put the ids of documents into one array."""
    lengths = np.array([len(document) for document in documents], dtype=np.int32)
    values = np.concatenate([np.zeros(0, dtype=np.int32), *(np.array(ids, dtype=np.int32) for ids in documents)])
    return LabelledTokens(ragged_from_lengths(values, lengths), np.array(labels, dtype=np.int64))


def head_and_tail(ids: Sequence[int], *, head: int, tail: int) -> Sequence[int]:
    """Keep the first `head` and the last `tail` ids of a document that has more; otherwise all."""
    return ids if len(ids) <= head + tail else [*ids[:head], *(ids[-tail:] if tail else [])]


class LabelledStream:
    """All batches of a training run, each a pure function of its position."""

    def __init__(self, tokens: LabelledTokens, *, batch_tokens: int, seed: int, pad_id: int) -> None:
        self.tokens = tokens
        self._batch_tokens, self._seed, self._pad_id = batch_tokens, seed, pad_id
        self._plan = lru_cache(maxsize=2)(self._plan_epoch)

    def batch_at(self, position: int, /) -> LabelledBatch:
        """Return the batch at a position, from 0 without end."""
        epoch, index = divmod(position, self.batches_per_epoch)
        planned = self._plan(epoch)[index]
        return self.tokens.batch(planned.example_ids, pad_id=self._pad_id, length=planned.source_len)

    @property
    def batches_per_epoch(self) -> int:
        """How many batches an epoch has; all have the same number."""
        return len(self._plan(0))

    def _plan_epoch(self, epoch: int) -> EpochPlan:
        lengths = self.tokens.documents.lengths
        return epoch_plan(lengths, lengths, batch_tokens=self._batch_tokens, seed=self._seed, epoch=epoch)
