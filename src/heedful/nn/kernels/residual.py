# ruff: noqa: N803, ARG001 (what Triton knows at compile time is written in capitals; a fake has the real signature)
"""LayerNorm(states + Dropout(update)) on a GPU: every number is read once and written once, forward and backward.

The arithmetic is a few operations per number, so the time is that of moving the bytes; as few as possible are moved.
Neither the sum nor dropout's mask is kept: the backward pass adds the two inputs again and draws the mask again from
the same seed. Of the sums only the mean and the deviation of every row are kept. To draw a mask must be cheap beside
the memory too: one draw of Philox, which is 128 bits, decides over eight numbers. The gradients of weight and bias are
gathered by a fixed number of programs, each over its own rows, and then added up; the order is always the same, and so
are the bits. The plain expression in `PostNormResidual` of layers.py is the reference implementation; tests hold the
two equal.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_PROGRAMS = 132 * 4
"""Programs of the backward pass, four for each processor of an H200. Fixed: another number sums in another order."""

_REGISTERS = 128
"""What a thread of the backward pass may have at most, for four programs to be there at once."""

_TILE = 2048
"""Numbers a program holds at a time of each tensor; as many rows as fit in, of long rows one."""

_LEVELS = 1 << 16
"""Steps in which the rate of dropout is counted: what sixteen random bits can say."""


def add_and_normalize(
    states: Tensor, update: Tensor, weight: Tensor, bias: Tensor, *, epsilon: float, dropout: float
) -> Tensor:
    """Return LayerNorm(states + Dropout(update)), computed in fp32, in the dtype of states.

    states and update [batch, length, dim], each fp32 or bf16; weight and bias [dim] in fp32; `dropout` is the rate,
    from 0 to less than 1. The mask follows torch's generator; at rate 0 nothing is drawn. Returns [batch, length, dim].
    """
    seed = None
    if dropout > 0.0:
        # Within 32 bits, since a compiler may compute it in so many.
        seed = torch.randint(2**31 - 1, (1,), dtype=torch.int64, device=states.device)
    output: Tensor = _normalize_sum(states, update, weight, bias, seed, epsilon, dropout)[0]
    return output


@torch.library.custom_op("heedful::normalize_sum", mutates_args=())
def _normalize_sum(
    states: Tensor, update: Tensor, weight: Tensor, bias: Tensor, seed: Tensor | None, epsilon: float, dropout: float
) -> tuple[Tensor, Tensor]:
    """Return the normalised sum and, [2, rows] in fp32, the mean and one over the deviation of every row."""
    constants = _constants(states.size(-1), dropout)
    rows = states.numel() // states.size(-1)
    output, moments = states.new_empty(states.shape), states.new_empty(2, rows, dtype=torch.float32)
    _forward[(triton.cdiv(rows, constants["ROWS"]),)](
        states.contiguous(), update.contiguous(), weight, bias, seed, output, moments, rows, epsilon, **constants
    )
    return output, moments


@torch.library.custom_op("heedful::normalize_sum_backward", mutates_args=())
def _normalize_sum_backward(
    grad: Tensor, states: Tensor, update: Tensor, weight: Tensor, seed: Tensor | None, moments: Tensor, dropout: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of states and update and, [2, dim] in fp32, those of weight and bias."""
    dim, rows = states.size(-1), moments.size(1)
    constants = _constants(dim, dropout)
    programs = min(_PROGRAMS, triton.cdiv(rows, constants["ROWS"]))
    states_grad, update_grad = states.new_empty(states.shape), update.new_empty(update.shape)
    partial = moments.new_empty(2, programs, dim)
    inputs = (grad.contiguous(), states.contiguous(), update.contiguous(), weight, seed, moments)
    _backward[(programs,)](*inputs, states_grad, update_grad, partial, rows, **constants, maxnreg=_REGISTERS)
    return states_grad, update_grad, partial.sum(dim=1)


@_normalize_sum.register_fake
def _(
    states: Tensor, update: Tensor, weight: Tensor, bias: Tensor, seed: Tensor | None, epsilon: float, dropout: float
) -> tuple[Tensor, Tensor]:
    rows = states.numel() // states.size(-1)
    return states.new_empty(states.shape), states.new_empty(2, rows, dtype=torch.float32)


@_normalize_sum_backward.register_fake
def _(
    grad: Tensor, states: Tensor, update: Tensor, weight: Tensor, seed: Tensor | None, moments: Tensor, dropout: float
) -> tuple[Tensor, Tensor, Tensor]:
    return states.new_empty(states.shape), update.new_empty(update.shape), moments.new_empty(2, states.size(-1))


