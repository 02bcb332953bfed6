"""Shapes of models that are known to work, each with its source.

A preset is a function that returns the whole section of a family. In a TOML file it is named by `model.preset`, and
what the file says besides wins over it. The list is closed: a new preset is a new function and a line in `PRESETS`.
"""

from collections.abc import Callable

from heedful.config.models import ModelConfig, TransformerConfig


def transformer_base() -> TransformerConfig:
    """Return the base model of *Attention Is All You Need* (Vaswani et al., 2017, table 3, first row)."""
    return TransformerConfig(
        dim=512, num_heads=8, hidden_dim=2048, num_encoder_layers=6, num_decoder_layers=6, dropout=0.1
    )


def transformer_big() -> TransformerConfig:
    """Return the big model of *Attention Is All You Need* (Vaswani et al., 2017, table 3, last row)."""
    return TransformerConfig(
        dim=1024, num_heads=16, hidden_dim=4096, num_encoder_layers=6, num_decoder_layers=6, dropout=0.3
    )


def transformer_tiny() -> TransformerConfig:
    """Return the model for tens of thousands of pairs, found best on Multi30k by Wu et al. (2021, section 3)."""
    return TransformerConfig(
        dim=128, num_heads=4, hidden_dim=256, num_encoder_layers=4, num_decoder_layers=4, dropout=0.3
    )


def deep_shallow(num_encoder_layers: int = 12, num_decoder_layers: int = 1) -> TransformerConfig:
    """Return a base model with its depth moved into the encoder, for fast inference (Kasai et al., 2021, section 3)."""
    return TransformerConfig(
        dim=512,
        num_heads=8,
        hidden_dim=2048,
        num_encoder_layers=num_encoder_layers,
        num_decoder_layers=num_decoder_layers,
        dropout=0.1,
    )


PRESETS: dict[str, Callable[[], ModelConfig]] = {
    "transformer_base": transformer_base,
    "transformer_big": transformer_big,
    "transformer_tiny": transformer_tiny,
    "deep_shallow": deep_shallow,
}
"""Every name `model.preset` can have."""
