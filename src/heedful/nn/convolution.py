"""Gated convolutions (Dauphin et al., 2017): a window of neighbours, a linear map of it, and a gate on what comes out.

    y_i = (A w_i + a) ⊙ σ(B w_i + b)        w_i: the vectors around position i, side by side

A and B are the halves of one matrix, since both read the same window. A window that ends at its position makes the
convolution causal. The matrix starts as any other (Glorot): with the larger variance of ConvS2S's section 3.5, which
makes up for the gate, models learned more slowly. This file knows tensors and masks; it knows nothing of layers,
attention or sentences.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class GatedConvolution(nn.Module):
    """Every position reads itself, `before` positions before it and `after` positions after it."""

    def __init__(self, dim: int, *, before: int, after: int) -> None:
        super().__init__()
        self.before, self.after = before, after
        self.linear = nn.Linear((before + 1 + after) * dim, 2 * dim)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read states [batch, length, dim], real where mask [batch, length]; returns the same shape.

        Beyond the ends of a sequence, and in its padding, there are zeros.
        """
        if mask is not None:
            states = states.masked_fill(~mask.unsqueeze(-1), 0.0)
        return self.read(functional.pad(states, (0, 0, self.before, self.after)))

    def read(self, neighbourhood: Tensor) -> Tensor:
        """Do what `forward` does with what stands at both ends already there.

        neighbourhood [batch, before + length + after, dim]. Returns [batch, length, dim].
        """
        width = self.before + 1 + self.after
        length = neighbourhood.size(1) - width + 1
        windows = torch.cat([neighbourhood[:, start : start + length] for start in range(width)], dim=-1)
        return functional.glu(self.linear(windows), dim=-1)
