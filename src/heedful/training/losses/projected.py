"""Projection to the vocabulary and loss in one, a slice of the tokens at a time.

For 32,768 tokens and 32,000 words the fp32 logits alone are 4 GB. Here a slice is projected, its loss *and its
gradient* are taken at once, and only gradients of the size of the inputs stay. No product is computed twice: the
backward pass merely scales what the forward pass left. `cross_entropy.py` has the reference implementations, `fused.py`
the kernels that take over on a GPU; tests hold all of them equal.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

# Logits that exist at a time. Large enough to fill a GPU with each product, small enough to be no part of its memory.
_SLICE_ON_GPU = 1 << 28
_SLICE_ON_CPU = 1 << 23


class Agreement(NamedTuple):
    """How the losses of two passes are weighed: the two cross-entropies, KL(first ‖ second) and KL(second ‖ first)."""

    first: float
    second: float
    forward: float
    backward: float


class _Terms(NamedTuple):
    """What is summed: cross-entropy so smoothed, of one pass or of two that are to agree."""

    smoothing: float
    agreement: Agreement | None = None


def projected_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, target_ids: Tensor, mask: Tensor, *, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Equal `label_smoothed_cross_entropy(hidden @ weight.T + bias, …)` without ever holding all logits.

    hidden [..., dim], weight [vocab, dim], bias [vocab] or None, target_ids and mask [...]. Under autocast the
    products are taken in its type and everything else in fp32. Returns loss and negative log-likelihood, summed.
    """
    (rows,), target_ids, mask = _counted([_rows_of(hidden)], target_ids.reshape(-1), mask.reshape(-1))  # [rows, dim]
    sums = _ProjectedLoss.apply(rows, None, weight, bias, target_ids, mask, _Terms(smoothing))  # type: ignore[no-untyped-call]
    return sums[0], sums[1].detach()


