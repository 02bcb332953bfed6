"""Projection to the vocabulary and loss in one, a slice of the tokens at a time.

For 32,768 tokens and 32,000 words the fp32 logits alone are 4 GB. Here a slice is projected, its loss *and its
gradient* are taken at once, and only gradients of the size of the inputs stay. No product is computed twice: the
backward pass merely scales what the forward pass left. `loss.py` holds the readable twin; tests hold the two equal.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from heedful.training.loss import label_smoothed_cross_entropy

# Logits that exist at a time. Large enough to fill a GPU with each product, small enough to be no part of its memory.
_SLICE_ON_GPU = 1 << 27
_SLICE_ON_CPU = 1 << 23


def projected_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, target_ids: Tensor, mask: Tensor, *, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Equal `label_smoothed_cross_entropy(hidden @ weight.T + bias, …)` without ever holding all logits.

    hidden [..., dim], weight [vocab, dim], bias [vocab] or None, target_ids and mask [...]. Under autocast the
    products are taken in its type and everything else in fp32. Returns loss and negative log-likelihood, summed.
    """
    rows = hidden.reshape(-1, hidden.size(-1)).to(_product_dtype(hidden))  # [rows, dim]
    targets, kept = target_ids.reshape(-1), mask.reshape(-1)  # [rows]
    if torch.is_grad_enabled():
        loss, nll = _ProjectedCrossEntropy.apply(rows, weight, bias, targets, kept, smoothing)  # type: ignore[no-untyped-call]
        return loss, nll.detach()
    cast_weight, cast_bias = _cast(weight, bias, rows.dtype)
    pairs = [
        label_smoothed_cross_entropy(
            torch.nn.functional.linear(rows[part], cast_weight, cast_bias),
            targets[part],
            kept[part],
            smoothing=smoothing,
        )
        for part in slices(rows, weight.size(0))
    ]
    return torch.stack([loss for loss, _ in pairs]).sum(), torch.stack([nll for _, nll in pairs]).sum()


def projected_sum(
    function: Callable[..., Tensor], weight: Tensor, bias: Tensor | None, *tensors: Tensor, mask: Tensor
) -> Tensor:
    """Sum `function(logits, …, mask)` over slices, where every tensor [..., dim] is projected to logits first.

    For losses that compare several passes, whose gradient has no short closed form: a slice is computed again in the
    backward pass instead of being kept. `function` must return a sum over positions.
    """
    dtype = _product_dtype(tensors[0])
    all_rows = [tensor.reshape(-1, tensor.size(-1)).to(dtype) for tensor in tensors]  # each [rows, dim]
    kept = mask.reshape(-1)
    cast_weight, cast_bias = _cast(weight, bias, dtype)

    def on_slice(kept: Tensor, weight: Tensor, bias: Tensor | None, *rows: Tensor) -> Tensor:
        return function(*(torch.nn.functional.linear(row, weight, bias) for row in rows), kept)

    sums = [
        checkpoint(
            on_slice,
            kept[part],
            cast_weight,
            cast_bias,
            *(rows[part] for rows in all_rows),
            use_reentrant=False,
            preserve_rng_state=False,  # nothing random here, and reading the state would stop the device
        )
        for part in slices(all_rows[0], weight.size(0))
    ]
    return torch.stack(sums).sum()


def slices(rows: Tensor, vocab: int) -> list[slice]:
    """Cut the rows into equal parts whose logits fit the budget.

    The number of parts is taken first: when shapes are symbols, a compiled graph then depends on that number alone.
    """
    num_rows = rows.size(0)
    budget = _SLICE_ON_GPU if rows.is_cuda else _SLICE_ON_CPU
    count = max(1, (num_rows * vocab + budget - 1) // budget)
    length = (num_rows + count - 1) // count
    return [slice(index * length, (index + 1) * length) for index in range(count)]


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Loss and gradient of projection, softmax and smoothed cross-entropy, slice by slice.

    With p = softmax(z), loss = log Σ exp z - (1 - ε) z_target - ε mean(z), and its gradient in the logits z is
    p - (1 - ε) [target] - ε / vocab: all that is needed is one pass over z.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None, target_ids: Tensor, mask: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Rows [rows, dim], weight [vocab, dim], bias [vocab], target_ids and mask [rows] → two scalars."""
        vocab = weight.size(0)
        cast_weight, cast_bias = _cast(weight, bias, rows.dtype)
        words = torch.arange(vocab, device=rows.device)
        losses, nlls, rows_grads = [], [], []
        weight_grad = torch.zeros_like(weight, dtype=torch.float32)
        bias_grad = None if bias is None else torch.zeros_like(bias, dtype=torch.float32)
        for part in slices(rows, vocab):
            logits = torch.nn.functional.linear(rows[part], cast_weight, cast_bias).float()  # [rows, vocab]
            target, kept = target_ids[part].unsqueeze(1), mask[part].unsqueeze(1)
            normalizer = logits.logsumexp(dim=1, keepdim=True)
            nll = normalizer - logits.gather(1, target)
            uniform = normalizer - logits.mean(dim=1, keepdim=True)
            losses.append(((1 - smoothing) * nll + smoothing * uniform).masked_fill(~kept, 0).sum())
            nlls.append(nll.masked_fill(~kept, 0).sum())
            wanted = torch.where(words == target, 1 - smoothing + smoothing / vocab, smoothing / vocab)
            logits_grad = ((logits - normalizer).exp() - wanted).masked_fill(~kept, 0)
            if bias_grad is not None:
                bias_grad += logits_grad.sum(dim=0)
            product = logits_grad.to(rows.dtype)
            rows_grads.append(product @ cast_weight)
            weight_grad += product.T @ rows[part]
        saved = (torch.cat(rows_grads), weight_grad.to(weight.dtype))
        ctx.has_bias = bias is not None
        ctx.save_for_backward(*saved, *([] if bias is None or bias_grad is None else [bias_grad.to(bias.dtype)]))
        return torch.stack(losses).sum(), torch.stack(nlls).sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the gradients of the forward pass by that of the loss."""
        scale = grads[0]
        rows_grad, weight_grad, *rest = ctx.saved_tensors
        bias_grad = rest[0] * scale if ctx.has_bias else None
        return (rows_grad * scale).to(rows_grad.dtype), weight_grad * scale, bias_grad, None, None, None


def _product_dtype(tensor: Tensor) -> torch.dtype:
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tensor.dtype


def _cast(weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    return weight.to(dtype), None if bias is None else bias.to(dtype)
