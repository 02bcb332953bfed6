# ruff: noqa: N803, ARG001 (what Triton knows at compile time is written in capitals; a fake has the real signature)
"""Attention between short sequences on a GPU: one program computes a whole head of a sentence, forward and backward.

Kernels made for long sequences cut queries and keys into tiles of 64 to 128; of a tile over a sentence of twelve tokens
most is padding. Here the tile is the sentence, the scores never leave the registers, and the backward pass computes
them again instead of keeping them. Heads are read where the projection left them, so nothing is copied into another
layout. `attend` in attention.py is the reference implementation; tests hold the two equal.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

LONGEST = 64
"""Tokens a program can hold on either side."""

_LENGTHS = ["query_len", "key_len"]
"""Numbers Triton would compile kernels of their own for, those divisible by 16, each in half a second."""


def attend_short(query: Tensor, key: Tensor, value: Tensor, is_real: Tensor | None, *, causal: bool) -> Tensor:
    """Return the averages of `attend`.

    query [batch, heads, query_len, head_dim], key and value [batch, heads, key_len, head_dim], of at most `LONGEST`
    tokens; is_real [batch, key_len] is True at keys that may be seen, None where all are; with `causal`, query i sees
    keys 0 to i only. Returns [batch, heads, query_len, head_dim].
    """
    averages: Tensor = _attend(query, key, value, is_real, causal)  # [batch, query_len, heads, head_dim]
    return averages.transpose(1, 2)


@torch.library.custom_op("heedful::attend_short", mutates_args=())
def _attend(query: Tensor, key: Tensor, value: Tensor, is_real: Tensor | None, causal: bool) -> Tensor:
    batch, heads, query_len, head_dim = query.shape
    averages = query.new_empty(batch, query_len, heads, head_dim)
    _forward[(batch * heads,)](
        query, key, value, is_real, averages, *layout(query, key, value), **_constants(query, key, is_real, causal)
    )
    return averages


@torch.library.custom_op("heedful::attend_short_backward", mutates_args=())
def _attend_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, is_real: Tensor | None, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Take grad [batch, query_len, heads, head_dim]; return the gradients of query, key and value."""
    batch, heads, query_len, head_dim = query.shape
    grad = grad.contiguous()
    query_grad = query.new_empty(batch, query_len, heads, head_dim)
    key_grad, value_grad = (key.new_empty(batch, key.size(2), heads, head_dim) for _ in range(2))
    _backward[(batch * heads,)](
        query,
        key,
        value,
        is_real,
        grad,
        query_grad,
        key_grad,
        value_grad,
        *layout(query, key, value),
        **_constants(query, key, is_real, causal),
    )
    return query_grad, key_grad, value_grad


@_attend.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, is_real: Tensor | None, causal: bool) -> Tensor:
    batch, heads, query_len, head_dim = query.shape
    return query.new_empty(batch, query_len, heads, head_dim)


