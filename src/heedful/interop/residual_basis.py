"""Renumbering the features of the residual stream, which changes every weight and no output.

A Transformer does not care in which order the features of its states stand, as long as all who read and write them
agree: LayerNorm treats features alike, and matrices can be permuted. Only the positional table has an order of its own.
So a model trained with interleaved sines and cosines is also a model with all sines first, with other weights.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

_READERS = ("query_key_value", "query", "key_value", "expand")
_WRITERS = ("output", "contract")


def halves_from_interleaved(weights: Mapping[str, Tensor], dim: int) -> dict[str, Tensor]:
    """Re-express weights made for interleaved positions for positions with all sines before all cosines."""
    order = torch.cat([torch.arange(0, dim, 2), torch.arange(1, dim, 2)])
    return {name: _permute(name, tensor, order) for name, tensor in weights.items()}


def _permute(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    *_, module, kind = name.split(".")
    if module in ("embedding", *_READERS) or name == "output_projection.weight":
        # Rows of a table are vectors of the stream, columns of a reader's matrix are what it takes from it.
        permuted = tensor if kind == "bias" else tensor[:, order]
    elif module in ("norm", "final_norm", *_WRITERS):
        permuted = tensor[order]
    else:
        permuted = tensor
    return permuted.contiguous()
