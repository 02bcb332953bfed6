"""Chains, paths and operations against what the paper's table says, and against other ways to find them."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from heedful.studies.dependencies import felt_inputs, longest_chain, rounds_to_reach, sequential_steps
from heedful.studies.layers import FAMILIES, HEAD_DIM, RestrictedAttention, Rounds, rounds_of

CLOSED_FORMS = {
    "attention": lambda n: 1,
    "restricted": lambda n: math.ceil((n - 1) / 2),
    "recurrent": lambda n: n,
    "convolution": lambda n: math.ceil((n - 1) / 2),
    "dilated": lambda n: round(math.ceil(math.log(n, 3) - 1e-9)),
}


@pytest.mark.parametrize("family", CLOSED_FORMS)
@pytest.mark.parametrize("length", [8, 27, 40])
def test_paths_are_those_of_the_closed_forms(family: str, length: int) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(1, length, 8, dtype=torch.float64)
    assert rounds_to_reach(rounds_of(8)[family], inputs) == CLOSED_FORMS[family](length)


def spread_of_nan(rounds: Rounds, number: int, length: int) -> list[bool]:
    """Which inputs make the last output NaN when they are NaN: found without gradients."""
    reached = []
    for place in range(length):
        inputs = torch.randn(1, length, 8, dtype=torch.float64)
        inputs[0, place] = math.nan
        states = rounds.start(inputs) if rounds.start is not torch.zeros_like else torch.zeros_like(inputs)
        for this in range(number):
            states = rounds.advance(inputs, states, this)
        reached.append(bool(states[0, -1].isnan().any()))
    return reached


@pytest.mark.parametrize("family", ["attention", "recurrent", "convolution", "dilated"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_gradients_reach_as_far_as_a_spreading_nan(family: str, number: int) -> None:
    torch.manual_seed(0)
    rounds = rounds_of(8)[family]
    felt = felt_inputs(rounds, torch.randn(1, 12, 8, dtype=torch.float64), number)
    assert felt.tolist() == spread_of_nan(rounds, number, 12)


def test_rounds_of_steps_end_as_the_recurrent_layer() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(1, 9, 8, dtype=torch.float64)
    rounds = rounds_of(8)["recurrent"]
    states = rounds.start(inputs)
    for number in range(9):
        states = rounds.advance(inputs, states, number)
    again = rounds.advance(inputs, states, 9)
    assert torch.equal(states, again)


def test_restricted_attention_is_attention_with_a_band_as_mask() -> None:
    torch.manual_seed(0)
    states = torch.randn(2, 20, HEAD_DIM, dtype=torch.float64)
    places = torch.arange(20)
    band = (places.unsqueeze(0) - places.unsqueeze(1)).abs() <= 3
    expected = torch.nn.functional.scaled_dot_product_attention(states, states, states, attn_mask=band)
    torch.testing.assert_close(RestrictedAttention(3)(states), expected)


def test_the_chain_of_a_recurrent_layer_grows_by_the_same_with_each_position_and_no_other_grows() -> None:
    for name, family in FAMILIES.items():
        short, middle, long = (sequential_steps(family.build, length=n, dim=HEAD_DIM) for n in (8, 16, 24))
        if name == "recurrent":
            assert long - middle == middle - short >= 8
        else:
            assert short == middle == long


def test_a_chain_is_as_long_as_the_operations_that_wait_for_each_other() -> None:
    start = torch.ones(1, 1, 1, requires_grad=True)
    state = start
    for _ in range(5000):  # deeper than Python would recurse
        state = state.sin() + start
    assert longest_chain(state) == 2 * 5000 + 1


@pytest.mark.parametrize("family", FAMILIES)
def test_multiply_adds_are_those_that_are_counted(family: str) -> None:
    length, dim = 24, 128
    with torch.device("meta"):
        layer, inputs = FAMILIES[family].build(dim), torch.empty(1, length, dim)
    with FlopCounterMode(display=False) as counter:
        layer(inputs)
    assert counter.get_total_flops() == 2 * FAMILIES[family].multiply_adds(length, dim)
