# ruff: noqa: N803 (what Triton knows at compile time is written in capitals)
"""Loss and gradient of a projection's logits on a GPU: each logit is read twice and written once.

What `projected.py` says with a dozen tensor operations, every one of which would read and write logits that are
hundreds of megabytes, as two kernels in Triton. A program owns one position: a first loop over the vocabulary finds
the sums, a second one overwrites the logits by their gradient. Tests hold the kernels equal to the operations.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 2048
"""Words a program holds at a time."""


def cross_entropy_in_place(logits: Tensor, target_ids: Tensor, mask: Tensor, *, smoothing: float) -> Tensor:
    """Overwrite logits [rows, vocab] by their gradient of the smoothed cross-entropy, summed where mask [rows] is True.

    target_ids [rows]. Returns loss and negative log-likelihood of every row, [2, rows] in fp32.
    """
    rows, vocab = logits.shape
    sums = torch.empty((2, rows), dtype=torch.float32, device=logits.device)
    _cross_entropy[(rows,)](
        logits, target_ids, mask, sums, logits.stride(0), vocab, rows, smoothing, BLOCK=_BLOCK, num_warps=8
    )
    return sums


def agreement_in_place(
    first: Tensor,
    second: Tensor,
    target_ids: Tensor,
    mask: Tensor,
    *,
    smoothing: float,
    weights: tuple[float, float, float, float],
) -> Tensor:
    """Overwrite the logits of two passes, both [rows, vocab], by their gradients of a loss that makes them agree.

    The loss of a row is the sum of the two cross-entropies, KL(first ‖ second) and KL(second ‖ first), so weighted.
    Returns loss, weighted negative log-likelihood and weighted divergences of every row, [3, rows] in fp32.
    """
    rows, vocab = first.shape
    sums = torch.empty((3, rows), dtype=torch.float32, device=first.device)
    _agreement[(rows,)](
        first,
        second,
        target_ids,
        mask,
        sums,
        first.stride(0),
        vocab,
        rows,
        smoothing,
        *weights,
        BLOCK=_BLOCK,
        num_warps=8,
    )
    return sums


@triton.jit(do_not_specialize=["rows"])  # type: ignore[untyped-decorator]
def _cross_entropy(  # type: ignore[no-untyped-def]
    logits,
    targets,
    kept,
    sums,
    stride,
    vocab,
    rows,
    smoothing,
    BLOCK: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    at = logits + row * stride
    target = tl.load(targets + row)
    is_kept = tl.load(kept + row) != 0
    highest, total, plain = -float("inf"), 0.0, 0.0
    for start in range(0, vocab, BLOCK):
        words = start + tl.arange(0, BLOCK)
        inside = words < vocab
        z = tl.load(at + words, mask=inside, other=-float("inf")).to(tl.float32)
        new = tl.maximum(highest, tl.max(z, axis=0))
        total = total * tl.exp(highest - new) + tl.sum(tl.exp(z - new), axis=0)
        plain += tl.sum(tl.where(inside, z, 0.0), axis=0)
        highest = new
    normalizer = highest + tl.log(total)
    nll = normalizer - tl.load(at + target).to(tl.float32)
    loss = (1 - smoothing) * nll + smoothing * (normalizer - plain / vocab)
    tl.store(sums + row, tl.where(is_kept, loss, 0.0))
    tl.store(sums + rows + row, tl.where(is_kept, nll, 0.0))
    for start in range(0, vocab, BLOCK):
        words = start + tl.arange(0, BLOCK)
        inside = words < vocab
        z = tl.load(at + words, mask=inside, other=0.0).to(tl.float32)
        wanted = smoothing / vocab + tl.where(words == target, 1 - smoothing, 0.0)
        gradient = tl.where(is_kept, tl.exp(z - normalizer) - wanted, 0.0)
        tl.store(at + words, gradient.to(logits.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows"])  # type: ignore[untyped-decorator]
def _agreement(  # type: ignore[no-untyped-def]
    first,
    second,
    targets,
    kept,
    sums,
    stride,
    vocab,
    rows,
    smoothing,
    ce_first,
    ce_second,
    kl_first,
    kl_second,
    BLOCK: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    at_first, at_second = first + row * stride, second + row * stride
    target = tl.load(targets + row)
    is_kept = tl.load(kept + row) != 0
    # Running sums of both softmaxes, and under each of them of d = z₁ - z₂, rescaled whenever a higher logit is met.
    high_a, total_a, mean_a, plain_a = -float("inf"), 0.0, 0.0, 0.0
    high_b, total_b, mean_b, plain_b = -float("inf"), 0.0, 0.0, 0.0
    for start in range(0, vocab, BLOCK):
        words = start + tl.arange(0, BLOCK)
        inside = words < vocab
        a = tl.load(at_first + words, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(at_second + words, mask=inside, other=0.0).to(tl.float32)
        difference = a - b
        plain_a += tl.sum(a, axis=0)
        plain_b += tl.sum(b, axis=0)
        new_a = tl.maximum(high_a, tl.max(tl.where(inside, a, -float("inf")), axis=0))
        weight_a = tl.where(inside, tl.exp(a - new_a), 0.0)
        total_a = total_a * tl.exp(high_a - new_a) + tl.sum(weight_a, axis=0)
        mean_a = mean_a * tl.exp(high_a - new_a) + tl.sum(weight_a * difference, axis=0)
        high_a = new_a
        new_b = tl.maximum(high_b, tl.max(tl.where(inside, b, -float("inf")), axis=0))
        weight_b = tl.where(inside, tl.exp(b - new_b), 0.0)
        total_b = total_b * tl.exp(high_b - new_b) + tl.sum(weight_b, axis=0)
        mean_b = mean_b * tl.exp(high_b - new_b) + tl.sum(weight_b * difference, axis=0)
        high_b = new_b
    normalizer_a, normalizer_b = high_a + tl.log(total_a), high_b + tl.log(total_b)
    mean_a, mean_b = mean_a / total_a, mean_b / total_b
    nll_a = normalizer_a - tl.load(at_first + target).to(tl.float32)
    nll_b = normalizer_b - tl.load(at_second + target).to(tl.float32)
    nll = ce_first * nll_a + ce_second * nll_b
    uniform = ce_first * (normalizer_a - plain_a / vocab) + ce_second * (normalizer_b - plain_b / vocab)
    gap = normalizer_a - normalizer_b
    divergence = kl_first * (mean_a - gap) + kl_second * (gap - mean_b)
    loss = (1 - smoothing) * nll + smoothing * uniform + divergence
    tl.store(sums + row, tl.where(is_kept, loss, 0.0))
    tl.store(sums + rows + row, tl.where(is_kept, nll, 0.0))
    tl.store(sums + 2 * rows + row, tl.where(is_kept, divergence, 0.0))
    for start in range(0, vocab, BLOCK):
        words = start + tl.arange(0, BLOCK)
        inside = words < vocab
        a = tl.load(at_first + words, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(at_second + words, mask=inside, other=0.0).to(tl.float32)
        difference = a - b
        p, q = tl.exp(a - normalizer_a), tl.exp(b - normalizer_b)
        wanted = smoothing / vocab + tl.where(words == target, 1 - smoothing, 0.0)
        grad_a = ce_first * (p - wanted) + kl_first * p * (difference - mean_a) + kl_second * (p - q)
        grad_b = ce_second * (q - wanted) + kl_first * (q - p) - kl_second * q * (difference - mean_b)
        tl.store(at_first + words, tl.where(is_kept, grad_a, 0.0).to(first.dtype.element_ty), mask=inside)
        tl.store(at_second + words, tl.where(is_kept, grad_b, 0.0).to(second.dtype.element_ty), mask=inside)
