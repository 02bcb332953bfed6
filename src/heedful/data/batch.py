"""The batches of the three tasks: padded pairs with the target shifted right, documents with labels, segments of texts.

What all of them can do is named_batch.py's. This file knows tensors and padding (section 3.1 of the paper); it knows
nothing of where sentences come from or how they are grouped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from heedful.data.named_batch import NamedBatch

Ids = Sequence[int] | npt.NDArray[np.integer]
Joined = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]
"""The ids of many sentences, one after the other, and their lengths."""


@dataclass(frozen=True)
class Batch(NamedBatch):
    """Sentence pairs as tensors of ids, padded at the end.

    source_ids [batch, source_len]; target_input_ids [batch, target_len], which begins with the start symbol;
    target_output_ids [batch, target_len], which ends with the end symbol: what the decoder reads and should write.
    """

    source_ids: Tensor
    target_input_ids: Tensor
    target_output_ids: Tensor
    target_lengths: npt.NDArray[np.integer]
    """Real tokens of each target, [batch]."""

    example_ids: npt.NDArray[np.int64]
    """Which examples these are, [batch]."""

    pad_id: int

    @property
    def num_items(self) -> int:
        """Real target tokens."""
        return int(self.target_lengths.sum())

    @property
    def source_mask(self) -> Tensor:
        """True where a source token is real, [batch, source_len]."""
        return self.source_ids != self.pad_id

    @property
    def target_mask(self) -> Tensor:
        """True where a target token is real, [batch, target_len]."""
        return self.target_output_ids != self.pad_id


@dataclass(frozen=True)
class FertilityBatch(Batch):
    """Sentence pairs with how many target tokens each source token stands for, fertilities [batch, source_len]."""

    fertilities: Tensor


@dataclass(frozen=True)
class LabelledBatch(NamedBatch):
    """Documents as ids padded at the end, token_ids [batch, length], and the numbers of their labels [batch]."""

    token_ids: Tensor
    labels: Tensor


@dataclass(frozen=True)
class SegmentBatch(NamedBatch):
    """The next segment of several texts: input_ids [batch, length] and target_ids [batch, length], one symbol later.

    fresh [batch] is True where a text begins anew, so that nothing that was read before belongs to it.
    """

    input_ids: Tensor
    target_ids: Tensor
    fresh: Tensor
    first_row: int = 0
    """Which of the texts side by side the first row is, when a batch was cut."""

    @property
    def num_items(self) -> int:
        """Symbols to be predicted: all of them."""
        return self.target_ids.numel()

    def rows(self, start: int, end: int) -> Self:
        """Return the rows from `start` to before `end`, which know whose texts they are."""
        return replace(super().rows(start, end), first_row=self.first_row + start)


def collate(
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    *,
    bos_id: int,
    pad_id: int,
    source_len: int | None = None,
    target_len: int | None = None,
    example_ids: npt.NDArray[np.int64] | None = None,
) -> Batch:
    """Pad sentences into a batch. Lengths that are not given are those of the longest sentence.

    Targets end with the end symbol and have no start symbol: it is put before them here.
    """
    return assemble(
        _joined(sources),
        _joined(targets),
        bos_id=bos_id,
        pad_id=pad_id,
        source_len=source_len,
        target_len=target_len,
        example_ids=np.arange(len(sources), dtype=np.int64) if example_ids is None else example_ids,
    )


def assemble(
    sources: Joined,
    targets: Joined,
    *,
    bos_id: int,
    pad_id: int,
    source_len: int | None,
    target_len: int | None,
    example_ids: npt.NDArray[np.int64],
) -> Batch:
    """Do what `collate` does for sentences that lie one after the other in one array, without a loop over rows."""
    source_ids = _pad(sources, pad_id, source_len)
    target_output_ids = _pad(targets, pad_id, target_len)
    target_input_ids = np.roll(target_output_ids, 1, axis=1)
    target_input_ids[:, 0] = bos_id
    # One past the end of each sentence stands the end symbol, which is written but never read.
    target_input_ids[target_output_ids == pad_id] = pad_id
    return Batch(
        source_ids=torch.from_numpy(source_ids),
        target_input_ids=torch.from_numpy(target_input_ids),
        target_output_ids=torch.from_numpy(target_output_ids),
        target_lengths=targets[1],
        example_ids=example_ids,
        pad_id=pad_id,
    )


def _joined(sentences: Sequence[Ids]) -> Joined:
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    return np.concatenate([np.asarray(sentence, dtype=np.int64) for sentence in sentences]), lengths


def _pad(sentences: Joined, pad_id: int, length: int | None) -> npt.NDArray[np.int64]:
    values, lengths = sentences
    padded = np.full((len(lengths), max(int(lengths.max()), length or 1)), pad_id, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = values
    return padded
