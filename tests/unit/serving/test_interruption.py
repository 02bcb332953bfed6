"""A generator that can be stopped: before it reads, while it reads, between two steps; and is otherwise itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.config.models import TransformerConfig
from heedful.decoding import Decodable, Ensemble, Hypothesis, SearchRequest, Stepwise
from heedful.engines.int8.engine import Int8Transformer
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.serving.interruption import Interruptible
from heedful.serving.request_queue import AbandonedError
from heedful.tasks.translation.load import load_translator
from tests.support.families import as_transformer
from tests.support.generators import CopyingGenerator

LAYERS, STEPS = 3, 4
REQUEST = SearchRequest(bos_id=1, eos_id=2, max_lengths=[STEPS])


class Patience:
    """Somebody who waits until asked for the n-th time."""

    def __init__(self, ends_at: int) -> None:
        self.ends_at = ends_at
        self.num_asked = 0

    def __call__(self) -> bool:
        self.num_asked += 1
        return self.num_asked == self.ends_at


def make_model() -> Transformer:
    config = TransformerConfig(dim=64, num_heads=2, hidden_dim=128, num_encoder_layers=LAYERS, num_decoder_layers=1)
    generator = torch.Generator().manual_seed(1)
    return as_transformer(
        build_model(config, source_vocab_size=50, target_vocab_size=50, pad_id=0, generator=generator).eval()
    )


def source() -> tuple[Tensor, Tensor]:
    return torch.arange(4, 10).unsqueeze(0), torch.ones(1, 6, dtype=torch.bool)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("kind", ["int8", "float", "ensemble"])
def test_a_text_nobody_waits_for_is_neither_read_nor_written_to_its_end(kind: str, beam_size: int) -> None:
    if kind == "int8" and not Int8Transformer.is_available():
        pytest.skip("needs a C++ compiler")
    model: Decodable[Any] = make_model() if kind == "float" else Ensemble([make_model(), make_model()])
    if kind == "int8":
        model = Int8Transformer(make_model(), threads=1)
    # Before anything, before each encoder (of the engine each of its layers, and what the decoder keeps), and before
    # each step.
    asked_in_all = 1 + {"float": 1, "ensemble": 2, "int8": LAYERS + 1}[kind] + STEPS
    request = SearchRequest(bos_id=1, eos_id=2, max_lengths=[STEPS], min_length=STEPS, beam_size=beam_size)
    for number in range(1, asked_in_all + 1):
        patience = Patience(number)
        with pytest.raises(AbandonedError):
            Interruptible(Stepwise(model), patience).generate(*source(), request)
        assert patience.num_asked == number
    patience = Patience(asked_in_all + 1)
    assert Interruptible(Stepwise(model), patience).generate(*source(), request)
    assert patience.num_asked == asked_in_all


def test_a_generator_without_steps_is_asked_only_when_somebody_waits() -> None:
    copier = CopyingGenerator()
    with pytest.raises(AbandonedError):
        Interruptible(copier, lambda: True).generate(*source(), REQUEST)
    assert not copier.requests
    assert Interruptible(copier, lambda: False).generate(*source(), REQUEST)


def test_what_is_not_interrupted_is_the_generator_s_own_and_greedy_search_tells_its_tokens() -> None:
    generator = Stepwise(make_model())
    heard: list[tuple[int, list[int]]] = []

    def hear(sentence: int, token_ids: Sequence[int]) -> None:
        heard.append((sentence, list(token_ids)))

    def found(beam_size: int) -> list[list[Hypothesis]]:
        request = SearchRequest(bos_id=1, eos_id=2, max_lengths=[3, 5], min_length=9, beam_size=beam_size)
        source_ids, source_mask = source()
        both = torch.cat([source_ids, source_ids + 1]), torch.cat([source_mask, source_mask])
        watched = Interruptible(generator, lambda: False, hear).generate(*both, request)
        assert watched == generator.generate(*both, request)
        return watched

    for sentence, [hypothesis] in enumerate(found(beam_size=1)):
        assert [token for number, tokens in heard if number == sentence for token in tokens] == hypothesis.token_ids
    assert [len(tokens) for _, tokens in heard] == [1] * 8, "each token is told as soon as it is written"
    heard.clear()
    found(beam_size=2)
    assert not heard, "a beam search may still change its mind"


def test_a_translator_finds_its_model_beneath() -> None:
    translator = load_translator(device="cpu")
    wrapped = replace(translator, generator=Interruptible(translator.generator, lambda: False))
    assert wrapped.engine == translator.engine
    assert wrapped.readable_model is translator.readable_model
