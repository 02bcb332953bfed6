"""From a config to a model with its first weights. A new family is one more `case` of `construct_model`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from heedful.config.classification import AnyClassifier
from heedful.config.language_modeling import (
    AnyLanguageModel,
    LanguageModelConfig,
    RecurrentLanguageModelConfig,
    TransformerXLConfig,
)
from heedful.config.models import (
    ConvolutionalConfig,
    CtcConfig,
    FertilityConfig,
    ModelConfig,
    RecurrentConfig,
    TransformerConfig,
)
from heedful.models.ablations import ablate
from heedful.models.classifier import ClassifierModel
from heedful.models.convolutional import ConvolutionalModel
from heedful.models.fertility import FertilityModel
from heedful.models.interfaces import EncoderDecoder
from heedful.models.language_model import LanguageModel
from heedful.models.nonautoregressive import CtcModel
from heedful.models.recurrent import RecurrentModel
from heedful.models.recurrent_language_model import RecurrentLanguageModel
from heedful.models.transformer import Transformer
from heedful.models.transformer_xl import TransformerXL
from heedful.nn import initialization

TextReader = TransformerXL | LanguageModel | RecurrentLanguageModel
"""A language model of any family."""


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
                model = Transformer(
                    config, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, pad_id=pad_id
                )
                ablate(model, config.ablations)
                return model
            case RecurrentConfig():
                return RecurrentModel(config, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
            case ConvolutionalConfig():
                return ConvolutionalModel(
                    config, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size
                )
            case CtcConfig():
                return CtcModel(
                    config, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, pad_id=pad_id
                )
            case FertilityConfig():
                return FertilityModel(
                    config, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, pad_id=pad_id
                )


def num_parameters(config: ModelConfig, source_vocab_size: int, target_vocab_size: int) -> int:
    """Count the trained numbers of the model that `config` describes, without memory for any of them."""
    sizes = {"source_vocab_size": source_vocab_size, "target_vocab_size": target_vocab_size}
    return sum(map(math.prod, parameter_shapes(lambda: construct_model(config, **sizes, pad_id=0)).values()))


def build_classifier(
    config: AnyClassifier,
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


def construct_classifier(config: AnyClassifier, *, vocab_size: int, num_labels: int, pad_id: int) -> ClassifierModel:
    """Build the classifier that `config` describes with nothing in its weights, for those who bring their own."""
    with _NothingDrawn():
        return ClassifierModel(config, vocab_size=vocab_size, num_labels=num_labels, pad_id=pad_id)


def build_language_model(
    config: AnyLanguageModel, *, vocab_size: int, generator: torch.Generator | None = None
) -> TextReader:
    """Build the language model that `config` describes, its weights drawn from `generator`."""
    model = construct_language_model(config, vocab_size=vocab_size)
    initialization.initialize(model, generator)
    return model


def construct_language_model(config: AnyLanguageModel, *, vocab_size: int) -> TextReader:
    """Build the language model that `config` describes with nothing in its weights."""
    with _NothingDrawn():
        match config:
            case TransformerXLConfig():
                return TransformerXL(config, vocab_size=vocab_size)
            case LanguageModelConfig():
                return LanguageModel(config, vocab_size=vocab_size)
            case RecurrentLanguageModelConfig():
                return RecurrentLanguageModel(config, vocab_size=vocab_size)


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
