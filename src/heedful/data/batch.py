"""A batch: sentences of similar length as padded tensors, with the target shifted right (section 3.1 of the paper).

This file knows tensors and padding; it knows nothing of where sentences come from or how they are grouped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


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
        return [self._rows(start, end) for start, end in zip(bounds[:-1], bounds[1:], strict=True)]

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
    sources: Sequence[Sequence[int] | npt.NDArray[np.int32]],
    targets: Sequence[Sequence[int] | npt.NDArray[np.int32]],
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
    source_ids = _pad(sources, pad_id, source_len)
    target_output_ids = _pad(targets, pad_id, target_len)
    target_input_ids = np.full_like(target_output_ids, pad_id)
    target_input_ids[:, 0] = bos_id
    for row, target in enumerate(targets):
        target_input_ids[row, 1 : len(target)] = target[:-1]
    return Batch(
        source_ids=torch.from_numpy(source_ids),
        target_input_ids=torch.from_numpy(target_input_ids),
        target_output_ids=torch.from_numpy(target_output_ids),
        num_source_tokens=sum(map(len, sources)),
        num_target_tokens=sum(map(len, targets)),
        example_ids=np.arange(len(sources), dtype=np.int64) if example_ids is None else example_ids,
        pad_id=pad_id,
    )


def _pad(
    sentences: Sequence[Sequence[int] | npt.NDArray[np.int32]], pad_id: int, length: int | None
) -> npt.NDArray[np.int64]:
    longest = max(map(len, sentences))
    padded = np.full((len(sentences), max(longest, length or 1)), pad_id, dtype=np.int64)
    for row, sentence in enumerate(sentences):
        padded[row, : len(sentence)] = sentence
    return padded
