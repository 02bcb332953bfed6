# ruff: noqa: N803, ARG001 (what Triton knows at compile time is written in capitals; a fake has the real signature)
"""Attention with a score for every distance on a GPU: the shift of relative_attention.py as address arithmetic.

Scores by distance come from one large product and stay as it leaves them: that of key j for query i would stand in
column j + query_len - 1 - i of the query's row, so that the keys of every row would begin at another address, mostly an
odd one, from which a GPU reads number by number. Therefore there are eight tables of distances, each one column further
to the right, and every eighth query has the same: the keys of all rows then begin at multiples of eight, and are read
and written sixteen bytes at a time. Nothing is shifted, masked or copied in memory, no weight is kept, and the tiles of
the future are never visited. The softmax is taken on the way (Dao et al., 2022).
`attend_relative` in relative_attention.py is the readable twin; tests hold the two equal.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional

_PLANES = 8
"""Tables of distances, and numbers in sixteen bytes."""


class Tile(NamedTuple):
    """What one program holds at a time, and how many warps work on it."""

    queries: int
    keys: int
    warps: int


FORWARD, BACKWARD = Tile(64, 64, 4), Tile(64, 64, 4)
"""Fixed, not tuned at run time: another tile sums in another order, and a resumed run must end in the same bits.
`benchmarks/train_text_gpu.py --forward 128,64,8` tries others."""


def fits(query_len: int, key_len: int) -> bool:
    """Say whether whole tiles cover the queries and the keys; the kernels know no others."""
    return query_len % _longest() == 0 and key_len % _longest() == 0


def _longest() -> int:
    """Return the longest side of a tile; all are powers of two, so the others divide it."""
    return max(*FORWARD[:2], *BACKWARD[:2])


def attend_by_distance(
    query: Tensor, position_query: Tensor, key: Tensor, value: Tensor, distance_key: Tensor, is_real: Tensor | None
) -> Tensor:
    """Average the values by the softmax of q · k / √head_dim plus p · r of the distance.

    query and position_query (p) [batch, heads, query_len, head_dim], key and value [batch, heads, key_len, head_dim];
    distance_key (r) [heads, key_len, head_dim] for distances from key_len - 1 down to 0; is_real [batch, key_len] is
    True at keys that exist, None where all do. No query sees a later key. Returns [batch, heads, query_len, head_dim].
    """
    batch, heads, query_len, head_dim = query.shape
    spread = position_query.reshape(batch, heads, query_len // _PLANES, _PLANES, head_dim).permute(1, 3, 0, 2, 4)
    rows = spread.reshape(heads * _PLANES, -1, head_dim)  # query i is in plane i % 8
    width = key.size(2) + _longest() + _PLANES  # tiles reach beyond the last key
    moved = [
        functional.pad(distance_key, (0, 0, places, width - key.size(2) - places))
        for places in [*range(1, _PLANES), 0]  # plane p goes p + 1 places to the right, the last one none
    ]
    tables = torch.stack(moved, dim=1).flatten(0, 1)  # for each head and plane
    scores = torch.bmm(rows, tables.transpose(1, 2)).view(heads, _PLANES, batch, query_len // _PLANES, width)
    if is_real is None:
        is_real = torch.ones(batch, key.size(2), dtype=torch.bool, device=key.device)
    averages: Tensor = _attend(query, key, value, scores.contiguous(), is_real.contiguous())[0]
    return averages.transpose(1, 2)


@torch.library.custom_op("heedful::attend_with_scores", mutates_args=())
def _attend(query: Tensor, key: Tensor, value: Tensor, scores: Tensor, is_real: Tensor) -> tuple[Tensor, Tensor]:
    """Return the averages [batch, query_len, heads, head_dim] and the logarithms of the softmax's denominators."""
    batch, heads, query_len, head_dim = query.shape
    averages = query.new_empty(batch, query_len, heads, head_dim)
    normalizers = query.new_empty(batch, heads, query_len, dtype=torch.float32)
    inputs, outputs = (query, key, value, scores, is_real), (averages, normalizers)
    _forward[(query_len // FORWARD.queries, batch * heads)](
        *inputs, *outputs, *_layout(query, key, value), **_constants(query, key, scores, FORWARD)
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
    grad = grad.contiguous()
    overlap = torch.empty_like(normalizers)  # written by the first kernel, read by the second
    query_grad = query.new_empty(batch, query_len, heads, head_dim)
    key_grad, value_grad = (key.new_empty(batch, key.size(2), heads, head_dim) for _ in range(2))
    scores_grad = torch.empty_like(scores)
    inputs = (query, key, value, scores, is_real, grad, normalizers, overlap)
    places, constants = _layout(query, key, value), _constants(query, key, scores, BACKWARD)
    _backward_queries[(query_len // BACKWARD.queries, batch * heads)](
        *inputs, averages, query_grad, scores_grad, *places, **constants
    )
    _backward_keys[(key.size(2) // BACKWARD.keys, batch * heads)](*inputs, key_grad, value_grad, *places, **constants)
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


def _layout(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    """Return where things are: batch, head and token strides of the three; their features lie side by side."""
    assert query.stride(3) == key.stride(3) == value.stride(3) == 1
    return *query.stride()[:3], *key.stride()[:3], *value.stride()[:3]


def _constants(query: Tensor, key: Tensor, scores: Tensor, tile: Tile) -> dict[str, object]:
    batch, heads, query_len, head_dim = query.shape
    return {
        "batch": batch,
        "heads": heads,
        "query_len": query_len,
        "key_len": key.size(2),
        "width": scores.size(-1),
        "scale": head_dim**-0.5,
        "ROWS": tile.queries,
        "COLUMNS": tile.keys,
        "DIM": head_dim,
        "PLANES": _PLANES,
        "num_warps": tile.warps,
    }


@triton.jit
def _visible(i, j, sentence, is_real, query_len, key_len):  # type: ignore[no-untyped-def]
    """Say which keys of a tile its queries may see: those that exist, up to their own positions."""
    real = tl.load(is_real + sentence * key_len + j)
    return (j[None, :] <= (key_len - query_len + i)[:, None]) & (real != 0)[None, :]


@triton.jit  # type: ignore[untyped-decorator]
def _first_score(i, sentence, head, batch, query_len, width, PLANES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Say in which column, and where at all, the score of key 0 would stand for each query i: multiples of eight."""
    row = ((head * PLANES + i % PLANES) * batch + sentence) * (query_len // PLANES) + i // PLANES
    column = query_len - (i + 1) // PLANES * PLANES
    return column, tl.multiple_of(row * width + column, [PLANES])


@triton.jit
def _clear(grads, first, column, j, width):  # type: ignore[no-untyped-def]
    """Write zeros to the columns of places j, as far as there are such columns."""
    inside = (column[:, None] + j[None, :] >= 0) & (column[:, None] + j[None, :] < width)
    tl.store(grads + (first[:, None] + j[None, :]), 0.0, mask=inside)


@triton.jit
def _scores_of(q, k, j, visible, scores, first, scale):  # type: ignore[no-untyped-def]
    """Compute the scores of a tile, the first of each row's keys being at `first`."""
    by_distance = tl.load(scores + (first[:, None] + j[None, :])).to(tl.float32)
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
    width,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
    PLANES: tl.constexpr,
):
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    i, features = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    _, first = _first_score(i, sentence, head, batch, query_len, width, PLANES)
    at_query = query + sentence * query_batch + head * query_head + i[:, None] * query_token + features[None, :]
    q = tl.load(at_query)
    highest = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    found = tl.zeros([ROWS, DIM], tl.float32)
    end = key_len - query_len + (tl.program_id(0) + 1) * ROWS
    for start in range(0, end, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        at_key = key + sentence * key_batch + head * key_head + j[:, None] * key_token + features[None, :]
        at_value = value + sentence * value_batch + head * value_head + j[:, None] * value_token + features[None, :]
        k = tl.load(at_key)
        v = tl.load(at_value)
        visible = _visible(i, j, sentence, is_real, query_len, key_len)
        tile = _scores_of(q, k, j, visible, scores, first, scale)
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
    tl.store(averages + of_query, found.to(averages.dtype.element_ty))
    at_normalizer = normalizers + (sentence * heads + head) * query_len + i
    tl.store(at_normalizer, tl.where(highest == -float("inf"), 0.0, highest) + tl.log(total))


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
    averages,
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
    width,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
    PLANES: tl.constexpr,
):
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    i, features = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    column, first = _first_score(i, sentence, head, batch, query_len, width, PLANES)
    at_query = query + sentence * query_batch + head * query_head + i[:, None] * query_token + features[None, :]
    of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
    q = tl.load(at_query)
    g = tl.load(grad + of_query)
    of_row = (sentence * heads + head) * query_len + i
    normalizer = tl.load(normalizers + of_row)
    shared = tl.sum(g.to(tl.float32) * tl.load(averages + of_query).to(tl.float32), axis=1)
    tl.store(overlap + of_row, shared)
    gathered = tl.zeros([ROWS, DIM], tl.float32)
    # Distances that no key has: before the first of the keys, where most tiles are whole, and after the last visited.
    places = tl.arange(0, COLUMNS)
    before, end = query_len - tl.program_id(0) * ROWS, key_len - query_len + (tl.program_id(0) + 1) * ROWS
    _clear(scores_grad, first, column, places - before, width)
    for start in range(COLUMNS, before, COLUMNS):
        tl.store(scores_grad + (first[:, None] + (places - before + start)[None, :]), 0.0)
    for start in range(end, end + ROWS + COLUMNS + PLANES, COLUMNS):
        _clear(scores_grad, first, column, places + start, width)
    for start in range(0, end, COLUMNS):
        j = start + places
        at_key = key + sentence * key_batch + head * key_head + j[:, None] * key_token + features[None, :]
        at_value = value + sentence * value_batch + head * value_head + j[:, None] * value_token + features[None, :]
        k = tl.load(at_key)
        v = tl.load(at_value)
        visible = _visible(i, j, sentence, is_real, query_len, key_len)
        tile = _scores_of(q, k, j, visible, scores, first, scale)
        weights = tl.exp(tile - normalizer[:, None])
        wanted = tl.dot(g, tl.trans(v), input_precision="ieee")
        tile_grad = weights * (wanted - shared[:, None])
        tl.store(scores_grad + (first[:, None] + j[None, :]), tile_grad.to(scores_grad.dtype.element_ty))
        gathered += tl.dot(tile_grad.to(k.dtype), k, input_precision="ieee")
    tl.store(query_grad + of_query, (gathered * scale).to(query_grad.dtype.element_ty))


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
    width,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
    PLANES: tl.constexpr,
):
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    j, features = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS), tl.arange(0, DIM)
    at_key = key + sentence * key_batch + head * key_head + j[:, None] * key_token + features[None, :]
    at_value = value + sentence * value_batch + head * value_head + j[:, None] * value_token + features[None, :]
    of_key = ((sentence * key_len + j[:, None]) * heads + head) * DIM + features[None, :]
    k = tl.load(at_key)
    v = tl.load(at_value)
    of_keys = tl.zeros([COLUMNS, DIM], tl.float32)
    of_values = tl.zeros([COLUMNS, DIM], tl.float32)
    # The first query that sees the first of these keys; those before it see none of them.
    begin = tl.maximum(0, tl.program_id(0) * COLUMNS - (key_len - query_len)) // ROWS * ROWS
    for start in range(begin, query_len, ROWS):
        i = start + tl.arange(0, ROWS)
        _, first = _first_score(i, sentence, head, batch, query_len, width, PLANES)
        at_query = query + sentence * query_batch + head * query_head + i[:, None] * query_token + features[None, :]
        of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
        q = tl.load(at_query)
        g = tl.load(grad + of_query)
        of_row = (sentence * heads + head) * query_len + i
        normalizer = tl.load(normalizers + of_row)
        shared = tl.load(overlap + of_row)
        visible = _visible(i, j, sentence, is_real, query_len, key_len)
        tile = _scores_of(q, k, j, visible, scores, first, scale)
        weights = tl.exp(tile - normalizer[:, None])
        of_values += tl.dot(tl.trans(weights).to(g.dtype), g, input_precision="ieee")
        wanted = tl.dot(g, tl.trans(v), input_precision="ieee")
        tile_grad = weights * (wanted - shared[:, None])
        of_keys += tl.dot(tl.trans(tile_grad).to(q.dtype), q, input_precision="ieee")
    tl.store(key_grad + of_key, (of_keys * scale).to(key_grad.dtype.element_ty))
    tl.store(value_grad + of_key, of_values.to(value_grad.dtype.element_ty))
