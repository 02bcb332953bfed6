"""The position-wise feed-forward network: section 3.3, equation 2 of the paper."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

Activation = Literal["relu", "gelu", "swish"]

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "swish": functional.silu,
}


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between them, the same ones at every position."""

    def __init__(self, dim: int, hidden_dim: int, activation: Activation = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.expand = nn.Linear(dim, hidden_dim)
        self.contract = nn.Linear(hidden_dim, dim)
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Compute max(0, xW1 + b1)W2 + b2, or its like with another activation, on [batch, length, dim]."""
        output: Tensor = self.contract(self.dropout(self.activation(self.expand(states))))
        return output
