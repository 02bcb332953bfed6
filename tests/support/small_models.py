"""A translator small enough to be made in every test, with several layers and heads of drawn weights."""

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from heedful.config.models import TransformerConfig
from heedful.insight.trace import Trace
from heedful.insight.tracing_translator import TracingTranslator
from heedful.models import build_model
from heedful.models.transformer import Transformer
from heedful.storage.model_folder import weights_of
from heedful.tasks.translation.load import translator_of
from heedful.text.tokens import Token
from tests.support.tiny_models import make_model

SENTENCE = "where is the station"
USES = ("encoder", "decoder", "cross")
"""What a Transformer attends for."""


def draw_model(norm: str = "post", *, vocab: int = 30, seed: int = 0) -> Transformer:
    """A model of 3 encoder and 2 decoder layers with 2 heads of 16 features."""
    config = TransformerConfig(
        dim=32, num_heads=2, hidden_dim=48, num_encoder_layers=3, num_decoder_layers=2, norm=norm, dropout=0.1
    )
    generator = torch.Generator().manual_seed(seed)
    model = build_model(config, source_vocab_size=vocab, target_vocab_size=vocab, pad_id=0, generator=generator)
    assert isinstance(model, Transformer)
    return model.eval()


@cache
def small_translator(norm: str = "post", languages: tuple[str, ...] = (), quantize: str = "none") -> TracingTranslator:
    folder = make_model(languages=languages)
    described = folder.description
    config = described.model.model_copy(update={"num_encoder_layers": 3, "num_decoder_layers": 2, "norm": norm})
    sizes = {
        "source_vocab_size": described.source_vocab_size,
        "target_vocab_size": described.target_vocab_size,
    }
    generator = torch.Generator().manual_seed(3)
    model = build_model(config, **sizes, pad_id=described.special_ids.pad, generator=generator)
    folder = replace(folder, description=described.changed(model=config), weights=weights_of(model))
    translator = translator_of([folder], torch.device("cpu"), quantize=quantize, kind=TracingTranslator)
    assert isinstance(translator, TracingTranslator)
    return translator


def large_trace(trace: Trace) -> Trace:
    """A trace of 60 by 60 tokens with 6 layers of 8 heads of drawn weights, in all else like the one given."""
    tokens = tuple(Token("▁wunderbar", 12345, 4 * i, 4 * i + 4) for i in range(60))
    texts = {"source": "wor " * 60, "text": "wor " * 60}
    weights = {kind: random_weights(6, 8, 60, 60) for kind in USES}
    parts = {"source_tokens": tokens, "target_tokens": tokens, "input_tokens": tokens, "steps": trace.steps[:1] * 60}
    return replace(trace, **texts, **parts, weights=weights)


def random_weights(*shape: int) -> np.ndarray:
    """Rows of weights that sum to one."""
    weights = np.random.default_rng(0).gamma(0.3, size=shape).astype(np.float32)
    return weights / weights.sum(axis=-1, keepdims=True)
