"""From a config to a model: the only place that knows both. A new model family is one more `case` here."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

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
    """Build the model that `config` describes with nothing in its weights, for those who bring their own."""
    with _NothingDrawn():
        return _construct(config, source_vocab_size, target_vocab_size, pad_id)


def count_parameters(model: nn.Module) -> int:
    """Count the trained numbers of a model, a shared matrix once."""
    return sum(parameter.numel() for parameter in model.parameters())


class _NothingDrawn(TorchFunctionMode):
    """Keeps modules from drawing the random weights they start with, which nobody would see.

    What holds them is then memory that was asked for and never touched: a model can be built for its shapes alone.
    (The meta device is made for that too, but drawing there imports torch's compiler, which takes seconds.)
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in (nn.init.kaiming_uniform_, nn.init.uniform_, nn.init.normal_):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _construct(config: TransformerConfig, source_vocab_size: int, target_vocab_size: int, pad_id: int) -> Transformer:
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


def _build_positions(config: TransformerConfig) -> positions.Positions:
    match config.positions:
        case SinusoidalPositions(layout=layout):
            return positions.SinusoidalPositions(config.dim, layout)
        case LearnedPositions(max_len=max_len):
            return positions.LearnedPositions(config.dim, max_len)
        case NoPositions():
            return positions.NoPositions()
