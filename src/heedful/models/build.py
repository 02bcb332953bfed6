"""From a config to a model: the only place that knows both. A new family is one more `case` of `construct_model`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from heedful.config import classification
from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.config.models import (
    LearnedPositions,
    ModelConfig,
    NoPositions,
    Positions,
    RecurrentConfig,
    SinusoidalPositions,
    TransformerConfig,
)
from heedful.models.classifier import ClassifierModel
from heedful.models.interfaces import EncoderDecoder
from heedful.models.language_model import LanguageModel
from heedful.models.recurrent import RecurrentModel
from heedful.models.transformer import Transformer
from heedful.models.transformer_xl import TransformerXL
from heedful.nn import basic_attention, initialization, ngrams, positions
from heedful.nn.attention import MultiHeadSelfAttention
from heedful.nn.layers import EncoderLayer


def build_model(
    config: ModelConfig,
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    pad_id: int,
    generator: torch.Generator | None = None,
) -> EncoderDecoder:
    """Build the model that `config` describes, its weights drawn from `generator` (the default one when None)."""
    model = construct_model(
        config, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, pad_id=pad_id
    )
    initialization.initialize(model, generator)
    return model


def construct_model(
    config: ModelConfig, *, source_vocab_size: int, target_vocab_size: int, pad_id: int
) -> EncoderDecoder:
    """Build the model that `config` describes with nothing in its weights, for those who bring their own."""
    with _NothingDrawn():
        match config:
            case TransformerConfig():
                return _construct_transformer(config, source_vocab_size, target_vocab_size, pad_id)
            case RecurrentConfig():
                return RecurrentModel(
                    source_vocab_size=source_vocab_size,
                    target_vocab_size=target_vocab_size,
                    dim=config.dim,
                    num_encoder_layers=config.num_encoder_layers,
                    num_decoder_layers=config.num_decoder_layers,
                    tying=config.tying,
                    dropout=config.dropout,
                )


def num_parameters(config: ModelConfig, source_vocab_size: int, target_vocab_size: int) -> int:
    """Count the trained numbers of the model that `config` describes, without memory for any of them."""
    sizes = {"source_vocab_size": source_vocab_size, "target_vocab_size": target_vocab_size}
    return sum(map(math.prod, parameter_shapes(lambda: construct_model(config, **sizes, pad_id=0)).values()))


def build_classifier(
    config: classification.ClassifierConfig,
    *,
    vocab_size: int,
    num_labels: int,
    pad_id: int,
    generator: torch.Generator | None = None,
) -> ClassifierModel:
    """Build the classifier that `config` describes, its weights drawn from `generator` (the default one when None)."""
    built = construct_classifier(config, vocab_size=vocab_size, num_labels=num_labels, pad_id=pad_id)
    initialization.initialize(built, generator)
    nn.init.zeros_(built.output.weight)  # pooled states can be large: no label should be favoured before it is learned
    return built


def construct_classifier(
    config: classification.ClassifierConfig, *, vocab_size: int, num_labels: int, pad_id: int
) -> ClassifierModel:
    """Build the classifier that `config` describes with nothing in its weights, for those who bring their own."""
    embedding, path = config.ngram_embedding, config.naive_bayes
    with _NothingDrawn():
        return ClassifierModel(
            vocab_size=vocab_size,
            num_labels=num_labels,
            pad_id=pad_id,
            dim=config.dim,
            layers=[_build_layer(config) for _ in range(config.num_layers)],
            final_norm=isinstance(config.layer, classification.TransformerLayer) and config.layer.norm == "pre",
            positions=_build_positions(config.positions, config.dim),
            pooling=config.pooling,
            window=config.longest,
            ngram_embedding=None
            if embedding is None
            else ngrams.NgramEmbedding(up_to=embedding.up_to, num_buckets=embedding.num_buckets, dim=config.dim),
            naive_bayes=None
            if path is None
            else ngrams.NaiveBayesPath(
                up_to=path.up_to, num_buckets=path.num_buckets, num_labels=num_labels, dropout=path.dropout
            ),
            naive_bayes_share=0.5 if path is None else path.share,
            dropout=config.dropout,
            token_dropout=config.token_dropout,
        )


def build_language_model(
    config: TransformerXLConfig | LanguageModelConfig, *, vocab_size: int, generator: torch.Generator | None = None
) -> TransformerXL | LanguageModel:
    """Build the language model that `config` describes, its weights drawn from `generator`."""
    model = construct_language_model(config, vocab_size=vocab_size)
    initialization.initialize(model, generator)
    return model


def construct_language_model(
    config: TransformerXLConfig | LanguageModelConfig, *, vocab_size: int
) -> TransformerXL | LanguageModel:
    """Build the language model that `config` describes with nothing in its weights."""
    with _NothingDrawn():
        match config:
            case TransformerXLConfig():
                return _construct_transformer_xl(config, vocab_size)
            case LanguageModelConfig():
                return _construct_plain_language_model(config, vocab_size)


def parameter_shapes(construct: Callable[[], nn.Module]) -> dict[str, tuple[int, ...]]:
    """Return the shape of every parameter of the model that `construct` builds, without memory for any of them."""
    with torch.device("meta"):
        return {name: tuple(parameter.shape) for name, parameter in construct().named_parameters()}


def count_parameters(model: nn.Module) -> int:
    """Count the trained numbers of a model, a shared matrix once."""
    return sum(parameter.numel() for parameter in model.parameters())


class _NothingDrawn(TorchFunctionMode):
    """Keeps modules from drawing the random weights they start with, which nobody would see.

    What holds them is then memory that was asked for and never touched.
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


