"""A batch: sentences of similar length as padded tensors, with the target shifted right (section 3.1 of the paper).

This file knows tensors and padding; it knows nothing of where sentences come from or how they are grouped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Ids = Sequence[int] | npt.NDArray[np.integer]
Joined = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]
"""The ids of many sentences, one after the other, and their lengths."""


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as tensors of ids, padded at the end.

    source_ids [batch, source_len]; target_input_ids [batch, target_len], which begins with the start symbol;
    target_output_ids [batch, target_len], which ends with the end symbol: what the decoder reads and should write.
    """

    source_ids: Tensor
    target_input_ids: Tensor
    target_output_ids: Tensor
    num_source_tokens: int
    num_target_tokens: int
    example_ids: npt.NDArray[np.int64]
    """Which examples these are, [batch]."""

    pad_id: int

    @property
    def source_mask(self) -> Tensor:
        """True where a source token is real, [batch, source_len]."""
        return self.source_ids != self.pad_id

    @property
    def target_mask(self) -> Tensor:
        """True where a target token is real, [batch, target_len]."""
        return self.target_output_ids != self.pad_id

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, padded source length, padded target length."""
        return len(self), self.source_ids.size(1), self.target_output_ids.size(1)

    def __len__(self) -> int:
        return self.source_ids.size(0)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Return the batch with its tensors on a device."""
        return Batch(
            source_ids=self.source_ids.to(device, non_blocking=non_blocking),
            target_input_ids=self.target_input_ids.to(device, non_blocking=non_blocking),
            target_output_ids=self.target_output_ids.to(device, non_blocking=non_blocking),
            num_source_tokens=self.num_source_tokens,
            num_target_tokens=self.num_target_tokens,
            example_ids=self.example_ids,
            pad_id=self.pad_id,
        )

    def copy_from(self, other: "Batch") -> None:
        """Take over the ids of a batch of the same shape; from page-locked memory the copy does not block.

        The counts of tokens stay: they are the host's, and whoever re-uses tensors reads them from `other`.
        """
        self.source_ids.copy_(other.source_ids, non_blocking=True)
        self.target_input_ids.copy_(other.target_input_ids, non_blocking=True)
        self.target_output_ids.copy_(other.target_output_ids, non_blocking=True)

    def pin_memory(self) -> "Batch":
        """Return the batch in page-locked memory, from which a copy to the GPU does not block."""
        return Batch(
            source_ids=self.source_ids.pin_memory(),
            target_input_ids=self.target_input_ids.pin_memory(),
            target_output_ids=self.target_output_ids.pin_memory(),
            num_source_tokens=self.num_source_tokens,
            num_target_tokens=self.num_target_tokens,
            example_ids=self.example_ids,
            pad_id=self.pad_id,
        )

    def split(self, num_parts: int) -> "list[Batch]":
        """Cut into at most `num_parts` batches of nearly equal rows; padding stays, so shapes differ in rows only."""
        bounds = np.linspace(0, len(self), min(num_parts, len(self)) + 1).round().astype(int)
        return [self._rows(start, end) for start, end in pairwise(bounds.tolist())]

    def _rows(self, start: int, end: int) -> "Batch":
        source_ids, target_output_ids = self.source_ids[start:end], self.target_output_ids[start:end]
        return Batch(
            source_ids=source_ids,
            target_input_ids=self.target_input_ids[start:end],
            target_output_ids=target_output_ids,
            num_source_tokens=int((source_ids != self.pad_id).sum()),
            num_target_tokens=int((target_output_ids != self.pad_id).sum()),
            example_ids=self.example_ids[start:end],
            pad_id=self.pad_id,
        )


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
        num_source_tokens=len(sources[0]),
        num_target_tokens=len(targets[0]),
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