def projected_agreement(
    first: Tensor,
    second: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target_ids: Tensor,
    mask: Tensor,
    *,
    smoothing: float,
    weights: Agreement,
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum the loss of two passes over the same tokens, first and second [..., dim], that are to agree.

    Returns the loss, the weighted negative log-likelihood and the weighted divergence; the last two are detached.
    """
    passes = [_rows_of(first), _rows_of(second)]  # [rows, dim] each
    (rows, others), target_ids, mask = _counted(passes, target_ids.reshape(-1), mask.reshape(-1))
    terms = _Terms(smoothing, weights)
    sums = _ProjectedLoss.apply(rows, others, weight, bias, target_ids, mask, terms)  # type: ignore[no-untyped-call]
    return sums[0], sums[1].detach(), sums[2].detach()


def slices(rows: Tensor, vocab: int) -> list[slice]:
    """Cut the rows into equal parts whose logits fit the budget."""
    num_rows = rows.size(0)
    budget = _SLICE_ON_GPU if rows.is_cuda else _SLICE_ON_CPU
    count = max(1, (num_rows * vocab + budget - 1) // budget)
    length = (num_rows + count - 1) // count
    return [slice(index * length, (index + 1) * length) for index in range(count)]


class _ProjectedLoss(torch.autograd.Function):
    """Loss and gradient of projection, softmax and cross-entropy, and of a second pass beside it, slice by slice."""

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor | None,
        weight: Tensor,
        bias: Tensor | None,
        target_ids: Tensor,
        mask: Tensor,
        terms: _Terms,
    ) -> Tensor:
        """Passes [rows, dim], weight [vocab, dim], bias [vocab], target_ids and mask [rows] → loss and what it sums."""
        passes = [first] if second is None else [first, second]
        wants_gradient = any(ctx.needs_input_grad)
        cast_weight = weight.to(first.dtype)
        cast_bias = None if bias is None else bias.to(first.dtype)
        weight_grad = torch.zeros_like(weight, dtype=torch.float32)
        bias_grad = None if bias is None else torch.zeros_like(bias, dtype=torch.float32)
        rows_grads: list[list[Tensor]] = [[] for _ in passes]
        totals = []
        for part in slices(first, weight.size(0)):
            logits = [functional.linear(rows[part], cast_weight, cast_bias) for rows in passes]  # each [rows, vocab]
            sums, gradients = _loss_of_logits(logits, target_ids[part], mask[part], *terms)
            totals.append(sums)
            if not wants_gradient:
                continue
            for rows, gradient, collected in zip(passes, gradients, rows_grads, strict=True):
                if bias_grad is not None:
                    bias_grad += gradient.sum(dim=0, dtype=torch.float32)
                product = gradient.to(rows.dtype)
                collected.append(product @ cast_weight)
                if product.dtype == weight_grad.dtype:
                    weight_grad.addmm_(product.T, rows[part])
                else:
                    weight_grad += product.T @ rows[part]
        if wants_gradient:
            saved = [weight_grad.to(weight.dtype), *(torch.cat(grads) for grads in rows_grads)]
            ctx.save_for_backward(*saved, *([] if bias is None or bias_grad is None else [bias_grad.to(bias.dtype)]))
        ctx.has_second, ctx.has_bias = second is not None, bias is not None
        return torch.stack(totals).sum(dim=0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the gradients of the forward pass by that of the loss, the first of the sums."""
        scale = grads[0][0]
        weight_grad, first_grad, *rest = (saved * scale.to(saved.dtype) for saved in ctx.saved_tensors)
        second_grad = rest.pop(0) if ctx.has_second else None
        bias_grad = rest.pop(0) if ctx.has_bias else None
        return first_grad, second_grad, weight_grad, bias_grad, None, None, None


def _loss_of_logits(
    logits: list[Tensor], target_ids: Tensor, mask: Tensor, smoothing: float, weights: Agreement | None
) -> tuple[Tensor, list[Tensor]]:
    """Return the sums of `_ProjectedLoss` and the gradients in the logits, each [rows, vocab]."""
    if logits[0].is_cuda:
        from heedful.training.losses.fused import agreement_in_place, cross_entropy_in_place

        if weights is None:
            return cross_entropy_in_place(logits[0], target_ids, mask, smoothing=smoothing).sum(dim=1), logits
        sums = agreement_in_place(logits[0], logits[1], target_ids, mask, smoothing=smoothing, weights=weights)
        return sums.sum(dim=1), logits
    if weights is None:
        return _cross_entropy(logits[0], target_ids, mask, smoothing)
    return _agreement(logits[0], logits[1], target_ids, mask, smoothing, weights)


def _cross_entropy(logits: Tensor, target_ids: Tensor, mask: Tensor, smoothing: float) -> tuple[Tensor, list[Tensor]]:
    """With p = softmax(z): loss = -(1 - ε) log p_target - ε mean(log p), and its gradient in z is p - wanted.

    One array of the logits' size is made, and turned into the gradient in place.
    """
    log_probs, target = logits.float().log_softmax(dim=1), target_ids.unsqueeze(1)
    nll = -log_probs.gather(1, target).squeeze(1)
    loss = (1 - smoothing) * nll - smoothing * log_probs.mean(dim=1)
    sums = torch.stack([value.masked_fill(~mask, 0).sum() for value in (loss, nll)])
    gradient = log_probs.exp_()
    if smoothing:
        gradient -= smoothing / logits.size(1)
    gradient.scatter_add_(1, target, gradient.new_full(target.shape, smoothing - 1))
    return sums, [gradient.masked_fill_(~mask.unsqueeze(1), 0)]


def _agreement(
    first: Tensor, second: Tensor, target_ids: Tensor, mask: Tensor, smoothing: float, weights: Agreement
) -> tuple[Tensor, list[Tensor]]:
    """With d = z₁ - z₂: KL(p₁ ‖ p₂) = E₁[d] - log Σ exp z₁ + log Σ exp z₂; its gradients p₁ (d - E₁[d]) and p₂ - p₁."""
    one, two = _Side(first, target_ids, smoothing), _Side(second, target_ids, smoothing)
    difference = first.float() - second.float()  # [rows, vocab]
    mean_one = (one.probs * difference).sum(1, keepdim=True)  # [rows, 1]
    mean_two = (two.probs * difference).sum(1, keepdim=True)
    gap = one.normalizer - two.normalizer
    nll = weights.first * one.nll + weights.second * two.nll
    divergence = (weights.forward * (mean_one - gap) + weights.backward * (gap - mean_two)).squeeze(1)
    loss = weights.first * one.loss + weights.second * two.loss + divergence
    apart = one.probs - two.probs
    gradients = [
        weights.first * (one.probs - one.wanted)
        + weights.forward * one.probs * (difference - mean_one)
        + weights.backward * apart,
        weights.second * (two.probs - two.wanted)
        - weights.forward * apart
        - weights.backward * two.probs * (difference - mean_two),
    ]
    sums = torch.stack([value.masked_fill(~mask, 0).sum() for value in (loss, nll, divergence)])
    return sums, [gradient.masked_fill(~mask.unsqueeze(1), 0) for gradient in gradients]


class _Side:
    """Cross-entropy of one pass: normalizer [rows, 1], probs and wanted [rows, vocab], nll and loss [rows]."""

    def __init__(self, logits: Tensor, target_ids: Tensor, smoothing: float) -> None:
        scores, target = logits.float(), target_ids.unsqueeze(1)
        vocab = scores.size(1)
        self.normalizer = scores.logsumexp(dim=1, keepdim=True)
        self.probs = (scores - self.normalizer).exp()
        self.nll = (self.normalizer - scores.gather(1, target)).squeeze(1)
        uniform = self.normalizer.squeeze(1) - scores.mean(dim=1)
        self.loss = (1 - smoothing) * self.nll + smoothing * uniform
        words = torch.arange(vocab, device=scores.device)
        self.wanted = torch.where(words == target, 1 - smoothing + smoothing / vocab, smoothing / vocab)


def _counted(passes: list[Tensor], target_ids: Tensor, mask: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
    """Leave the padding out on a CPU, where each row costs its products; a GPU would have to be waited for.

    passes [rows, dim], target_ids and mask [rows]; returns the same of the rows where the mask is True.
    """
    if mask.is_cuda:
        return passes, target_ids, mask
    places = mask.nonzero().squeeze(1)
    if len(places) == len(mask):
        return passes, target_ids, mask
    return [rows.index_select(0, places) for rows in passes], target_ids[places], mask[places]


def _rows_of(hidden: Tensor) -> Tensor:
    """Flatten [..., dim] to [rows, dim], in the type in which products are taken."""
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    return hidden.reshape(-1, hidden.size(-1)).to(dtype)
