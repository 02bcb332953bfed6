"""The losses, in the form one reads: label-smoothed cross-entropy and the divergences of two passes.

Cross-entropy against the smoothed target of section 5.4 of the paper: 1 - smoothing on the reference token and
smoothing / vocab on every token, the reference included. All losses are sums over real items, never means: only the
step knows how many its micro-batches hold together. The fast form for large vocabularies is in `projected.py`. This
file knows logits; it knows nothing of models, batches or optimisers.
"""

import torch
from torch import Tensor
from torch.nn import functional


def label_smoothed_cross_entropy(
    logits: Tensor, target_ids: Tensor, mask: Tensor, *, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Sum the smoothed loss and the plain negative log-likelihood over the positions where mask is True.

    logits [..., vocab]; target_ids and mask [...]. Both results are fp32 scalars; the second is detached.
    """
    log_probs = logits.float().log_softmax(dim=-1)  # [..., vocab]
    nll = -log_probs.gather(-1, target_ids.unsqueeze(-1)).squeeze(-1)  # [...]
    uniform = -log_probs.mean(dim=-1)  # [...]
    loss = (1 - smoothing) * nll + smoothing * uniform
    return loss.masked_fill(~mask, 0).sum(), nll.detach().masked_fill(~mask, 0).sum()


def kl_divergence(logits: Tensor, other_logits: Tensor, mask: Tensor) -> Tensor:
    """Sum KL(p ‖ q) of the two distributions [..., vocab] over the positions [...] where mask is True."""
    log_probs, other_log_probs = logits.float().log_softmax(-1), other_logits.float().log_softmax(-1)
    divergence = functional.kl_div(other_log_probs, log_probs, reduction="none", log_target=True).sum(-1)  # [...]
    return divergence.masked_fill(~mask, 0).sum()


def symmetric_kl_divergence(logits: Tensor, other_logits: Tensor, mask: Tensor) -> Tensor:
    """Sum ½ KL(p ‖ q) + ½ KL(q ‖ p): the distance of R-Drop's two passes (Liang et al., 2021, equation 2)."""
    probs, other_probs = logits.float().softmax(-1), other_logits.float().softmax(-1)
    # ½ Σ (p - q)(log p - log q); the two normalisers cancel because p - q sums to zero.
    difference = logits.float() - other_logits.float()
    divergence = 0.5 * ((probs - other_probs) * difference).sum(-1)  # [...]
    return torch.where(mask, divergence, 0.0).sum()