def _construct_transformer(
    config: TransformerConfig, source_vocab_size: int, target_vocab_size: int, pad_id: int
) -> Transformer:
    return Transformer(
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
        pad_id=pad_id,
        source_positions=_build_positions(config.positions, config.dim),
        target_positions=_build_positions(config.positions, config.dim),
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


def _construct_transformer_xl(config: TransformerXLConfig, vocab_size: int) -> TransformerXL:
    return TransformerXL(
        vocab_size=vocab_size,
        dim=config.dim,
        num_heads=config.num_heads,
        hidden_dim=config.hidden_dim,
        num_layers=config.num_layers,
        norm=config.norm,
        activation=config.activation,
        tied_biases=config.tied_biases,
        clamp_len=config.clamp_len,
        tied_output=config.tied_output,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        hidden_dropout=config.hidden_dropout,
    )


def _construct_plain_language_model(config: LanguageModelConfig, vocab_size: int) -> LanguageModel:
    return LanguageModel(
        vocab_size=vocab_size,
        positions=_build_positions(config.positions, config.dim),
        context_len=config.context_len,
        dim=config.dim,
        num_heads=config.num_heads,
        hidden_dim=config.hidden_dim,
        num_layers=config.num_layers,
        norm=config.norm,
        activation=config.activation,
        tied_output=config.tied_output,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        hidden_dropout=config.hidden_dropout,
    )


def _build_layer(config: classification.ClassifierConfig) -> nn.Module:
    """Build one layer: each kind of attention, by itself or as the paper has it."""
    dim, layer = config.dim, config.layer
    dropout = layer.attention_dropout if isinstance(layer, classification.TransformerLayer) else 0.0
    attention: basic_attention.BasicSelfAttention | MultiHeadSelfAttention
    match config.attention:
        case classification.BasicAttention():
            attention = basic_attention.BasicSelfAttention()
        case classification.ScaledAttention():
            attention = basic_attention.ScaledSelfAttention()
        case classification.ProjectedAttention():
            attention = MultiHeadSelfAttention(dim, 1, dropout)
        case classification.ManyHeads(num_heads=num_heads):
            attention = MultiHeadSelfAttention(dim, num_heads, dropout)
    if isinstance(layer, classification.AttentionLayer):
        return basic_attention.BareAttentionLayer(attention)
    if isinstance(attention, basic_attention.BasicSelfAttention):
        return basic_attention.BasicEncoderLayer(
            attention,
            dim=dim,
            hidden_dim=layer.hidden_dim,
            norm=layer.norm,
            activation=layer.activation,
            dropout=config.dropout,
            hidden_dropout=layer.hidden_dropout,
        )
    return EncoderLayer(
        dim=dim,
        num_heads=attention.num_heads,
        hidden_dim=layer.hidden_dim,
        norm=layer.norm,
        activation=layer.activation,
        dropout=config.dropout,
        attention_dropout=dropout,
        hidden_dropout=layer.hidden_dropout,
    )


def _build_positions(kind: Positions, dim: int) -> positions.Positions:
    match kind:
        case SinusoidalPositions(layout=layout):
            return positions.SinusoidalPositions(dim, layout)
        case LearnedPositions(max_len=max_len):
            return positions.LearnedPositions(dim, max_len)
        case NoPositions():
            return positions.NoPositions()
