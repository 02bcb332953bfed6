"""Scoring texts: every symbol once, whatever the rows; and a model that learns while it is scored."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.evaluation.dynamic import Adaptation, _Moves, mean_squares, score_dynamically
from heedful.evaluation.likelihood import Likelihood, score_symbols
from heedful.models.build import TextReader, build_language_model

VOCAB = 7
XL = TransformerXLConfig(dim=16, num_heads=2, hidden_dim=32, num_layers=2, dropout=0.0)
PLAIN = LanguageModelConfig(
    kind="language_model", dim=16, num_heads=2, hidden_dim=32, num_layers=2, dropout=0.0, context_len=64
)


def built(config: LanguageModelConfig | TransformerXLConfig) -> TextReader:
    return build_language_model(config, vocab_size=VOCAB, generator=torch.Generator().manual_seed(1)).eval()


def text(length: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, VOCAB, length)


class Counting:
    """A model that has no memory and gives each symbol its own fixed probability, and counts what it is asked."""

    def __init__(self, log_probs: torch.Tensor) -> None:
        self.log_probs, self.num_read = log_probs, 0

    def reader(self, rows: int, *, memory_len: int, segment_len: int = 1) -> "Counting":
        return self

    def read(self, token_ids: torch.Tensor) -> torch.Tensor:
        self.num_read += token_ids.numel()
        return self.log_probs.expand(*token_ids.shape, -1)


@settings(max_examples=80)
@given(
    length=st.integers(1, 60),
    rows=st.integers(1, 7),
    memory_len=st.integers(0, 20),
    segment_len=st.integers(1, 9),
)
def test_every_symbol_is_scored_exactly_once(length: int, rows: int, memory_len: int, segment_len: int) -> None:
    log_probs = torch.log_softmax(torch.arange(VOCAB, dtype=torch.float64), dim=0)
    ids = text(length)
    model = Counting(log_probs)
    nats = score_symbols(model, ids, start_id=0, memory_len=memory_len, segment_len=segment_len, rows=rows)
    assert nats == pytest.approx(-log_probs[torch.from_numpy(ids)].sum().item(), rel=1e-5)


@pytest.mark.parametrize("config", [XL, PLAIN])
def test_a_text_within_the_memory_is_scored_as_if_read_at_once(
    config: LanguageModelConfig | TransformerXLConfig,
) -> None:
    model, ids = built(config), text(40)
    inputs = torch.from_numpy(np.append([3], ids[:-1])).unsqueeze(0)
    hidden, _ = model(inputs, model.empty_memory(1, 0))
    expected = torch.nn.functional.cross_entropy(
        model.project(hidden)[0], torch.from_numpy(ids), reduction="sum"
    ).item()
    for segment_len in (1, 7, 40):
        nats = score_symbols(model, ids, start_id=3, memory_len=40, segment_len=min(segment_len, 24))
        assert nats == pytest.approx(expected, rel=1e-5)


def test_rows_side_by_side_begin_with_a_full_memory() -> None:
    """A model of one layer sees its memory and no further, so reading in parts changes nothing at all."""
    model, ids = built(XL.model_copy(update={"num_layers": 1})), text(120)
    one = score_symbols(model, ids, start_id=0, memory_len=12, segment_len=4, rows=1)
    four = score_symbols(model, ids, start_id=0, memory_len=12, segment_len=4, rows=4)
    # Parts begin in the middle of a segment of the whole, so that a few symbols see up to a segment more or less.
    assert four == pytest.approx(one, rel=2e-3)
    cold = score_symbols(model, ids, start_id=0, memory_len=0, segment_len=4, rows=4)
    assert cold != pytest.approx(one, rel=1e-6)


def test_the_numbers_of_a_likelihood() -> None:
    found = Likelihood(nats=100 * math.log(2), num_symbols=50, num_bytes=80)
    assert found.loss == pytest.approx(2 * math.log(2))
    assert found.perplexity == pytest.approx(4.0)
    assert found.bits_per_byte == pytest.approx(100 / 80)


def repeated(length: int) -> np.ndarray:
    return np.tile([1, 5, 2, 2, 6, 0], length)[:length]


@pytest.mark.parametrize("config", [XL, PLAIN])
@pytest.mark.parametrize("kind", ["sgd", "rms"])
def test_a_model_that_adapts_gets_used_to_a_text_and_is_itself_again_afterwards(
    config: LanguageModelConfig | TransformerXLConfig, kind: str
) -> None:
    model, ids = built(config), repeated(240)
    memory_len = 8 if config is XL else 0
    reading = {"start_id": 0, "memory_len": memory_len, "segment_len": 12}
    before = {name: value.clone() for name, value in model.state_dict().items()}
    squares = mean_squares(model, text(60), **reading) if kind == "rms" else None
    rate = 0.2 if kind == "sgd" else 2e-3
    plain = score_dynamically(model, ids, Adaptation(kind, rate=0.0, decay=0.0), squares=squares, **reading)
    adapted = score_dynamically(model, ids, Adaptation(kind, rate=rate, decay=1e-3), squares=squares, **reading)
    assert adapted < 0.8 * plain
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    # Pulled back all the way after each step it learns only from the last one.
    held = score_dynamically(model, ids, Adaptation("sgd", rate=0.2, decay=1.0), **reading)
    assert held > adapted


def test_without_a_rate_dynamic_evaluation_is_evaluation() -> None:
    model, ids = built(XL), text(50)
    reading = {"start_id": 0, "memory_len": 8, "segment_len": 12}
    still = score_dynamically(model, ids, Adaptation("sgd", rate=0.0, decay=0.0), **reading)
    assert still == pytest.approx(score_symbols(model, ids, **reading), rel=1e-5)


def test_no_symbol_is_learned_from_before_it_is_scored() -> None:
    """The score of the first segment cannot depend on the rate, nor on what comes after it."""
    model = built(XL)
    reading = {"start_id": 0, "memory_len": 8, "segment_len": 12}
    first = text(12)
    scores = [
        score_dynamically(model, first, Adaptation("sgd", rate=rate, decay=0.0), **reading) for rate in (0.0, 1.0)
    ]
    assert scores[0] == scores[1]


def test_one_step_of_each_rule_in_numbers() -> None:
    one, other = torch.nn.Parameter(torch.tensor([1.0, 2.0])), torch.nn.Parameter(torch.tensor([[3.0]]))
    named = {"one": one, "other": other}
    with torch.no_grad():
        sgd = _Moves(named, Adaptation("sgd", rate=0.5, decay=0.1), None)
        sgd.apply([torch.tensor([1.0, -1.0]), torch.tensor([[2.0]])])
        torch.testing.assert_close(one.detach(), torch.tensor([0.5, 2.5]))
        torch.testing.assert_close(other.detach(), torch.tensor([[2.0]]))
        sgd.apply([torch.zeros(2), torch.zeros(1, 1)])
        torch.testing.assert_close(one.detach(), torch.tensor([0.55, 2.45]))
        torch.testing.assert_close(other.detach(), torch.tensor([[2.1]]))
        squares = {"other": torch.tensor([[1.0]]), "one": torch.tensor([4.0, 16.0])}
        rms = _Moves(named, Adaptation("rms", rate=0.5, decay=0.1, epsilon=0.0), squares)
        rms.apply([torch.tensor([2.0, 4.0]), torch.tensor([[1.0]])])
        torch.testing.assert_close(one.detach(), torch.tensor([0.05, 1.95]))
        torch.testing.assert_close(other.detach(), torch.tensor([[1.6]]))
        rms.apply([torch.zeros(2), torch.zeros(1, 1)])  # back by 0.1 times 2/3 and 4/3 of the way
        torch.testing.assert_close(one.detach(), torch.tensor([0.05 + 0.5 / 15, 1.95 + 1.0 / 15]))
        torch.testing.assert_close(other.detach(), torch.tensor([[1.65]]))
