# ruff: noqa: N803 (what Triton knows at compile time is written in capitals)
"""Attention of the newest position alone, on a GPU: one query a row, keys and values read where they lie.

A row of a beam search goes on from another row at every step. Its past is not copied there: `holders` says for every
position which row holds its key and value, and the kernel reads through it. How far each row has come stands in memory
too, so that one recorded launch serves every step. `attend_to_past` and `attend_to_source` of engines/cuda/attention.py
say what is computed; tests hold them equal.
"""

import triton
import triton.language as tl
from torch import Tensor

_TILE = 32
"""Positions read at a time."""

_NOTHING = tl.constexpr(-1.0e30)
"""Below every score: finite, since infinity minus infinity is no number."""


def attend_to_past(projected: Tensor, past: Tensor, holders: Tensor, steps: Tensor, num_heads: int) -> Tensor:
    """Remember the newest keys and values and let the newest queries look at all up to them.

    projected [rows, 3 * dim] holds queries, keys and values; past [2, rows, target_len, dim]; holders int32
    [rows, target_len]; steps int64 [batch] says where the rows of each sentence stand. Returns [rows, dim].
    """
    _, rows, max_len, dim = past.shape
    averages = projected.new_empty(rows, dim)
    _past[(rows, num_heads)](
        projected,
        past[0],
        past[1],
        holders,
        steps,
        averages,
        rows // len(steps),
        max_len,
        (dim // num_heads) ** -0.5,
        MOVES=rows > len(steps),
        DIM=dim,
        HEAD_DIM=dim // num_heads,
        FEATURES=triton.next_power_of_2(dim // num_heads),
        TILE=_TILE,
        num_warps=2,
    )
    return averages


def attend_to_source(query: Tensor, memory: Tensor, is_real: Tensor, ends: Tensor, num_heads: int) -> Tensor:
    """Let query [rows, dim] look at its sentence: memory [2, batch, source_len, dim], is_real [batch, source_len].

    ends int64 [batch] says behind which position nothing is real. The rows of a sentence are one program, so that its
    keys and values are read once. Returns [rows, dim].
    """
    _, batch, source_len, dim = memory.shape
    averages = query.new_empty(query.shape)
    beam = len(query) // batch
    _source[(batch, num_heads)](
        query,
        memory[0],
        memory[1],
        is_real,
        ends,
        averages,
        beam,
        source_len,
        (dim // num_heads) ** -0.5,
        DIM=dim,
        HEAD_DIM=dim // num_heads,
        FEATURES=max(16, triton.next_power_of_2(dim // num_heads)),
        ROWS=max(16, triton.next_power_of_2(beam)),
        TILE=_TILE,
        num_warps=2,
    )
    return averages


@triton.jit(do_not_specialize=["beam"])  # type: ignore[untyped-decorator]
def _past(  # type: ignore[no-untyped-def]
    projected,
    past_keys,
    past_values,
    holders,
    steps,
    averages,
    beam,
    max_len,
    scale,
    MOVES: tl.constexpr,
    DIM: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    FEATURES: tl.constexpr,
    TILE: tl.constexpr,
):
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    feature = tl.arange(0, FEATURES)
    is_feature = feature < HEAD_DIM
    own = projected + row * 3 * DIM + head * HEAD_DIM + feature
    query = tl.load(own, mask=is_feature, other=0.0).to(tl.float32) * scale
    key = tl.load(own + DIM, mask=is_feature, other=0.0)
    value = tl.load(own + 2 * DIM, mask=is_feature, other=0.0)
    step = tl.load(steps + row // beam).to(tl.int32)
    here = (row * max_len + step) * DIM + head * HEAD_DIM + feature
    tl.store(past_keys + here, key, mask=is_feature)
    tl.store(past_values + here, value, mask=is_feature)
    highest = tl.sum(query * key.to(tl.float32))
    total = 1.0
    average = value.to(tl.float32)
    start = 0
    while start < step:
        place = start + tl.arange(0, TILE)
        is_past = place < step
        if MOVES:
            holder = tl.load(holders + row * max_len + place, mask=is_past, other=0).to(tl.int64)
        else:
            holder = row + tl.zeros([TILE], tl.int64)
        there = ((holder * max_len + place) * DIM + head * HEAD_DIM)[:, None] + feature[None, :]
        is_there = is_past[:, None] & is_feature[None, :]
        keys = tl.load(past_keys + there, mask=is_there, other=0.0).to(tl.float32)
        values = tl.load(past_values + there, mask=is_there, other=0.0).to(tl.float32)
        scores = tl.where(is_past, tl.sum(keys * query[None, :], axis=1), _NOTHING)
        higher = tl.maximum(highest, tl.max(scores, axis=0))
        weights = tl.where(is_past, tl.exp(scores - higher), 0.0)
        shrink = tl.exp(highest - higher)
        total = total * shrink + tl.sum(weights, axis=0)
        average = average * shrink + tl.sum(weights[:, None] * values, axis=0)
        highest = higher
        start += TILE
    at = averages + row * DIM + head * HEAD_DIM + feature
    tl.store(at, (average / total).to(averages.dtype.element_ty), mask=is_feature)


@triton.jit(do_not_specialize=["beam"])  # type: ignore[untyped-decorator]
def _source(  # type: ignore[no-untyped-def]
    queries,
    memory_keys,
    memory_values,
    is_real,
    ends,
    averages,
    beam,
    source_len,
    scale,
    DIM: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
):
    sentence, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    row, feature = tl.arange(0, ROWS), tl.arange(0, FEATURES)
    is_feature = feature < HEAD_DIM
    own = (sentence * beam + row)[:, None] * DIM + head * HEAD_DIM + feature[None, :]
    is_own = (row < beam)[:, None] & is_feature[None, :]
    query = tl.load(queries + own, mask=is_own, other=0.0)
    end = tl.load(ends + sentence).to(tl.int32)
    highest = tl.full([ROWS], _NOTHING, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    average = tl.zeros([ROWS, FEATURES], tl.float32)
    start = 0
    while start < end:
        place = start + tl.arange(0, TILE)
        is_seen = tl.load(is_real + sentence * source_len + place, mask=place < end, other=0).to(tl.int1)
        there = ((sentence * source_len + place) * DIM + head * HEAD_DIM)[:, None] + feature[None, :]
        is_there = is_seen[:, None] & is_feature[None, :]
        keys = tl.load(memory_keys + there, mask=is_there, other=0.0)
        values = tl.load(memory_values + there, mask=is_there, other=0.0)
        scores = tl.dot(query, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where(is_seen[None, :], scores, _NOTHING)
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.where(is_seen[None, :], tl.exp(scores - higher[:, None]), 0.0)
        shrink = tl.exp(highest - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        found = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        average = average * shrink[:, None] + found
        highest = higher
        start += TILE
    average = average / tl.where(total > 0.0, total, 1.0)[:, None]
    tl.store(averages + own, average.to(averages.dtype.element_ty), mask=is_own)
