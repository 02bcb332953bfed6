"""A Transformer with a part taken out or exchanged, to see what the part is worth (`model.ablations`).

Modules of a model that is built already are replaced by those of this file; the Transformer itself knows nothing of it,
and without ablations not a bit of it changes. Such models run in PyTorch alone: no engine, no other toolkit has them.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from heedful.config.models import Ablation
from heedful.models.transformer import Decoder, Encoder, Transformer
from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention
from heedful.nn.layers import PostNormResidual, PreNormResidual
from heedful.nn.positions import SinusoidalPositions

CONCATENATED_SHARE = 4
"""One feature in so many says the position, where it is concatenated."""


class BatchNorm(nn.Module):
    """Normalises a feature over all tokens of a batch (Ioffe & Szegedy, 2015), padding included, as naively done.

    Moving averages take the place of the batch after training. They are parameters without a gradient, so that
    checkpoints and model folders have them.
    """

    def __init__(self, dim: int, *, epsilon: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.epsilon, self.momentum = epsilon, momentum
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.mean = nn.Parameter(torch.zeros(dim), requires_grad=False)
        self.variance = nn.Parameter(torch.ones(dim), requires_grad=False)

    def forward(self, states: Tensor) -> Tensor:
        """Normalise states [batch, length, dim]; returns the same shape."""
        values = states.float()
        mean: Tensor = self.mean
        variance: Tensor = self.variance
        if self.training:
            variance, mean = torch.var_mean(values, dim=(0, 1), correction=0)
            with torch.no_grad():
                self.mean.lerp_(mean, self.momentum)
                self.variance.lerp_(variance, self.momentum)
        return ((values - mean) * (variance + self.epsilon).rsqrt() * self.weight + self.bias).to(states.dtype)


class AblatedResidual(nn.Module):
    """A sub-layer's wrapping, in either order, with any normalisation, with or without what is added."""

    def __init__(self, norm: nn.Module, dropout: nn.Dropout, *, norm_first: bool, is_added: bool) -> None:
        super().__init__()
        self.norm, self.dropout = norm, dropout
        self.norm_first, self.is_added = norm_first, is_added

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Wrap `sublayer` around states [batch, length, dim]; returns the same shape and dtype."""
        output: Tensor = self.dropout(sublayer(self.norm(states) if self.norm_first else states))
        if self.is_added:
            output = states + output
        normalized: Tensor = output if self.norm_first else self.norm(output)
        return normalized.to(states.dtype)


class UnscaledSelfAttention(MultiHeadSelfAttention):
    """Self-attention whose scores are not divided by √d_k."""

    def project(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project [batch, length, dim] to queries, keys and values, [batch, heads, length, head_dim] each."""
        query, key, value = super().project(states)
        return query * math.sqrt(query.size(-1)), key, value


class UnscaledAttention(MultiHeadAttention):
    """Attention to another sequence whose scores are not divided by √d_k."""

    def project_query(self, states: Tensor) -> Tensor:
        """Project [batch, query_len, dim] to the heads' queries [batch, heads, query_len, head_dim]."""
        query = super().project_query(states)
        return query * math.sqrt(query.size(-1))


class SinePositions(SinusoidalPositions):
    """Sines alone, one wavelength for each feature."""

    def forward(self, embeddings: Tensor, start: int | Tensor = 0) -> Tensor:
        """Add positions to embeddings [batch, length, dim] from `start` on, a number or [batch]; the same shape."""
        first = start.unsqueeze(1) if isinstance(start, Tensor) else start
        places = torch.arange(embeddings.size(1), device=embeddings.device) + first
        powers = torch.arange(self.dim, device=embeddings.device, dtype=torch.float64) / self.dim
        return embeddings + (places.unsqueeze(-1) / 10000.0**powers).sin().to(embeddings.dtype)


class ConcatenatedPositions(SinusoidalPositions):
    """Positions beside the embedding and not on it: its last features are theirs."""

    def __init__(self, dim: int) -> None:
        super().__init__(2 * math.ceil(dim / (2 * CONCATENATED_SHARE)))

    def forward(self, embeddings: Tensor, start: int | Tensor = 0) -> Tensor:
        """Put positions into the last features of embeddings [batch, length, dim]; returns the same shape."""
        kept, replaced = embeddings[..., : -self.dim], embeddings[..., -self.dim :]
        return torch.cat([kept, super().forward(torch.zeros_like(replaced), start)], dim=-1)


def ablate(model: Transformer, ablations: Sequence[Ablation]) -> None:
    """Replace the modules of a model that nobody has initialised yet."""
    for ablation in ablations:
        match ablation:
            case "no_residual" | "batch_norm":
                _replace_residuals(
                    model, has_batch_norm="batch_norm" in ablations, is_added="no_residual" not in ablations
                )
            case "no_embedding_scale":
                model.source_embedding.scale = model.target_embedding.scale = 1.0
            case "no_attention_scale":
                _replace_attentions(model)
            case "sine_positions":
                model.source_positions = SinePositions(model.dim)
                model.target_positions = SinePositions(model.dim)
            case "concatenated_positions":
                model.source_positions = ConcatenatedPositions(model.dim)
                model.target_positions = ConcatenatedPositions(model.dim)


def _replace_residuals(model: Transformer, *, has_batch_norm: bool, is_added: bool) -> None:
    def norm_of(norm: nn.LayerNorm) -> nn.Module:
        return BatchNorm(model.dim) if has_batch_norm else norm

    for layer in [*model.encoder.layers, *model.decoder.layers]:
        for name, part in list(layer.named_children()):
            if isinstance(part, PostNormResidual | PreNormResidual):
                first = isinstance(part, PreNormResidual)
                ablated = AblatedResidual(norm_of(part.norm), part.dropout, norm_first=first, is_added=is_added)
                setattr(layer, name, ablated)
    stacks: tuple[Encoder, Decoder] = (model.encoder, model.decoder)
    for stack in stacks:
        if isinstance(stack.final_norm, nn.LayerNorm):
            setattr(stack, "final_norm", norm_of(stack.final_norm))  # noqa: B010 - of another type than it had


def _replace_attentions(model: Transformer) -> None:
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        for name, part in list(layer.named_children()):
            if isinstance(part, MultiHeadSelfAttention):
                setattr(layer, name, UnscaledSelfAttention(model.dim, part.num_heads, part.dropout))
            elif isinstance(part, MultiHeadAttention):
                setattr(layer, name, UnscaledAttention(model.dim, part.num_heads, part.dropout))
