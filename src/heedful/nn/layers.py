"""One layer of the encoder, one layer of the decoder: section 3.1 of the paper.

A layer is a chain of sub-layers, each wrapped in a residual connection. The two orders of residual and LayerNorm are
two classes, so that the layers read the same for both. The decoder layer also runs the newest positions alone,
against keys and values kept from before; who keeps them is not known here.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention, attend_fused
from heedful.nn.feed_forward import Activation, FeedForward

Norm = Literal["post", "pre"]


class PostNormResidual(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))): the paper's order."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Wrap `sublayer` around states [batch, length, dim]; returns the same shape and dtype."""
        update = sublayer(states)
        if self._has_kernel(update):
            from heedful.nn.kernels.residual import add_and_normalize

            weight, bias = self.norm.weight, self.norm.bias
            return add_and_normalize(states, update, weight, bias, epsilon=self.norm.eps, dropout=self.dropout.p)
        output: Tensor = self.norm(states + self.dropout(update))
        return output.to(states.dtype)  # under autocast LayerNorm answers in fp32

    def _has_kernel(self, update: Tensor) -> bool:
        """Say whether one kernel does it all: in training, in half precision on a GPU."""
        return self.training and update.is_cuda and update.dtype == torch.bfloat16


class PreNormResidual(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): the sum is never normalised, so gradients reach deep layers unscaled."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Wrap `sublayer` around states [batch, length, dim]; returns the same shape."""
        output: Tensor = states + self.dropout(sublayer(self.norm(states)))
        return output


RESIDUALS: dict[Norm, type[PostNormResidual] | type[PreNormResidual]] = {
    "post": PostNormResidual,
    "pre": PreNormResidual,
}


class ScaledResidual(nn.Module):
    """(x + Dropout(Sublayer(x))) · √½: nothing is normalised, but the variance of a sum stays that of its parts."""

    def __init__(self, dim: int, dropout: float) -> None:  # noqa: ARG002 - what the others are made with
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Wrap `sublayer` around states [batch, length, dim]; returns the same shape."""
        output: Tensor = (states + self.dropout(sublayer(states))) * math.sqrt(0.5)
        return output


class EncoderLayer(nn.Module):
    """Self-attention over the source, then the feed-forward network."""

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
        self.feed_forward = FeedForward(dim, hidden_dim, activation, hidden_dropout)
        self.feed_forward_residual = residual(dim, dropout)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read states [batch, source_len, dim] and return the same shape.

        mask, True where a position may be attended to, broadcasts to [batch, heads, source_len, source_len].
        """
        states = self.self_attention_residual(states, lambda x: self.self_attention(x, mask))
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output


class DecoderLayer(nn.Module):
    """Self-attention over the target, as a rule causal, attention to the source, then the feed-forward network."""

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

    def forward(
        self,
        states: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        causal: bool = True,
    ) -> Tensor:
        """Read target states [batch, target_len, dim] beside the encoder's output memory [batch, source_len, dim].

        memory_mask, True where the source may be attended to, broadcasts to [batch, heads, target_len, source_len].
        No target mask is needed beyond causality: padding comes last, where no real position looks. Without it, as in
        models that write all positions at once, mask says which are real; it broadcasts to
        [batch, heads, target_len, target_len]. Returns [batch, target_len, dim].
        """
        states = self.self_attention_residual(states, lambda x: self.self_attention(x, mask, causal=causal))
        states = self.cross_attention_residual(states, lambda x: self.cross_attention(x, memory, memory_mask))
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output

    def extend(
        self,
        states: Tensor,
        remember: Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor | None]],
        look_up: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """Run the newest positions alone, states [rows, length, dim], and return the same shape.

        `remember` takes their keys and values [rows, heads, length, head_dim] and returns those of all positions so
        far, [rows, heads, target_len, head_dim], and a mask of what the newest may see of them; `look_up` answers
        queries [rows, heads, length, head_dim] from the source.
        """

        def attend_to_past(x: Tensor) -> Tensor:
            """Self-attention on [rows, length, dim]."""
            query, key, value = self.self_attention.project(x)
            return self.self_attention.project_output(attend_fused(query, *remember(key, value)))

        def attend_to_source(x: Tensor) -> Tensor:
            """Encoder-decoder attention on [rows, length, dim]."""
            return self.cross_attention.project_output(look_up(self.cross_attention.project_query(x)))

        states = self.self_attention_residual(states, attend_to_past)
        states = self.cross_attention_residual(states, attend_to_source)
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output
