"""The 8-bit engine against the readable model.

When the float model's matrices are rounded to the engine's bytes, and what goes into them to the engine's steps, both
compute the same function. What is left comes of activations halfway between two steps, which may go to the one here and
to the other there: every difference beyond that is a mistake in the engine.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.config.models import LearnedPositions, NoPositions, SinusoidalPositions, TransformerConfig
from heedful.engines.int8.engine import Int8Transformer
from heedful.engines.int8.library import NativeUnavailableError
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.nn.embedding import OutputProjection
from heedful.storage.quantized_weights import quantize_rows
from tests.support.families import as_transformer
from tests.support.searches import search

VOCAB = 515  # no multiple of anything: the last group of outputs is partly empty

CONFIGS = {
    "paper": {"norm": "post", "tying": "three_way", "activation": "relu", "positions": SinusoidalPositions()},
    "marian": {"norm": "post", "tying": "three_way", "activation": "swish", "output_bias": True},
    "pre-norm": {
        "norm": "pre",
        "tying": "two_way",
        "activation": "gelu",
        "positions": LearnedPositions(kind="learned"),
    },
    "untied": {"norm": "pre", "tying": "none", "activation": "relu", "positions": NoPositions(kind="none")},
}


def quantized_model(seed: int = 0, **settings: Any) -> Transformer:
    """Build a small model whose matrices the engine can hold exactly."""
    shape = {"dim": 64, "num_heads": 4, "hidden_dim": 128, "num_encoder_layers": 2, "num_decoder_layers": 2}
    generator = torch.Generator().manual_seed(seed)
    config = TransformerConfig.model_validate({**shape, **settings})
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "positions" not in name:
                values, scales = quantize_rows(parameter)
                parameter.copy_(values * scales.unsqueeze(1))
            else:  # biases and gains start at 0 and 1, where a forgotten one would not show
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return as_transformer(model)


def round_activations(model: Transformer, engine: Int8Transformer) -> list[float]:
    """Let every matrix of the model get its input as the engine would hand it over.

    Returns a list that tells, for every input, how far its activations were from the middle between two steps.
    """
    distances: list[float] = []

    def rounded(_: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        [x] = inputs
        steps = x.abs().amax(dim=-1, keepdim=True) / engine.largest_activation(x.size(-1))
        distances.append((((x / steps) % 1.0) - 0.5).abs().min().item())
        return (x / steps).round() * steps

    for module in model.modules():
        if isinstance(module, nn.Linear | OutputProjection):
            module.register_forward_pre_hook(rounded)
    return distances


def sentences() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    source_ids = torch.randint(4, VOCAB, (5, 9), generator=generator)
    source_mask = torch.ones(5, 9, dtype=torch.bool)
    source_mask[1, 5:] = False
    source_mask[3, 1:] = False
    return source_ids, source_mask


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("threads", [1, 3])
def test_steps_equal_the_float_model_through_any_rearrangement_of_rows(name: str, threads: int) -> None:
    model = quantized_model(**CONFIGS[name])
    engine = Int8Transformer(model, threads=threads)
    round_activations(model, engine)
    source_ids, source_mask = sentences()
    theirs = model.start(source_ids, source_mask, max_rows=20, max_len=10)
    ours = engine.start(source_ids, source_mask, max_rows=20, max_len=10)
    generator = torch.Generator().manual_seed(2)
    token_ids, parents = torch.ones(5, dtype=torch.int64), None
    differences: list[float] = []
    for rows in (20, 20, 13, 7, 9, 3, 2, 2, 1, 1):
        both = engine.step(ours, token_ids, parents), model.step(theirs, token_ids, parents)
        differences += (both[0] - both[1]).abs().amax(dim=-1).tolist()
        parents = torch.randint(0, len(token_ids), (rows,), generator=generator)
        token_ids = torch.randint(4, VOCAB, (rows,), generator=generator)
    assert sorted(differences)[int(0.7 * len(differences))] < 1e-3, "most rows meet no activation between two steps"
    assert max(differences) < 0.15, "of logits that reach 3 and more"


@pytest.mark.parametrize("name", CONFIGS)
def test_where_no_activation_is_between_two_steps_every_logit_is_the_same(name: str) -> None:
    """A few tokens have few activations: with some weights none of them can go one way here and the other way there."""
    for seed in range(100):
        model = quantized_model(seed, **CONFIGS[name])
        engine = Int8Transformer(model, threads=2)
        distances = round_activations(model, engine)
        source_ids = torch.randint(4, VOCAB, (1, 4), generator=torch.Generator().manual_seed(seed))
        source_mask = torch.tensor([[True, True, True, False]])
        decodables: list[Any] = [engine, model]
        states = [one.start(source_ids, source_mask, max_rows=2, max_len=2) for one in decodables]
        logits = []
        for token_ids, parents in ((torch.tensor([1]), None), (torch.tensor([7, 300]), torch.tensor([0, 0]))):
            logits.append([one.step(state, token_ids, parents) for one, state in zip(decodables, states, strict=True)])
        if min(distances) > 2e-4:
            break
    else:
        pytest.fail("of a hundred models not one is without a tie")
    for ours, theirs in logits:
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)


def test_the_best_tokens_are_those_of_the_full_distribution() -> None:
    engine = Int8Transformer(quantized_model(), threads=2)
    source_ids, source_mask = sentences()
    token_ids = torch.ones(5, dtype=torch.int64)
    logits = engine.step(engine.start(source_ids, source_mask, max_rows=5, max_len=1), token_ids)
    for count in (1, 7, VOCAB, VOCAB + 10):
        state = engine.start(source_ids, source_mask, max_rows=5, max_len=1)
        log_probs, ids = engine.step_best(state, token_ids, count=count)
        expected, expected_ids = logits.log_softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
        assert log_probs.shape == (5, min(count, VOCAB))
        torch.testing.assert_close(log_probs, expected[:, :count], atol=1e-5, rtol=0)
        assert torch.equal(ids, expected_ids[:, :count])


def test_a_sentence_gets_the_same_bits_alone_and_in_company() -> None:
    engine = Int8Transformer(quantized_model(), threads=2)
    source_ids, source_mask = sentences()
    together = engine.step(
        engine.start(source_ids, source_mask, max_rows=5, max_len=1), torch.ones(5, dtype=torch.int64)
    )
    for row in range(5):
        ids = source_ids[row : row + 1, : int(source_mask[row].sum())]
        alone = engine.step(engine.start(ids, None, max_rows=1, max_len=1), torch.ones(1, dtype=torch.int64))
        assert torch.equal(alone[0], together[row])


def test_a_nan_in_the_weights_reaches_the_log_probabilities() -> None:
    model = quantized_model()
    with torch.no_grad():
        model.decoder.layers[0].cross_attention_residual.norm.bias[3] = torch.nan
    engine = Int8Transformer(model, threads=1)
    state = engine.start(*sentences(), max_rows=5, max_len=1)
    log_probs, ids = engine.step_best(state, torch.ones(5, dtype=torch.int64), count=3)
    assert log_probs.isnan().all()
    assert ((ids >= 0) & (ids < VOCAB)).all()


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", [0, VOCAB - 1])
def test_a_broken_output_bias_gives_no_log_probability_and_no_id_beyond_the_vocabulary(
    broken: float, place: int
) -> None:
    model = quantized_model(output_bias=True)
    with torch.no_grad():
        model.output_projection.bias[place] = broken
    engine = Int8Transformer(model, threads=2)
    state = engine.start(*sentences(), max_rows=5, max_len=1)
    log_probs, ids = engine.step_best(state, torch.ones(5, dtype=torch.int64), count=VOCAB)
    assert log_probs.isnan().all()
    assert ((ids >= 0) & (ids < VOCAB)).all()


def test_minus_infinity_in_the_output_bias_is_a_token_that_is_never_chosen() -> None:
    model = quantized_model(output_bias=True)
    with torch.no_grad():
        model.output_projection.bias[4:] = -torch.inf
    engine = Int8Transformer(model, threads=2)
    state = engine.start(*sentences(), max_rows=5, max_len=1)
    log_probs, ids = engine.step_best(state, torch.ones(5, dtype=torch.int64), count=6)
    assert torch.allclose(log_probs[:, :4].exp().sum(dim=-1), torch.ones(5), atol=1e-5)
    assert (log_probs[:, 4:] == -torch.inf).all()
    assert ((ids >= 0) & (ids < VOCAB)).all()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_search_finds_what_it_finds_with_the_float_model(beam_size: int) -> None:
    model = quantized_model(seed=3)
    source_ids, source_mask = sentences()
    decodables: list[Any] = [model, Int8Transformer(model, threads=2)]
    found = [
        search(
            decodable, source_ids, source_mask, bos_id=1, eos_id=2, max_lengths=[12] * 5, beam_size=beam_size, n_best=1
        )
        for decodable in decodables
    ]
    same = [a[0].token_ids == b[0].token_ids for a, b in zip(*found, strict=True)]
    assert sum(same) >= 4, "random weights may put two tokens within the rounding of each other, but not often"


def test_a_width_the_engine_cannot_hold_is_said() -> None:
    model = quantized_model(dim=20, num_heads=2)
    with pytest.raises(
        NativeUnavailableError, match=r"`dim` to be a multiple of (8|16) on this processor, but it is 20\."
    ):
        Int8Transformer(model)
