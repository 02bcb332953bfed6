# ruff: noqa: N803, ARG001 (what Triton knows at compile time is written in capitals; a fake has the real signature)
"""Attention with a score for every distance on a GPU: the shift of relative_attention.py as address arithmetic.

Scores by distance come from one large product, [heads, batch, query_len, key_len], and stay as it leaves them: that of
key j for query i stands in column j + query_len - 1 - i of its row. The kernels read it there, tile by tile, beside the
products of queries and keys, and write its gradient to the same place; nothing is shifted, masked or copied in memory,
no weight is kept, and the tiles of the future are never visited. The softmax is taken on the way (Dao et al., 2022).
`attend_relative` in relative_attention.py is the readable twin; tests hold the two equal.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor


def attend_with_scores(query: Tensor, key: Tensor, value: Tensor, scores: Tensor, is_real: Tensor) -> Tensor:
    """Average the values by the softmax of q · k / √head_dim plus the score of the distance.

    query [batch, heads, query_len, head_dim], key and value [batch, heads, key_len, head_dim]; scores
    [heads, batch, query_len, key_len] by distance, from key_len - 1 down to 0; is_real [batch, key_len] is True at keys
    that exist. No query sees a later key. Returns [batch, heads, query_len, head_dim].
    """
    averages: Tensor = _attend(query, key, value, scores.contiguous(), is_real.contiguous())[0]
    return averages.transpose(1, 2)


@torch.library.custom_op("heedful::attend_with_scores", mutates_args=())
def _attend(query: Tensor, key: Tensor, value: Tensor, scores: Tensor, is_real: Tensor) -> tuple[Tensor, Tensor]:
    """Return the averages [batch, query_len, heads, head_dim] and the logarithms of the softmax's denominators."""
    batch, heads, query_len, head_dim = query.shape
    averages = query.new_empty(batch, query_len, heads, head_dim)
    normalizers = query.new_empty(batch, heads, query_len, dtype=torch.float32)
    _forward[(triton.cdiv(query_len, FORWARD.queries), batch * heads)](
        query,
        key,
        value,
        scores,
        is_real,
        averages,
        normalizers,
        *_layout(query, key, value),
        **_constants(query, key, FORWARD),
    )
    return averages, normalizers


