"""Quantized weights: signed bytes, a quarter of their size, one scale for each row of a matrix (|w| ≤ 127 · scale).

A folder that holds its weights so needs no rounding when it is loaded: the int8 engine takes the bytes as they are.
Everyone else (fp32, a GPU, fine-tuning, an export) reads `QuantizedWeights` as the mapping from names to floats that it
also is. Vectors, such as biases and LayerNorms, and trained positions stay in fp32. Knows tensors; knows no model.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

SCALES = ".scales"  # the scales of the matrix NAME are stored as NAME.scales


def quantize_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Round a matrix [vocab, dim], or any other, to bytes; returns int8 of its shape and the rows' scales [vocab]."""
    matrix = matrix.detach().float().cpu()
    scales = matrix.abs().amax(dim=1) / 127
    steps = matrix / scales.clamp_min(torch.finfo(torch.float32).tiny).unsqueeze(1)
    return steps.round().clamp(-127, 127).to(torch.int8).contiguous(), scales.contiguous()


class QuantizedWeights(Mapping[str, Tensor]):
    """The parameters of a model by name, its matrices quantized to bytes; what is looked up comes as floats."""

    def __init__(self, stored: Mapping[str, Tensor]) -> None:
        """Take tensors as they are stored: bytes and their scales for a matrix, fp32 for all else."""
        self.stored = dict(stored)

    @classmethod
    def of(cls, weights: Mapping[str, Tensor]) -> "QuantizedWeights":
        """Quantize weights, such as [vocab, dim]; those that are quantized already stay as they are."""
        if isinstance(weights, QuantizedWeights):
            return weights
        stored: dict[str, Tensor] = {}
        for name, tensor in weights.items():
            if is_quantized(name, tensor):
                stored[name], stored[name + SCALES] = quantize_rows(tensor)
            else:
                stored[name] = tensor.float().contiguous()
        return cls(stored)

    def __getitem__(self, name: str) -> Tensor:
        tensor = self.stored[name]
        return tensor * self.stored[name + SCALES].unsqueeze(1) if tensor.dtype == torch.int8 else tensor

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.stored if not name.endswith(SCALES))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def matrix(self, name: str) -> tuple[Tensor, Tensor]:
        """Return the bytes of a matrix, such as [vocab, dim], and the scales of its rows [vocab]."""
        return self.stored[name], self.stored[name + SCALES]

    def vectors(self) -> dict[str, Tensor]:
        """Return what is not quantized, such as the bias [dim] of a layer."""
        return {name: self.stored[name] for name in self if self.stored[name].dtype != torch.int8}

    def find_problem(self) -> str | None:
        """Say which stored tensor is not what it must be, None when all are."""
        for name in self:
            tensor, scales = self.stored[name], self.stored.get(name + SCALES)
            wanted = torch.int8 if is_quantized(name, tensor) else torch.float32
            if tensor.dtype != wanted:
                return f"`{name}` must be {_named(wanted)}, but is {_named(tensor.dtype)}"
            if wanted is torch.int8 and (scales is None or scales.dtype != torch.float32):
                return f"`{name}` must have its scales in float32 beside it, but has none"
            if scales is not None and tuple(scales.shape) != tuple(tensor.shape[:1]):
                return f"`{name}{SCALES}` must have one scale for each row, but has the shape {tuple(scales.shape)}"
        if alone := [name for name in self.stored if name.removesuffix(SCALES) not in self.stored]:
            return f"`{alone[0]}` must have its matrix beside it, but does not"
        return None


def is_quantized(name: str, tensor: Tensor) -> bool:
    """Say whether a weight, such as [vocab, dim], is one that the int8 engine holds in bytes."""
    return tensor.dim() == 2 and "positions" not in name


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
