"""From a config to a model: the only place that knows both. A new model family is one more `case` here."""

import torch
from torch import nn

from heedful.config.model import LearnedPositions, NoPositions, SinusoidalPositions, TransformerConfig
from heedful.models.transformer import Transformer
from heedful.nn import initialization, positions


def build_model(
    config: TransformerConfig,
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    pad_id: int,
    generator: torch.Generator | None = None,
) -> Transformer:
    """Build the model that `config` describes, its weights drawn from `generator` (the default one when None)."""
    model = construct_model(
        config, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, pad_id=pad_id
    )
    initialization.initialize(model, generator)
    return model


def construct_model(
    config: TransformerConfig, *, source_vocab_size: int, target_vocab_size: int, pad_id: int
) -> Transformer:
    """Build the model that `config` describes without meaning in its weights, for those who bring their own."""
    return Transformer(
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
        pad_id=pad_id,
        source_positions=_build_positions(config),
        target_positions=_build_positions(config),
        dim=config.dim,
        num_heads=config.num_heads,
        hidden_dim=config.hidden_dim,
        num_encoder_layers=config.num_encoder_layers,
        num_decoder_layers=config.num_decoder_layers,
        norm=config.norm,
        activation=config.activation,
        tying=config.tying,
        output_bias=config.output_bias,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        hidden_dropout=config.hidden_dropout,
    )


def count_parameters(model: nn.Module) -> int:
    """Count the trained numbers of a model, a shared matrix once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _build_positions(config: TransformerConfig) -> positions.Positions:
    match config.positions:
        case SinusoidalPositions(layout=layout):
            return positions.SinusoidalPositions(config.dim, layout)
        case LearnedPositions(max_len=max_len):
            return positions.LearnedPositions(config.dim, max_len)
        case NoPositions():
            return positions.NoPositions()
