"""Attention of the newest position alone, said plainly: what the kernels of nn/kernels/decoding_attention.py compute.

Shapes are fixed: all positions that there is room for are looked at, and those that nobody has written are hidden.
"""

import torch
from torch import Tensor

from heedful.nn.attention import attend, split_heads


def attend_to_past(projected: Tensor, past: Tensor, holders: Tensor, steps: Tensor, num_heads: int) -> Tensor:
    """Remember the newest keys and values and let the newest queries look at all up to them.

    projected [rows, 3 * dim] holds queries, keys and values; past [2, rows, target_len, dim]; holders int32
    [rows, target_len]: which row holds a position's key and value; steps int64 [batch] says where the rows of each
    sentence stand. Returns [rows, dim].
    """
    if projected.is_cuda:
        from heedful.nn.kernels import decoding_attention

        return decoding_attention.attend_to_past(projected, past, holders, steps, num_heads)
    rows, max_len = holders.shape
    query, key, value = projected.chunk(3, dim=-1)
    row, place = torch.arange(rows), torch.arange(max_len)
    step = steps.repeat_interleave(rows // len(steps))  # [rows]
    past[0, row, step], past[1, row, step] = key, value
    holder = torch.where(place == step[:, None], row[:, None], holders.long())  # [rows, target_len]
    keys, values = past[:, holder, place]  # [rows, target_len, dim]
    return _attend(query, keys, values, place <= step[:, None], num_heads)


def attend_to_source(query: Tensor, memory: Tensor, is_real: Tensor, ends: Tensor, num_heads: int) -> Tensor:
    """Let query [rows, dim] look at its sentence: memory [2, batch, source_len, dim], is_real [batch, source_len].

    ends int64 [batch] says behind which position nothing is real. Returns [rows, dim].
    """
    if query.is_cuda:
        from heedful.nn.kernels import decoding_attention

        return decoding_attention.attend_to_source(query, memory, is_real, ends, num_heads)
    beam = len(query) // len(is_real)
    keys, values = memory.repeat_interleave(beam, dim=1)
    return _attend(query, keys, values, is_real.repeat_interleave(beam, dim=0), num_heads)


def _attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, num_heads: int) -> Tensor:
    """Average values for one query a row; query [rows, dim], the others [rows, key_len, dim], mask [rows, key_len]."""
    query, keys, values = (split_heads(part, num_heads) for part in (query.unsqueeze(1), keys, values))
    averages, _ = attend(query, keys, values, mask[:, None, None, :])
    return averages.flatten(1)
