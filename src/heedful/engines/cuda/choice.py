"""The most probable tokens that may be written, said plainly: what nn/kernels/best_tokens.py computes."""

import math

from torch import Tensor

ALLOWED, FORBIDDEN, END = 0, 1, 2
"""Kinds of tokens. The end symbol is forbidden to outputs that are too short."""


def best_allowed(logits: Tensor, kinds: Tensor, steps: Tensor, min_length: int, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` best allowed tokens of logits [rows, vocab] in fp32: log-probabilities and ids [rows, count].

    kinds int8 [vocab]; steps [batch] says how much the rows of each sentence have written. What is forbidden keeps its
    probability; of equal tokens the lower id comes first. A smaller vocabulary gives as many columns as it has.
    """
    if logits.is_cuda:
        from heedful.nn.kernels import best_tokens

        return best_tokens.best_allowed(logits, kinds, steps, min_length, count)
    is_early = (steps < min_length).repeat_interleave(len(logits) // len(steps))[:, None]  # [rows, 1]
    is_forbidden = (kinds == FORBIDDEN) | ((kinds == END) & is_early)
    best = logits.masked_fill(is_forbidden, -math.inf).sort(dim=-1, descending=True, stable=True)
    log_sum = logits.logsumexp(dim=-1, keepdim=True)
    return best.values[:, :count] - log_sum, best.indices[:, :count]
