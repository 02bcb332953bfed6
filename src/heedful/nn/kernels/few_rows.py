# ruff: noqa: N803 (what Triton knows at compile time is written in capitals)
"""Linear maps of a few rows on a GPU, with the LayerNorm before them and the sum behind them in one launch.

A step of a few rows reads the weights once, and that takes less time than launching a kernel for every small operation
between the products. So a product normalises what it reads, each program for itself, and adds what it is added to. The
plain products in engines/cuda/products.py say what is computed; tests hold the two equal.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

ACTIVATION_CODES = {None: 0, "relu": 1, "gelu": 2, "swish": 3}
_ROWS = 16
"""Rows a program computes, the fewest that the matrix units take."""

_VERY_FEW = 8
"""Up to so many rows the matrix units are left alone: more programs with fewer columns each read the weights sooner."""


def linear(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    norm: tuple[Tensor, Tensor, float] | None = None,
    activation: str | None = None,
    residual: Tensor | None = None,
    residual_norm: tuple[Tensor, Tensor, float] | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Return residual_norm(residual) + activation(norm(inputs) · weightᵀ + bias), [rows, vocab] or any width.

    inputs [rows, dim], weight [vocab, dim], residual [rows, vocab] with as many columns as the weight has rows; what is
    None is left out.
    """
    rows, depth = inputs.shape
    width = weight.size(0)
    output = inputs.new_empty(rows, width, dtype=dtype or inputs.dtype)
    is_very_few, whole = rows <= _VERY_FEW, triton.next_power_of_2(depth)
    columns = 4 if is_very_few else 16 if width <= 2048 else 64
    tile_rows = triton.next_power_of_2(rows) if is_very_few else _ROWS
    tile_depth = min(1024 if is_very_few else 512, whole)
    nothing = inputs
    _linear[(triton.cdiv(width, columns), triton.cdiv(rows, tile_rows))](
        inputs,
        nothing if norm is None else norm[0],
        nothing if norm is None else norm[1],
        weight,
        nothing if bias is None else bias,
        nothing if residual is None else residual,
        nothing if residual_norm is None else residual_norm[0],
        nothing if residual_norm is None else residual_norm[1],
        output,
        rows,
        width,
        0.0 if norm is None else norm[2],
        0.0 if residual_norm is None else residual_norm[2],
        NORM=norm is not None,
        BIAS=bias is not None,
        ACTIVATION=ACTIVATION_CODES[activation],
        RESIDUAL=residual is not None,
        RESIDUAL_NORM=residual_norm is not None,
        DIM=depth,
        WIDTH=triton.next_power_of_2(width),
        WHOLE=whole,
        DEPTH=tile_depth,
        ROWS=tile_rows,
        COLUMNS=columns,
        VERY_FEW=is_very_few,
        num_warps=8 if tile_depth > 512 else 4,
    )
    return output


@triton.jit
def _moments(at, is_there, epsilon, dim):  # type: ignore[no-untyped-def]
    """Return the mean of every row and one over its deviation."""
    values = tl.load(at, mask=is_there, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=1) / dim
    centred = tl.where(is_there, values - mean[:, None], 0.0)
    return mean, 1.0 / tl.sqrt_rn(tl.sum(centred * centred, axis=1) / dim + epsilon)


@triton.jit(do_not_specialize=["rows"])  # type: ignore[untyped-decorator]
def _linear(  # type: ignore[no-untyped-def]
    inputs,
    norm_weight,
    norm_bias,
    weight,
    bias,
    residual,
    residual_weight,
    residual_bias,
    output,
    rows,
    width,
    epsilon,
    residual_epsilon,
    NORM: tl.constexpr,
    BIAS: tl.constexpr,
    ACTIVATION: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RESIDUAL_NORM: tl.constexpr,
    DIM: tl.constexpr,
    WIDTH: tl.constexpr,
    WHOLE: tl.constexpr,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    VERY_FEW: tl.constexpr,
):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    is_row, is_column = row < rows, column < width
    if NORM:
        whole = tl.arange(0, WHOLE)
        mean, factor = _moments(
            inputs + row[:, None] * DIM + whole[None, :], is_row[:, None] & (whole < DIM)[None, :], epsilon, DIM
        )
    found = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, DIM, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        is_depth = depth < DIM
        x = tl.load(inputs + row[:, None] * DIM + depth[None, :], mask=is_row[:, None] & is_depth[None, :], other=0.0)
        if NORM:
            scale = tl.load(norm_weight + depth, mask=is_depth, other=0.0)[None, :]
            shift = tl.load(norm_bias + depth, mask=is_depth, other=0.0)[None, :]
            x = ((x.to(tl.float32) - mean[:, None]) * factor[:, None] * scale + shift).to(weight.dtype.element_ty)
        at = weight + column[:, None].to(tl.int64) * DIM + depth[None, :]
        w = tl.load(at, mask=is_column[:, None] & is_depth[None, :], other=0.0)
        if VERY_FEW:
            found += tl.sum(x[:, None, :].to(tl.float32) * w[None, :, :].to(tl.float32), axis=2)
        else:
            found += tl.dot(x, tl.trans(w), input_precision="ieee")
    if BIAS:
        found += tl.load(bias + column, mask=is_column, other=0.0).to(tl.float32)[None, :]
    if ACTIVATION == 1:
        found = tl.where(found < 0.0, 0.0, found)  # not `maximum`, which would hide a NaN
    if ACTIVATION == 2:
        found = 0.5 * found * (1.0 + tl.erf(found * 0.7071067811865476))
    if ACTIVATION == 3:
        found = found / (1.0 + tl.exp(-found))
    is_there = is_row[:, None] & is_column[None, :]
    if RESIDUAL:
        added = tl.load(residual + row[:, None] * width + column[None, :], mask=is_there, other=0.0).to(tl.float32)
        if RESIDUAL_NORM:
            across = tl.arange(0, WIDTH)
            middle, spread = _moments(
                residual + row[:, None] * width + across[None, :],
                is_row[:, None] & (across < width)[None, :],
                residual_epsilon,
                width,
            )
            scale = tl.load(residual_weight + column, mask=is_column, other=0.0)[None, :]
            shift = tl.load(residual_bias + column, mask=is_column, other=0.0)[None, :]
            added = (added - middle[:, None]) * spread[:, None] * scale + shift
            added = added.to(residual.dtype.element_ty).to(tl.float32)
        found = found.to(residual.dtype.element_ty).to(tl.float32) + added
    tl.store(
        output + row[:, None].to(tl.int64) * width + column[None, :], found.to(output.dtype.element_ty), mask=is_there
    )
