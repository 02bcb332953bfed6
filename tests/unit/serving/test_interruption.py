"""A model whose search can be stopped: before it reads, while it reads, between two steps; and is otherwise itself."""

from functools import partial

import pytest
import torch
from torch import Tensor

from heedful.config.models import TransformerConfig
from heedful.engines.int8.engine import Int8Transformer
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.serving.interruption import InterruptibleModel
from heedful.serving.request_queue import AbandonedError

LAYERS = 3

pytestmark = pytest.mark.skipif(not Int8Transformer.is_available(), reason="needs a C++ compiler")


def make_engine() -> Int8Transformer:
    config = TransformerConfig(dim=64, num_heads=2, hidden_dim=128, num_encoder_layers=LAYERS, num_decoder_layers=1)
    generator = torch.Generator().manual_seed(1)
    model = build_model(config, source_vocab_size=50, target_vocab_size=50, pad_id=0, generator=generator).eval()
    assert isinstance(model, Transformer)
    return Int8Transformer(model, threads=1)


def source() -> tuple[Tensor, Tensor]:
    return torch.arange(4, 10).unsqueeze(0), torch.ones(1, 6, dtype=torch.bool)


def test_a_text_nobody_waits_for_is_not_read_to_its_end() -> None:
    engine = make_engine()
    num_asked = 0

    def is_abandoned_at(number: int) -> bool:
        nonlocal num_asked
        num_asked += 1
        return num_asked == number

    asked_in_all = LAYERS + 2  # before anything, before each layer, before the decoder's keys and values
    for number in range(1, asked_in_all + 1):
        num_asked = 0
        model = InterruptibleModel(engine, partial(is_abandoned_at, number))
        with pytest.raises(AbandonedError):
            model.start(*source(), max_rows=1, max_len=2)
        assert num_asked == number
    state = InterruptibleModel(engine, lambda: False).start(*source(), max_rows=1, max_len=2)
    with pytest.raises(AbandonedError):
        InterruptibleModel(engine, lambda: True).step(state, torch.ones(1, dtype=torch.int64), None)


def test_what_is_not_interrupted_is_the_model_s_own() -> None:
    engine = make_engine()
    token_ids = torch.ones(1, dtype=torch.int64)
    model = InterruptibleModel(engine, lambda: False)
    watched = model.step(model.start(*source(), max_rows=1, max_len=1), token_ids, None)
    assert torch.equal(watched, engine.step(engine.start(*source(), max_rows=1, max_len=1), token_ids))
