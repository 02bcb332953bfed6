"""A translator small enough to be made in every test, with several layers and heads of drawn weights."""

from dataclasses import replace
from functools import cache

import torch

from heedful.config.model import TransformerConfig
from heedful.insight.tracing_translator import TracingTranslator
from heedful.models import build_model, weights_of
from heedful.models.transformer import Transformer
from heedful.tasks.loading import translator_of

from ..tasks.tiny_models import make_model

SENTENCE = "where is the station"


def draw_model(norm: str = "post", *, vocab: int = 30, seed: int = 0) -> Transformer:
    """A model of 3 encoder and 2 decoder layers with 2 heads of 16 features."""
    config = TransformerConfig(
        dim=32, num_heads=2, hidden_dim=48, num_encoder_layers=3, num_decoder_layers=2, norm=norm, dropout=0.1
    )
    generator = torch.Generator().manual_seed(seed)
    model = build_model(config, source_vocab_size=vocab, target_vocab_size=vocab, pad_id=0, generator=generator)
    return model.eval()


@cache
def small_translator(norm: str = "post", languages: tuple[str, ...] = (), quantize: str = "none") -> TracingTranslator:
    folder = make_model(languages=languages)
    config = folder.model.model_copy(update={"num_encoder_layers": 3, "num_decoder_layers": 2, "norm": norm})
    sizes = {"source_vocab_size": folder.source_vocab_size, "target_vocab_size": folder.target_vocab_size}
    generator = torch.Generator().manual_seed(3)
    model = build_model(config, **sizes, pad_id=folder.special_ids.pad, generator=generator)
    folder = replace(folder, model=config, weights=weights_of(model))
    translator = translator_of([folder], torch.device("cpu"), quantize=quantize, kind=TracingTranslator)
    assert isinstance(translator, TracingTranslator)
    return translator
