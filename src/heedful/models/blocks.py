"""From settings to the blocks that several models are made of: embeddings, positions, and layers of a stack."""

from typing import TypeVar

from heedful.config import models as settings
from heedful.config.language_modeling import LanguageModelConfig
from heedful.config.models import CtcConfig, FertilityConfig, TransformerConfig
from heedful.nn import positions
from heedful.nn.embedding import TokenEmbedding
from heedful.nn.layers import DecoderLayer, EncoderLayer

LayerT = TypeVar("LayerT", EncoderLayer, DecoderLayer)


def build_embeddings(
    tying: settings.Tying, dim: int, *, source_vocab_size: int, target_vocab_size: int
) -> tuple[TokenEmbedding, TokenEmbedding]:
    """Build what turns the tokens of the source and of the target into vectors: one for both when all is tied."""
    assert tying != "three_way" or source_vocab_size == target_vocab_size, "one matrix needs one vocabulary"
    source = TokenEmbedding(source_vocab_size, dim)
    return source, source if tying == "three_way" else TokenEmbedding(target_vocab_size, dim)


def build_positions(kind: settings.Positions, dim: int) -> positions.Positions:
    """Build what tells a token where it stands."""
    match kind:
        case settings.SinusoidalPositions(layout=layout):
            return positions.SinusoidalPositions(dim, layout)
        case settings.LearnedPositions(max_len=max_len):
            return positions.LearnedPositions(dim, max_len)
        case settings.NoPositions():
            return positions.NoPositions()


def build_layer(
    kind: type[LayerT], config: TransformerConfig | LanguageModelConfig | CtcConfig | FertilityConfig
) -> LayerT:
    """Build one layer of a stack."""
    return kind(
        dim=config.dim,
        num_heads=config.num_heads,
        hidden_dim=config.hidden_dim,
        norm=config.norm,
        activation=config.activation,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        hidden_dropout=config.hidden_dropout,
    )
