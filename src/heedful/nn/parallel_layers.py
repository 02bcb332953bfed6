"""The layer of a decoder that writes all positions at once: nothing is causal, every position may look at every one."""

from torch import Tensor, nn

from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention
from heedful.nn.feed_forward import Activation, FeedForward
from heedful.nn.layers import RESIDUALS, Norm


class ParallelDecoderLayer(nn.Module):
    """Self-attention over all positions, attention to the source, then the feed-forward network."""

    def __init__(
        self,
        *,
        dim: int,
        num_heads: int,
        hidden_dim: int,
        norm: Norm = "post",
        activation: Activation = "relu",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        hidden_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        residual = RESIDUALS[norm]
        self.self_attention = MultiHeadSelfAttention(dim, num_heads, attention_dropout)
        self.self_attention_residual = residual(dim, dropout)
        self.cross_attention = MultiHeadAttention(dim, num_heads, attention_dropout)
        self.cross_attention_residual = residual(dim, dropout)
        self.feed_forward = FeedForward(dim, hidden_dim, activation, hidden_dropout)
        self.feed_forward_residual = residual(dim, dropout)

    def forward(self, states: Tensor, memory: Tensor, mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        """Read states [batch, length, dim] beside the encoder's output memory [batch, source_len, dim].

        mask and memory_mask, True where a position may be looked at, broadcast to [batch, heads, length, length] and
        [batch, heads, length, source_len]. Returns [batch, length, dim].
        """
        states = self.self_attention_residual(states, lambda x: self.self_attention(x, mask))
        states = self.cross_attention_residual(states, lambda x: self.cross_attention(x, memory, memory_mask))
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output
