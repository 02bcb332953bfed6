"""Whole models, each read beside its paper. `build.py` is the only switchboard between configs and models."""

from heedful.models.build import build_model, count_parameters
from heedful.models.cache import DecoderCache
from heedful.models.folder import (
    ModelFolder,
    SpecialIds,
    load_model_folder,
    model_card,
    restore_model,
    save_model_folder,
    weights_of,
)
from heedful.models.transformer import Transformer

__all__ = [
    "DecoderCache",
    "ModelFolder",
    "SpecialIds",
    "Transformer",
    "build_model",
    "count_parameters",
    "load_model_folder",
    "model_card",
    "restore_model",
    "save_model_folder",
    "weights_of",
]
