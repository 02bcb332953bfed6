"""The weights of a Transformer in one precision, layer by layer, as plain tensors.

Matrices and biases are in the precision that is computed in; LayerNorms stay in fp32, in which they are computed. They
are read from the model's parameters, whatever wraps its modules.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from heedful.models.transformer import Decoder, Encoder, Transformer
from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.feed_forward import ACTIVATIONS, Activation, FeedForward
from heedful.nn.layers import DecoderLayer, EncoderLayer, PostNormResidual, PreNormResidual
from heedful.nn.positions import LearnedPositions, NoPositions, Positions, SinusoidalPositions

_KNOWN = (
    *(Transformer, Encoder, Decoder, EncoderLayer, DecoderLayer, PostNormResidual, PreNormResidual),
    *(MultiHeadAttention, MultiHeadSelfAttention, FeedForward, TokenEmbedding, OutputProjection),
    *(SinusoidalPositions, LearnedPositions, NoPositions),
    *(nn.Linear, nn.LayerNorm, nn.Embedding, nn.Dropout, nn.ModuleList),
)


class Linear(NamedTuple):
    """A matrix [vocab, dim], or of any other size, and what is added to the products."""

    weight: Tensor
    bias: Tensor | None


class Norm(NamedTuple):
    """A LayerNorm: weight and bias [dim] in fp32."""

    weight: Tensor
    bias: Tensor
    epsilon: float


@dataclass(frozen=True)
class FeedForwardWeights:
    """Two linear maps and their LayerNorm."""

    expand: Linear
    contract: Linear
    norm: Norm


@dataclass(frozen=True)
class SelfAttentionWeights:
    """Queries, keys and values from one matrix, what mixes the heads, and the LayerNorm."""

    query_key_value: Linear
    output: Linear
    norm: Norm


@dataclass(frozen=True)
class CrossAttentionWeights:
    """The same where keys and values come from the source."""

    query: Linear
    key_value: Linear
    output: Linear
    norm: Norm


@dataclass(frozen=True)
class LayerWeights:
    """One layer; `cross` is None in the encoder."""

    own: SelfAttentionWeights
    cross: CrossAttentionWeights | None
    feed_forward: FeedForwardWeights


@dataclass(frozen=True)
class SideWeights:
    """One half of the model: scaled embeddings [vocab, dim], positions [length, dim], layers, and what comes last."""

    embedding: Tensor
    positions: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Norm | None


@dataclass(frozen=True)
class TransformerWeights:
    """A whole model."""

    source: SideWeights
    target: SideWeights
    output: Linear
    num_heads: int
    is_pre_norm: bool
    activation: Activation


def weights_in(model: Transformer, dtype: torch.dtype, max_len: int) -> TransformerWeights:
    """Gather the weights of a model in one precision, with positions up to `max_len`."""
    encoder = [*cast(Iterable[EncoderLayer], model.encoder.layers)]
    decoder = [*cast(Iterable[DecoderLayer], model.decoder.layers)]
    activation = next(name for name, function in ACTIVATIONS.items() if function is decoder[0].feed_forward.activation)
    projection = model.output_projection

    def side(
        layers: list[EncoderLayer] | list[DecoderLayer], scaled: Tensor, positions: Positions, norm: nn.LayerNorm | None
    ) -> SideWeights:
        table = _positions(positions, max_len, model.dim).to(scaled.device, dtype)
        return SideWeights(
            scaled, table, tuple(_layer(layer, dtype) for layer in layers), None if norm is None else _norm(norm)
        )

    scaled = (model.target_embedding.weight.detach() * model.target_embedding.scale).to(dtype)
    source = scaled
    if model.source_embedding is not model.target_embedding:
        source = (model.source_embedding.weight.detach() * model.source_embedding.scale).to(dtype)
    return TransformerWeights(
        source=side(encoder, source, model.source_positions, model.encoder.final_norm),
        target=side(decoder, scaled, model.target_positions, model.decoder.final_norm),
        output=Linear(
            _cast(projection.weight, dtype), None if projection.bias is None else _cast(projection.bias, dtype)
        ),
        num_heads=model.num_heads,
        is_pre_norm=isinstance(decoder[0].feed_forward_residual, PreNormResidual),
        activation=activation,
    )


def is_plain(model: nn.Module) -> bool:
    """Say whether a model is the Transformer of the paper: made of what this file knows, and nothing else."""
    return all(type(module) in _KNOWN for module in model.modules())


def _layer(layer: EncoderLayer | DecoderLayer, dtype: torch.dtype) -> LayerWeights:
    own, cross = layer.self_attention, None
    if isinstance(layer, DecoderLayer):
        module = layer.cross_attention
        cross = CrossAttentionWeights(
            _linear(module.query, dtype),
            _linear(module.key_value, dtype),
            _linear(module.output, dtype),
            _norm(layer.cross_attention_residual.norm),
        )
    return LayerWeights(
        SelfAttentionWeights(
            _linear(own.query_key_value, dtype), _linear(own.output, dtype), _norm(layer.self_attention_residual.norm)
        ),
        cross,
        FeedForwardWeights(
            _linear(layer.feed_forward.expand, dtype),
            _linear(layer.feed_forward.contract, dtype),
            _norm(layer.feed_forward_residual.norm),
        ),
    )


def _linear(module: nn.Linear, dtype: torch.dtype) -> Linear:
    return Linear(_cast(module.weight, dtype), _cast(module.bias, dtype))


def _norm(module: nn.LayerNorm) -> Norm:
    return Norm(_cast(module.weight, torch.float32), _cast(module.bias, torch.float32), module.eps)


def _cast(parameter: Tensor, dtype: torch.dtype) -> Tensor:
    return parameter.detach().to(dtype).contiguous()


def _positions(positions: Positions, max_len: int, dim: int) -> Tensor:
    """Tabulate what is added to embeddings, [length, dim]."""
    if isinstance(positions, SinusoidalPositions):
        return positions.table[:max_len]
    if isinstance(positions, LearnedPositions):
        return positions.embedding.weight.detach()[:max_len]
    return torch.zeros(max_len, dim)
