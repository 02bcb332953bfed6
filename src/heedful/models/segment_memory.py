"""What a language model remembers of a text between two segments of it.

`SegmentMemory` is the memory of training (Dai et al., 2019, section 3.2): what each layer has read of the last
segments, without gradient. Its tensors have fixed shapes from the first segment on, so that a step can be recorded
and a checkpoint can hold it; how much of it is filled is a tensor, too. `KeyValueWindow` is the memory of reading with
fixed weights: there the keys and values themselves can be kept, and no position is projected twice. Neither knows
tokens, positions or a layer's weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from heedful.nn.embedding import OutputProjection


class Reader(Protocol):
    """Reads texts on from where it stands, with the model's memory of all it has read."""

    def read(self, token_ids: Tensor) -> Tensor:
        """Read token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab] in fp32."""


class SegmentModel(Protocol):
    """A language model that is read in segments: what training and adapting, which take gradients, know of it."""

    output_projection: OutputProjection

    def __call__(self, token_ids: Tensor, memory: "SegmentMemory") -> tuple[Tensor, "SegmentMemory"]:
        """Read token_ids [batch, length]; return states [batch, length, dim] and the memory of the next segment."""

    def project(self, hidden: Tensor) -> Tensor:
        """Turn states [batch, length, dim] into logits [batch, length, vocab]."""

    def empty_memory(self, batch: int, memory_len: int) -> "SegmentMemory":
        """Make the memory of texts that begin now."""


@dataclass(frozen=True)
class SegmentMemory:
    """What the layers have read of the newest positions, oldest first."""

    states: Tensor
    """[layers, batch, memory_len, dim], without gradient."""

    filled: Tensor
    """[batch], whole numbers: how many of the newest positions are real; those before them are to be ignored."""

    @classmethod
    def empty(
        cls,
        layers: int,
        batch: int,
        memory_len: int,
        dim: int,
        *,
        device: torch.device | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> "SegmentMemory":
        """Make a memory of nothing, with room for memory_len positions."""
        states = torch.zeros(layers, batch, memory_len, dim, device=device, dtype=dtype)
        return cls(states, torch.zeros(batch, dtype=torch.int64, device=device))

    @property
    def memory_len(self) -> int:
        """Positions there is room for."""
        return self.states.size(2)

    def is_real(self, query_len: int) -> Tensor:
        """Say which keys exist when a segment of query_len follows the memory, [batch, key_len]."""
        age = torch.arange(self.memory_len + query_len, 0, -1, device=self.filled.device)
        return age <= (self.filled + query_len).unsqueeze(1)

    def rows(self, start: int, end: int) -> "SegmentMemory":
        """Return the memory of some texts; it is a view, and what is copied into it is copied into this one."""
        return SegmentMemory(self.states[:, start:end], self.filled[start:end])

    def forgotten_where(self, fresh: Tensor) -> "SegmentMemory":
        """Return the memory without what belongs to another text: fresh [batch] is True where a new one begins."""
        return SegmentMemory(self.states, self.filled.masked_fill(fresh, 0))

    def extended(self, read: Sequence[Tensor]) -> "SegmentMemory":
        """Return the memory after a segment: for each layer what it has read, [batch, query_len, dim]."""
        if not read or not self.memory_len:
            return self
        newest = torch.stack([states.detach()[:, -self.memory_len :].to(self.states.dtype) for states in read])
        kept = self.states[:, :, newest.size(2) :]  # of a segment longer than the memory nothing older stays
        query_len = read[0].size(1)
        return SegmentMemory(torch.cat([kept, newest], dim=2), (self.filled + query_len).clamp(max=self.memory_len))

    def copy_from(self, other: "SegmentMemory") -> None:
        """Take over another memory of the same shape, in place: recorded steps and checkpoints know these tensors.

        What is not finite is taken over as zero, so that one bad step does not spoil all that follow.
        """
        self.states.copy_(torch.nan_to_num(other.states, nan=0.0, posinf=0.0, neginf=0.0))
        self.filled.copy_(other.filled)


class KeyValueWindow:
    """Keys and values of the newest positions of some rows, at most `memory_len` beside those being read.

    They lie in one preallocated tensor and move to its front when it is full, which with a quarter of the memory as
    spare room costs less than the attention that reads them.
    """

    def __init__(
        self,
        *,
        layers: int,
        rows: int,
        heads: int,
        head_dim: int,
        memory_len: int,
        segment_len: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.memory_len = memory_len
        capacity = memory_len + max(segment_len, memory_len // 4)
        self._kept = torch.empty(layers, 2, rows, heads, capacity, head_dim, device=device, dtype=dtype)
        self._end = self._reading = 0

    @property
    def length(self) -> int:
        """Positions that are remembered."""
        return min(self._end, self.memory_len)

    def begin(self, query_len: int) -> None:
        """Make room for a segment of query_len positions, which the layers now bring one after the other."""
        assert query_len <= self._kept.size(4) - self.memory_len, f"{query_len} are too many at once"
        if self._end + query_len > self._kept.size(4):
            length = self.length
            # Source and destination overlap unless the spare room is large: a copy of the source is read.
            self._kept[..., :length, :] = self._kept[..., self._end - length : self._end, :].clone()
            self._end = length
        self._reading = query_len

    def remember(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep one layer's keys and values of the segment, [rows, heads, query_len, head_dim] each.

        Returns those of everything remembered and the segment, [rows, heads, key_len, head_dim] each.
        """
        end = self._end + self._reading
        keys, values = self._kept[layer]
        keys[:, :, self._end : end] = key
        values[:, :, self._end : end] = value
        start = self._end - self.length
        return keys[:, :, start:end], values[:, :, start:end]

    def end(self) -> None:
        """Count the segment as past; called once when all layers have remembered it."""
        self._end += self._reading

    def forget(self) -> None:
        """Begin anew with nothing remembered."""
        self._end = 0
