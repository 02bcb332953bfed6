"""Equal parameters, tokens and time: what is changed, what is refused, and that time is measured once."""

from pathlib import Path

import pytest

from heedful.comparisons.budgets import Budget, parameters_of, parse_budget, within_budget
from heedful.comparisons.candidates import Candidate, settings_that_differ
from heedful.config.load import parse_config
from heedful.errors import UserError
from heedful.text.learning import learn_tokenizer
from tests.support.small_corpus import ENGLISH, GERMAN

SETTINGS = """
name = "a"
[data]
train = [{ source = "a", target = "b" }]
validation = [{ source = "a", target = "b" }]
[tokenizer]
vocab_size = 320
[training]
max_steps = 100
batch_tokens = 1000
[model]
"""
WIDE = "dim = 64\nnum_heads = 4\nhidden_dim = 256\nnum_encoder_layers = 2\nnum_decoder_layers = 2\n"
RECURRENT = 'kind = "recurrent"\ndim = 200\nnum_encoder_layers = 1\nnum_decoder_layers = 1\n'


def candidate(label: str, model: str, *overrides: str, finished: Path | None = None) -> Candidate:
    return Candidate(label, parse_config(SETTINGS + model, overrides), finished)


@pytest.fixture(scope="module")
def tokenizer_json() -> str:
    return learn_tokenizer(parse_config(SETTINGS + WIDE).tokenizer, ENGLISH, GERMAN, []).to_json()


def never(_: object) -> float:
    raise AssertionError("nothing is to be timed")


def test_widths_are_fitted_until_parameters_are_equal(tokenizer_json: str, tmp_path: Path) -> None:
    both = [candidate("wide", WIDE), candidate("recurrent", RECURRENT)]
    said: list[str] = []
    budget = Budget(parameters=True, fit_width=True, tolerance=0.05)
    first, second = within_budget(both, budget, tokenizer_json, tmp_path, never, said.append)
    wanted = parameters_of(first.config, tokenizer_json)
    assert first == both[0]
    assert abs(parameters_of(second.config, tokenizer_json) - wanted) <= 0.05 * wanted
    assert f"its width becomes {second.config.model.dim}." in said[0]
    for dim in (second.config.model.dim - 8, second.config.model.dim + 8):  # no neighbour is nearer
        other = candidate("recurrent", RECURRENT, f"model.dim={dim}")
        assert abs(parameters_of(other.config, tokenizer_json) - wanted) >= abs(
            parameters_of(second.config, tokenizer_json) - wanted
        )


def test_unequal_parameters_are_refused_with_the_width_that_would_do(tokenizer_json: str, tmp_path: Path) -> None:
    both = [candidate("wide", WIDE), candidate("recurrent", RECURRENT)]
    with pytest.raises(UserError, match=r"recurrent has [\d,]+ parameters and wide [\d,]+\. With `model.dim` = \d+"):
        within_budget(both, Budget(parameters=True), tokenizer_json, tmp_path, never, lambda _: None)


def test_equal_tokens_are_steps_by_the_size_of_a_batch(tokenizer_json: str, tmp_path: Path) -> None:
    three = [
        candidate("a", WIDE),
        candidate("b", WIDE, "training.batch_tokens=500"),
        candidate("c", WIDE, "training.accumulate=2", "training.max_steps=7"),
    ]
    found = within_budget(three, Budget(tokens=0), tokenizer_json, tmp_path, never, lambda _: None)
    assert [it.config.training.max_steps for it in found] == [100, 200, 50]
    found = within_budget(three, Budget(tokens=30_000), tokenizer_json, tmp_path, never, lambda _: None)
    assert [it.config.training.max_steps for it in found] == [30, 60, 15]


def test_a_finished_run_of_other_length_is_refused(tokenizer_json: str, tmp_path: Path) -> None:
    both = [candidate("a", WIDE), candidate("b", WIDE, "training.max_steps=50", finished=Path("runs/b"))]
    with pytest.raises(UserError, match="must have taken 100 steps for this budget, but has taken 50"):
        within_budget(both, Budget(tokens=0), tokenizer_json, tmp_path, never, lambda _: None)


def test_time_is_turned_into_steps_once(tokenizer_json: str, tmp_path: Path) -> None:
    both = [candidate("a", WIDE), candidate("b", WIDE)]
    speeds = {"a": 2.0, "b": 3.5}
    budget = Budget(seconds=60)
    found = within_budget(both, budget, tokenizer_json, tmp_path, lambda it: speeds[it.label], lambda _: None)
    assert [it.config.training.max_steps for it in found] == [120, 210]
    assert within_budget(both, budget, tokenizer_json, tmp_path, never, lambda _: None) == found


def test_budgets_are_read_as_written() -> None:
    assert parse_budget(["parameters", "tokens=5"], fit_width=True, tolerance=0.1) == Budget(True, True, 0.1, 5)
    assert parse_budget(["time=2m"], fit_width=False, tolerance=0.1).seconds == 120
    assert parse_budget(["time=90"], fit_width=False, tolerance=0.1).seconds == 90
    for wrong in (["tokens=0"], ["time="], ["time=nan"], ["time=-3"], ["parameters=4"], ["tokens", "time=3"]):
        with pytest.raises(UserError, match="`--budget` must be"):
            parse_budget(wrong, fit_width=False, tolerance=0.1)


def test_settings_that_differ_are_told_for_each() -> None:
    three = [candidate("a", WIDE), candidate("b", WIDE, "model.dim=32", "seed=5"), candidate("c", WIDE)]
    assert settings_that_differ(three) == {"model.dim": [64, 32, 64]}