@_attend_backward.register_fake
def _(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_real: Tensor | None,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    batch, heads, _, head_dim = query.shape
    query_grad, key_grad, value_grad = (
        side.new_empty(batch, side.size(2), heads, head_dim) for side in (query, key, value)
    )
    return query_grad, key_grad, value_grad


def _remember(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    query, key, value, is_real, ctx.causal = inputs
    ctx.save_for_backward(query, key, value, is_real)


def _gradients(ctx, grad):  # type: ignore[no-untyped-def]
    query, key, value, is_real = ctx.saved_tensors
    grads = _attend_backward(grad, query, key, value, is_real, ctx.causal)
    return *(side.transpose(1, 2) for side in grads), None, None


_attend.register_autograd(_gradients, setup_context=_remember)


def layout(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    """Return where things are: batch, head and token strides of the three; their features lie side by side.

    query [batch, heads, query_len, head_dim], key and value [batch, heads, key_len, head_dim].
    """
    assert query.stride(3) == key.stride(3) == value.stride(3) == 1
    return *query.stride()[:3], *key.stride()[:3], *value.stride()[:3]


def _constants(query: Tensor, key: Tensor, is_real: Tensor | None, causal: bool) -> dict[str, object]:
    tile = max(16, triton.next_power_of_2(max(query.size(2), key.size(2))))
    return {
        "heads": query.size(1),
        "query_len": query.size(2),
        "key_len": key.size(2),
        "scale": query.size(3) ** -0.5,
        "HAS_MASK": is_real is not None,
        "CAUSAL": causal,
        "TILE": tile,
        "DIM": query.size(3),
        "num_warps": 4 if tile > 32 else 2,
    }


@triton.jit  # type: ignore[untyped-decorator]
def _weights(  # type: ignore[no-untyped-def]
    q,
    k,
    is_real,
    sentence,
    query_len,
    key_len,
    scale,
    HAS_MASK: tl.constexpr,
    CAUSAL: tl.constexpr,
    TILE: tl.constexpr,
):
    """Compute the softmax over the scores of a head, [TILE, TILE]; a query that may see nothing has weights 0."""
    rows, columns = tl.arange(0, TILE), tl.arange(0, TILE)
    allowed = (rows < query_len)[:, None] & (columns < key_len)[None, :]
    if HAS_MASK:
        real = tl.load(is_real + sentence * key_len + columns, mask=columns < key_len, other=0)
        allowed = allowed & (real != 0)[None, :]
    if CAUSAL:
        allowed = allowed & (columns[None, :] <= rows[:, None])
    scores = tl.where(allowed, tl.dot(q, tl.trans(k), input_precision="ieee") * scale, -float("inf"))
    highest = tl.max(scores, axis=1)
    weights = tl.exp(scores - tl.where(highest == -float("inf"), 0.0, highest)[:, None])
    total = tl.sum(weights, axis=1)
    return weights / tl.where(total == 0.0, 1.0, total)[:, None]


@triton.jit(do_not_specialize=_LENGTHS)  # type: ignore[untyped-decorator]
def _forward(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    is_real,
    averages,
    query_batch,
    query_head,
    query_token,
    key_batch,
    key_head,
    key_token,
    value_batch,
    value_head,
    value_token,
    heads,
    query_len,
    key_len,
    scale,
    HAS_MASK: tl.constexpr,
    CAUSAL: tl.constexpr,
    TILE: tl.constexpr,
    DIM: tl.constexpr,
):
    sentence, head = tl.program_id(0).to(tl.int64) // heads, tl.program_id(0) % heads
    rows, columns = tl.arange(0, TILE), tl.arange(0, TILE)
    features = tl.arange(0, DIM)
    in_query, in_key = (rows < query_len)[:, None], (columns < key_len)[:, None]
    at_query = query + sentence * query_batch + head * query_head + rows[:, None] * query_token + features[None, :]
    at_key = key + sentence * key_batch + head * key_head + columns[:, None] * key_token + features[None, :]
    at_value = value + sentence * value_batch + head * value_head + columns[:, None] * value_token + features[None, :]
    q = tl.load(at_query, mask=in_query, other=0.0)
    k = tl.load(at_key, mask=in_key, other=0.0)
    v = tl.load(at_value, mask=in_key, other=0.0)
    weights = _weights(q, k, is_real, sentence, query_len, key_len, scale, HAS_MASK, CAUSAL, TILE)
    found = tl.dot(weights.to(v.dtype), v, input_precision="ieee")
    at_average = averages + ((sentence * query_len + rows[:, None]) * heads + head) * DIM + features[None, :]
    tl.store(at_average, found.to(averages.dtype.element_ty), mask=in_query)


@triton.jit(do_not_specialize=_LENGTHS)  # type: ignore[untyped-decorator]
def _backward(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    is_real,
    grad,
    query_grad,
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
    heads,
    query_len,
    key_len,
    scale,
    HAS_MASK: tl.constexpr,
    CAUSAL: tl.constexpr,
    TILE: tl.constexpr,
    DIM: tl.constexpr,
):
    sentence, head = tl.program_id(0).to(tl.int64) // heads, tl.program_id(0) % heads
    rows, columns = tl.arange(0, TILE), tl.arange(0, TILE)
    features = tl.arange(0, DIM)
    in_query, in_key = (rows < query_len)[:, None], (columns < key_len)[:, None]
    at_query = query + sentence * query_batch + head * query_head + rows[:, None] * query_token + features[None, :]
    at_key = key + sentence * key_batch + head * key_head + columns[:, None] * key_token + features[None, :]
    at_value = value + sentence * value_batch + head * value_head + columns[:, None] * value_token + features[None, :]
    of_query = ((sentence * query_len + rows[:, None]) * heads + head) * DIM + features[None, :]
    of_key = ((sentence * key_len + columns[:, None]) * heads + head) * DIM + features[None, :]
    q = tl.load(at_query, mask=in_query, other=0.0)
    k = tl.load(at_key, mask=in_key, other=0.0)
    v = tl.load(at_value, mask=in_key, other=0.0)
    g = tl.load(grad + of_query, mask=in_query, other=0.0)
    weights = _weights(q, k, is_real, sentence, query_len, key_len, scale, HAS_MASK, CAUSAL, TILE)
    grad_v = tl.dot(tl.trans(weights).to(g.dtype), g, input_precision="ieee")
    tl.store(value_grad + of_key, grad_v.to(value_grad.dtype.element_ty), mask=in_key)
    grad_weights = tl.dot(g, tl.trans(v), input_precision="ieee")
    grad_scores = weights * (grad_weights - tl.sum(weights * grad_weights, axis=1)[:, None]) * scale
    grad_scores = grad_scores.to(q.dtype)
    tl.store(query_grad + of_query, tl.dot(grad_scores, k, input_precision="ieee").to(q.dtype), mask=in_query)
    tl.store(key_grad + of_key, tl.dot(tl.trans(grad_scores), q, input_precision="ieee").to(q.dtype), mask=in_key)
