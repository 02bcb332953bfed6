"""Masks: boolean tensors that say which key a query may attend to.

**True means "may attend"**, here and everywhere. A mask broadcasts to [batch, heads, query_len, key_len], so masks of
different kinds are combined with `&`.
"""

import torch
from torch import Tensor


def causal_mask(query_len: int, key_len: int, *, device: torch.device | None = None) -> Tensor:
    """Let query i see keys 0 to i: the lower triangle, [query_len, key_len] (section 3.2.3 of the paper)."""
    return torch.ones(query_len, key_len, dtype=torch.bool, device=device).tril()


def padding_mask(is_real: Tensor | None) -> Tensor | None:
    """Let every query see the real tokens: [batch, key_len] to [batch, 1, 1, key_len]; None means nothing is padded."""
    return None if is_real is None else is_real[:, None, None, :]
