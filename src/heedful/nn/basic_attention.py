"""Self-attention before anything was learned in it, and with one thing added at a time.

    basic       y_i = Σ_j softmax_j(x_i · x_j) x_j      no parameters: a vector is its own query, key and value
    scaled      the scores divided by √dim              no parameters; large vectors no longer saturate the softmax

Queries, keys and values that are learned, in one head or in several, are the next steps: attention.py. All kinds take
states and a mask and return states. Like attention itself, the basic form is there twice: `attend_basic` says what it
is, `BasicSelfAttention` computes it with the fused kernel, and a test holds the two equal. The two layers at the end
are what a classifier stacks to see what each step is worth.
"""

import math

from torch import Tensor, nn

from heedful.nn.attention import MultiHeadSelfAttention, attend_fused, masked_softmax
from heedful.nn.feed_forward import Activation, FeedForward
from heedful.nn.layers import RESIDUALS, Norm


def attend_basic(states: Tensor, mask: Tensor | None = None, *, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """Replace every vector by the average of all of them, weighted by how alike they are.

    states [batch, length, dim]; mask [batch, length] is True at real tokens; scores are multiplied by `scale`.
    Returns the averages [batch, length, dim] and the weights [batch, length, length]. A sequence without a single real
    token gives zeros.
    """
    scores = states @ states.transpose(-2, -1) * scale  # [batch, length, length]
    weights = masked_softmax(scores, None if mask is None else mask[:, None, :])  # the mask as [batch, 1, length]
    return weights @ states, weights


class BasicSelfAttention(nn.Module):
    """Attention without parameters: softmax(X Xᵀ) X."""

    def scale_of(self, dim: int) -> float:  # noqa: ARG002 - what `ScaledSelfAttention` makes of it
        """Return what scores between vectors of `dim` features are multiplied by."""
        return 1.0

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let every position gather from all positions of the same sequence.

        states [batch, length, dim]; mask, True where a position may be attended to, broadcasts to
        [batch, heads, length, length]. Returns [batch, length, dim].
        """
        one_head = states.unsqueeze(1)  # [batch, 1, length, dim]
        # The kernel divides scores by √dim on its own account; a query that much longer undoes it.
        factor = self.scale_of(states.size(-1)) * math.sqrt(states.size(-1))
        return attend_fused(one_head * factor, one_head, one_head, mask).squeeze(1)

    def weights(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return how much each position looks at each, for people who want to see it.

        states [batch, length, dim]; mask [batch, 1, 1, length] as in `forward`. Returns [batch, 1, length, length].
        """
        is_real = None if mask is None else mask[:, 0, 0]
        return attend_basic(states, is_real, scale=self.scale_of(states.size(-1)))[1].unsqueeze(1)


class ScaledSelfAttention(BasicSelfAttention):
    """Attention without parameters whose scores do not grow with the width: softmax(X Xᵀ / √dim) X."""

    def scale_of(self, dim: int) -> float:
        """Return 1 / √dim: a sum of `dim` products of deviation 1 then has deviation 1."""
        return 1.0 / math.sqrt(dim)


class BareAttentionLayer(nn.Module):
    """A layer that is its attention and nothing else: no residual, no LayerNorm, no feed-forward network."""

    def __init__(self, attention: BasicSelfAttention | MultiHeadSelfAttention) -> None:
        super().__init__()
        self.self_attention = attention

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read states [batch, length, dim] and return the same shape; mask [batch, 1, 1, length]."""
        gathered: Tensor = self.self_attention(states, mask)
        return gathered


class BasicEncoderLayer(nn.Module):
    """The encoder layer of layers.py around an attention without parameters."""

    def __init__(
        self,
        attention: BasicSelfAttention,
        *,
        dim: int,
        hidden_dim: int,
        norm: Norm = "pre",
        activation: Activation = "relu",
        dropout: float = 0.0,
        hidden_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        residual = RESIDUALS[norm]
        self.self_attention = attention
        self.self_attention_residual = residual(dim, dropout)
        self.feed_forward = FeedForward(dim, hidden_dim, activation, hidden_dropout)
        self.feed_forward_residual = residual(dim, dropout)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read states [batch, length, dim] and return the same shape; mask [batch, 1, 1, length]."""
        states = self.self_attention_residual(states, lambda x: self.self_attention(x, mask))
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output