def _remember(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    states, update, weight, _, seed, _, ctx.dropout = inputs
    ctx.save_for_backward(states, update, weight, seed, output[1])


def _gradients(ctx, grad, _):  # type: ignore[no-untyped-def]
    states_grad, update_grad, affine_grad = _normalize_sum_backward(grad, *ctx.saved_tensors, ctx.dropout)
    return states_grad, update_grad, affine_grad[0], affine_grad[1], None, None, None


_normalize_sum.register_autograd(_gradients, setup_context=_remember)


def _constants(dim: int, dropout: float) -> dict[str, int | float]:
    columns = max(16, triton.next_power_of_2(dim))
    return {
        "threshold": round(dropout * _LEVELS),
        "scale": 1.0 / (1.0 - dropout),
        "DROPS": dropout > 0.0,
        "DIM": dim,
        "ROWS": max(1, _TILE // columns),
        "COLUMNS": columns,
        "num_warps": 8 if columns > _TILE else 4,
    }


@triton.jit  # type: ignore[untyped-decorator]
def _places(start, rows, DIM: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the numbers of a tile's rows, where its numbers stand in memory, and which of them exist."""
    row, column = start + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = row.to(tl.int64)[:, None] * DIM + column[None, :]
    return row, at, (row < rows)[:, None] & (column < DIM)[None, :]


@triton.jit  # type: ignore[untyped-decorator]
def _factors(  # type: ignore[no-untyped-def]
    row, seed, threshold, scale, DROPS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Return by what dropout multiplies the numbers of a tile: 0, or `scale` where sixteen bits reach `threshold`."""
    factors = tl.full([ROWS, COLUMNS], 1.0, tl.float32)
    if DROPS:
        draw = row[:, None] * (COLUMNS // 8) + tl.arange(0, COLUMNS // 8)[None, :]
        # Seven rounds pass every test of randomness that the ten of the default do (Salmon et al., 2011).
        a, b, c, d = tl.randint4x(tl.load(seed), draw, n_rounds=7)
        words = tl.join(tl.join(a, b), tl.join(c, d))
        bits = tl.reshape(tl.join(words & 0xFFFF, words >> 16), [ROWS, COLUMNS])
        factors = tl.where(bits.to(tl.int32) >= threshold, scale, 0.0)
    return factors


@triton.jit(do_not_specialize=["rows", "threshold"])  # type: ignore[untyped-decorator]
def _forward(  # type: ignore[no-untyped-def]
    states,
    update,
    weight,
    bias,
    seed,
    output,
    moments,
    rows,
    epsilon,
    threshold,
    scale,
    DROPS: tl.constexpr,
    DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row, at, inside = _places(tl.program_id(0) * ROWS, rows, DIM, ROWS, COLUMNS)
    x = tl.load(states + at, mask=inside, other=0.0).to(tl.float32)
    u = tl.load(update + at, mask=inside, other=0.0).to(tl.float32)
    column = tl.arange(0, COLUMNS)
    w = tl.load(weight + column, mask=column < DIM, other=0.0).to(tl.float32)
    b = tl.load(bias + column, mask=column < DIM, other=0.0).to(tl.float32)
    z = x + u * _factors(row, seed, threshold, scale, DROPS, ROWS, COLUMNS)
    mean = tl.sum(z, axis=1) / DIM
    centered = tl.where((column < DIM)[None, :], z - mean[:, None], 0.0)
    inverse = tl.rsqrt(tl.sum(centered * centered, axis=1) / DIM + epsilon)
    y = centered * inverse[:, None] * w[None, :] + b[None, :]
    tl.store(output + at, y.to(output.dtype.element_ty), mask=inside)
    tl.store(moments + row, mean, mask=row < rows)
    tl.store(moments + rows + row, inverse, mask=row < rows)


@triton.jit(do_not_specialize=["rows", "threshold"])  # type: ignore[untyped-decorator]
def _backward(  # type: ignore[no-untyped-def]
    grad,
    states,
    update,
    weight,
    seed,
    moments,
    states_grad,
    update_grad,
    partial,
    rows,
    threshold,
    scale,
    DROPS: tl.constexpr,
    DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    column = tl.arange(0, COLUMNS)
    w = tl.load(weight + column, mask=column < DIM, other=0.0).to(tl.float32)
    # Kept apart for every row of the tile: the threads that hold them need not meet until the end.
    of_weight = tl.zeros([ROWS, COLUMNS], tl.float32)
    of_bias = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row, at, inside = _places(start, rows, DIM, ROWS, COLUMNS)
        x = tl.load(states + at, mask=inside, other=0.0).to(tl.float32)
        u = tl.load(update + at, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(grad + at, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(moments + row, mask=row < rows, other=0.0)
        inverse = tl.load(moments + rows + row, mask=row < rows, other=0.0)
        factors = _factors(row, seed, threshold, scale, DROPS, ROWS, COLUMNS)
        normal = (x + u * factors - mean[:, None]) * inverse[:, None]
        of_weight += g * normal
        of_bias += g
        g = g * w[None, :]
        along = tl.sum(g * normal, axis=1) / DIM
        middle = tl.sum(g, axis=1) / DIM
        z_grad = (g - middle[:, None] - normal * along[:, None]) * inverse[:, None]
        tl.store(states_grad + at, z_grad.to(states_grad.dtype.element_ty), mask=inside)
        tl.store(update_grad + at, (z_grad * factors).to(update_grad.dtype.element_ty), mask=inside)
    at = partial + tl.program_id(0) * DIM + column
    tl.store(at, tl.sum(of_weight, axis=0), mask=column < DIM)
    tl.store(at + tl.num_programs(0) * DIM, tl.sum(of_bias, axis=0), mask=column < DIM)
