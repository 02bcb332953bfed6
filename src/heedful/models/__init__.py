"""Whole models, each read beside its paper. `build.py` is the only switchboard between configs and models."""

from heedful.models.build import build_model, count_parameters
from heedful.models.cache import DecoderCache
from heedful.models.transformer import Transformer

__all__ = ["DecoderCache", "Transformer", "build_model", "count_parameters"]
