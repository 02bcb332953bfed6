# ruff: noqa: ARG001 (a fake has the real signature)
"""Attention with a score for every distance on a GPU: the shift of relative_attention.py as address arithmetic.

Scores by distance come from one large product and stay as it leaves them: that of key j for query i would stand in
column j + query_len - 1 - i of the query's row, so that the keys of every row would begin at another address, mostly an
odd one, from which a GPU reads number by number. Therefore there are eight tables of distances, each one column further
to the right, and every eighth query has the same: the keys of all rows then begin at multiples of eight, and are read
and written sixteen bytes at a time. Nothing is shifted, masked or copied in memory, no weight is kept, and the tiles of
the future are never visited. The softmax is taken on the way (Dao et al., 2022).
`attend_relative` in relative_attention.py is the reference implementation; tests hold the two equal.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from heedful.nn.kernels.relative_programs import backward_keys, backward_queries, forward
from heedful.nn.kernels.short_attention import layout

_PLANES = 8
"""Tables of distances, and numbers in sixteen bytes."""


class Tile(NamedTuple):
    """What one program holds at a time, how many warps work on it, and in how many stages it is fetched."""

    queries: int
    keys: int
    warps: int
    stages: int


FORWARD, BACKWARD_QUERIES, BACKWARD_KEYS = Tile(64, 64, 4, 2), Tile(64, 64, 4, 2), Tile(64, 64, 4, 3)
"""Fixed, not tuned at run time: another tile sums in another order, and a resumed run must end in the same bits.
`benchmarks/train_text_gpu.py --forward 128,64,8,3` tries others."""


def fits(query_len: int, key_len: int) -> bool:
    """Say whether whole tiles cover the queries and the keys; the kernels know no others."""
    return query_len % _longest() == 0 and key_len % _longest() == 0


def _longest() -> int:
    """Return the longest side of a tile; all are powers of two, so the others divide it."""
    return max(*FORWARD[:2], *BACKWARD_QUERIES[:2], *BACKWARD_KEYS[:2])


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
    forward[(query_len // FORWARD.queries, batch * heads)](
        *inputs, *outputs, *layout(query, key, value), **_constants(query, key, scores, FORWARD)
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
    places = layout(query, key, value)
    backward_queries[(query_len // BACKWARD_QUERIES.queries, batch * heads)](
        *inputs, averages, query_grad, scores_grad, *places, **_constants(query, key, scores, BACKWARD_QUERIES)
    )
    backward_keys[(key.size(2) // BACKWARD_KEYS.keys, batch * heads)](
        *inputs, key_grad, value_grad, *places, **_constants(query, key, scores, BACKWARD_KEYS)
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
        "num_stages": tile.stages,
    }
