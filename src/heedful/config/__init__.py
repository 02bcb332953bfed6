"""The typed description of a run: what can be set, how it is read from TOML, and presets. No torch."""

from heedful.config.data import Corpus, DataConfig, FilterConfig, JsonlCorpus, LineCorpus, TokenizerConfig, TsvCorpus
from heedful.config.load import changed_settings, dump_toml, load_config, parse_config
from heedful.config.models import ModelConfig, TransformerConfig
from heedful.config.presets import PRESETS, deep_shallow, transformer_base, transformer_big, transformer_tiny
from heedful.config.training import DecodingConfig, TrainingConfig, ValidationConfig
from heedful.config.translation import TranslationRun

__all__ = [
    "PRESETS",
    "Corpus",
    "DataConfig",
    "DecodingConfig",
    "FilterConfig",
    "JsonlCorpus",
    "LineCorpus",
    "ModelConfig",
    "TokenizerConfig",
    "TrainingConfig",
    "TransformerConfig",
    "TranslationRun",
    "TsvCorpus",
    "ValidationConfig",
    "changed_settings",
    "deep_shallow",
    "dump_toml",
    "load_config",
    "parse_config",
    "transformer_base",
    "transformer_big",
    "transformer_tiny",
]