@torch.library.custom_op("heedful::attend_with_scores_backward", mutates_args=())
def _attend_backward(
    grad: Tensor,
    averages: Tensor,
    normalizers: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scores: Tensor,
    is_real: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of query, key and value, with heads after positions, and of the scores."""
    batch, heads, query_len, head_dim = query.shape
    key_len = key.size(2)
    grad = grad.contiguous()
    overlap = (grad.float() * averages.float()).sum(dim=-1)  # [batch, query_len, heads]
    query_grad = query.new_empty(batch, query_len, heads, head_dim)
    key_grad, value_grad = (key.new_empty(batch, key_len, heads, head_dim) for _ in range(2))
    scores_grad = torch.zeros_like(scores)  # distances that no key has stay zero
    places, constants = _layout(query, key, value), _constants(query, key, BACKWARD)
    inputs = (query, key, value, scores, is_real, grad, normalizers, overlap)
    _backward_queries[(triton.cdiv(query_len, BACKWARD.queries), batch * heads)](
        *inputs, query_grad, scores_grad, *places, **constants
    )
    _backward_keys[(triton.cdiv(key_len, BACKWARD.keys), batch * heads)](
        *inputs, key_grad, value_grad, *places, **constants
    )
    return query_grad, key_grad, value_grad, scores_grad


@_attend.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, scores: Tensor, is_real: Tensor) -> tuple[Tensor, Tensor]:
    batch, heads, query_len, head_dim = query.shape
    normalizers = query.new_empty(batch, heads, query_len, dtype=torch.float32)
    return query.new_empty(batch, query_len, heads, head_dim), normalizers


@_attend_backward.register_fake
def _(
    grad: Tensor,
    averages: Tensor,
    normalizers: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scores: Tensor,
    is_real: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    batch, heads, _, head_dim = query.shape
    query_grad, key_grad, value_grad = (
        side.new_empty(batch, side.size(2), heads, head_dim) for side in (query, key, value)
    )
    return query_grad, key_grad, value_grad, torch.empty_like(scores)


def _remember(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    ctx.save_for_backward(*output, *inputs)


def _gradients(ctx, grad, _):  # type: ignore[no-untyped-def]
    averages, normalizers, query, key, value, scores, is_real = ctx.saved_tensors
    *sides, scores_grad = _attend_backward(grad, averages, normalizers, query, key, value, scores, is_real)
    return *(side.transpose(1, 2) for side in sides), scores_grad, None


_attend.register_autograd(_gradients, setup_context=_remember)


class Tile(NamedTuple):
    """What one program holds at a time, and how many warps work on it."""

    queries: int
    keys: int
    warps: int


FORWARD, BACKWARD = Tile(64, 64, 4), Tile(64, 64, 4)
"""Fixed, not tuned at run time: another tile sums in another order, and a resumed run must end in the same bits.
`benchmarks/train_text_gpu.py --forward 128,64,8` tries others."""


def _layout(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    """Return where things are: batch, head and token strides of the three; their features lie side by side."""
    assert query.stride(3) == key.stride(3) == value.stride(3) == 1
    return *query.stride()[:3], *key.stride()[:3], *value.stride()[:3]


def _constants(query: Tensor, key: Tensor, tile: Tile) -> dict[str, object]:
    batch, heads, query_len, head_dim = query.shape
    return {
        "batch": batch,
        "heads": heads,
        "query_len": query_len,
        "key_len": key.size(2),
        "scale": head_dim**-0.5,
        "ROWS": tile.queries,
        "COLUMNS": tile.keys,
        "DIM": head_dim,
        "num_warps": tile.warps,
    }


@triton.jit
def _visible(i, j, sentence, is_real, query_len, key_len):  # type: ignore[no-untyped-def]
    """Say which keys of a tile its queries may see: those that exist, up to their own positions."""
    real = tl.load(is_real + sentence * key_len + j, mask=j < key_len, other=0)
    past = j[None, :] <= (key_len - query_len + i)[:, None]
    return past & (i < query_len)[:, None] & (real != 0)[None, :]


@triton.jit
def _scores_of(  # type: ignore[no-untyped-def]
    q, k, i, j, visible, scores, row, query_len, key_len, scale
):
    """Compute the scores of a tile; row is where the text's scores begin, in queries."""
    at = (row + i)[:, None] * key_len + (j[None, :] + (query_len - 1 - i)[:, None])
    by_distance = tl.load(scores + at, mask=visible, other=0.0).to(tl.float32)
    by_content = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    return tl.where(visible, by_content + by_distance, -float("inf"))


@triton.jit  # type: ignore[untyped-decorator]
def _forward(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    scores,
    is_real,
    averages,
    normalizers,
    query_batch,
    query_head,
    query_token,
    key_batch,
    key_head,
    key_token,
    value_batch,
    value_head,
    value_token,
    batch,
    heads,
    query_len,
    key_len,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
):
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    i, features = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    row = (head * batch + sentence) * query_len
    at_query = query + sentence * query_batch + head * query_head + i[:, None] * query_token + features[None, :]
    q = tl.load(at_query, mask=(i < query_len)[:, None], other=0.0)
    highest = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    found = tl.zeros([ROWS, DIM], tl.float32)
    end = tl.minimum(key_len, key_len - query_len + (tl.program_id(0) + 1) * ROWS)
    for start in range(0, end, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        inside = (j < key_len)[:, None]
        at_key = key + sentence * key_batch + head * key_head + j[:, None] * key_token + features[None, :]
        at_value = value + sentence * value_batch + head * value_head + j[:, None] * value_token + features[None, :]
        k = tl.load(at_key, mask=inside, other=0.0)
        v = tl.load(at_value, mask=inside, other=0.0)
        visible = _visible(i, j, sentence, is_real, query_len, key_len)
        tile = _scores_of(q, k, i, j, visible, scores, row, query_len, key_len, scale)
        above = tl.maximum(highest, tl.max(tile, axis=1))
        # Where nothing has been seen yet the highest is -inf, and the difference of two would be no number.
        finite = tl.where(above == -float("inf"), 0.0, above)
        weights = tl.exp(tile - finite[:, None])
        shrink = tl.exp(highest - finite)
        total = total * shrink + tl.sum(weights, axis=1)
        found = found * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        highest = above
    total = tl.where(total == 0.0, 1.0, total)
    of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
    found = found / total[:, None]
    tl.store(averages + of_query, found.to(averages.dtype.element_ty), mask=(i < query_len)[:, None])
    at_normalizer = normalizers + (sentence * heads + head) * query_len + i
    tl.store(at_normalizer, tl.where(highest == -float("inf"), 0.0, highest) + tl.log(total), mask=i < query_len)


@triton.jit  # type: ignore[untyped-decorator]
def _backward_queries(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    scores,
    is_real,
    grad,
    normalizers,
    overlap,
    query_grad,
    scores_grad,
    query_batch,
    query_head,
    query_token,
    key_batch,
    key_head,
    key_token,
    value_batch,
    value_head,
    value_token,
    batch,
    heads,
    query_len,
    key_len,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
):
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    i, features = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    row, in_query = (head * batch + sentence) * query_len, (i < query_len)[:, None]
    at_query = query + sentence * query_batch + head * query_head + i[:, None] * query_token + features[None, :]
    of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
    q = tl.load(at_query, mask=in_query, other=0.0)
    g = tl.load(grad + of_query, mask=in_query, other=0.0)
    normalizer = tl.load(normalizers + (sentence * heads + head) * query_len + i, mask=i < query_len, other=0.0)
    shared = tl.load(overlap + (sentence * query_len + i) * heads + head, mask=i < query_len, other=0.0)
    gathered = tl.zeros([ROWS, DIM], tl.float32)
    end = tl.minimum(key_len, key_len - query_len + (tl.program_id(0) + 1) * ROWS)
    for start in range(0, end, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        inside = (j < key_len)[:, None]
        at_key = key + sentence * key_batch + head * key_head + j[:, None] * key_token + features[None, :]
        at_value = value + sentence * value_batch + head * value_head + j[:, None] * value_token + features[None, :]
        k = tl.load(at_key, mask=inside, other=0.0)
        v = tl.load(at_value, mask=inside, other=0.0)
        visible = _visible(i, j, sentence, is_real, query_len, key_len)
        tile = _scores_of(q, k, i, j, visible, scores, row, query_len, key_len, scale)
        weights = tl.exp(tile - normalizer[:, None])
        wanted = tl.dot(g, tl.trans(v), input_precision="ieee")
        tile_grad = weights * (wanted - shared[:, None])
        at = (row + i)[:, None] * key_len + (j[None, :] + (query_len - 1 - i)[:, None])
        tl.store(scores_grad + at, tile_grad.to(scores_grad.dtype.element_ty), mask=visible)
        gathered += tl.dot(tile_grad.to(k.dtype), k, input_precision="ieee")
    tl.store(query_grad + of_query, (gathered * scale).to(query_grad.dtype.element_ty), mask=in_query)


@triton.jit  # type: ignore[untyped-decorator]
def _backward_keys(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    scores,
    is_real,
    grad,
    normalizers,
    overlap,
    key_grad,
    value_grad,
    query_batch,
    query_head,
    query_token,
    key_batch,
    key_head,
    key_token,
    value_batch,
    value_head,
    value_token,
    batch,
    heads,
    query_len,
    key_len,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
):
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    j, features = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS), tl.arange(0, DIM)
    row, in_key = (head * batch + sentence) * query_len, (j < key_len)[:, None]
    at_key = key + sentence * key_batch + head * key_head + j[:, None] * key_token + features[None, :]
    at_value = value + sentence * value_batch + head * value_head + j[:, None] * value_token + features[None, :]
    of_key = ((sentence * key_len + j[:, None]) * heads + head) * DIM + features[None, :]
    k = tl.load(at_key, mask=in_key, other=0.0)
    v = tl.load(at_value, mask=in_key, other=0.0)
    of_keys = tl.zeros([COLUMNS, DIM], tl.float32)
    of_values = tl.zeros([COLUMNS, DIM], tl.float32)
    # The first query that sees the first of these keys; those before it see none of them.
    first = tl.maximum(0, tl.program_id(0) * COLUMNS - (key_len - query_len)) // ROWS * ROWS
    for start in range(first, query_len, ROWS):
        i = start + tl.arange(0, ROWS)
        in_query = (i < query_len)[:, None]
        at_query = query + sentence * query_batch + head * query_head + i[:, None] * query_token + features[None, :]
        of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
        q = tl.load(at_query, mask=in_query, other=0.0)
        g = tl.load(grad + of_query, mask=in_query, other=0.0)
        normalizer = tl.load(normalizers + (sentence * heads + head) * query_len + i, mask=i < query_len, other=0.0)
        shared = tl.load(overlap + (sentence * query_len + i) * heads + head, mask=i < query_len, other=0.0)
        visible = _visible(i, j, sentence, is_real, query_len, key_len)
        tile = _scores_of(q, k, i, j, visible, scores, row, query_len, key_len, scale)
        weights = tl.exp(tile - normalizer[:, None])
        of_values += tl.dot(tl.trans(weights).to(g.dtype), g, input_precision="ieee")
        wanted = tl.dot(g, tl.trans(v), input_precision="ieee")
        tile_grad = weights * (wanted - shared[:, None])
        of_keys += tl.dot(tl.trans(tile_grad).to(q.dtype), q, input_precision="ieee")
    tl.store(key_grad + of_key, (of_keys * scale).to(key_grad.dtype.element_ty), mask=in_key)
    tl.store(value_grad + of_key, of_values.to(value_grad.dtype.element_ty), mask=in_key)
