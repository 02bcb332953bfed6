"""The four terms of Transformer-XL: the fast form is the textbook one, and the shift is the look-up it replaces."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.nn.initialization import initialize
from heedful.nn.positions import sinusoidal_table
from heedful.nn.relative_attention import (
    GlobalBiases,
    RelativePositions,
    RelativeSelfAttention,
    attend_relative,
    attend_relative_fused,
    distances,
    shift,
    shift_by_lookup,
)

lengths = st.integers(min_value=1, max_value=9)


def inputs(query_len: int, memory_len: int, seed: int = 0) -> list[torch.Tensor]:
    """Queries, keys, values, distance keys and the two biases of 2 rows and 3 heads of width 4."""
    generator = torch.Generator().manual_seed(seed)
    key_len = query_len + memory_len
    shapes = [(2, 3, query_len, 4), (2, 3, key_len, 4), (2, 3, key_len, 4), (3, key_len, 4), (3, 4), (3, 4)]
    return [torch.randn(shape, generator=generator, requires_grad=True) for shape in shapes]


@given(query_len=lengths, memory_len=st.integers(min_value=0, max_value=9), seed=st.integers(0, 999))
def test_the_efficient_shift_is_the_look_up_wherever_one_may_look(query_len: int, memory_len: int, seed: int) -> None:
    key_len = query_len + memory_len
    scores = torch.randn(2, 3, query_len, key_len, generator=torch.Generator().manual_seed(seed))
    past = distances(query_len, key_len) >= 0
    assert torch.equal(shift(scores)[..., past], shift_by_lookup(scores)[..., past])


def test_the_shift_in_numbers() -> None:
    # Three queries, no memory: columns stand for distances 2, 1, 0.
    scores = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    assert shift_by_lookup(scores).tolist() == [[3, 0, 0], [5, 6, 0], [7, 8, 9]]
    assert shift(scores).tril().tolist() == [[3, 0, 0], [5, 6, 0], [7, 8, 9]]


def test_distances_count_from_the_query_back() -> None:
    assert distances(2, 4).tolist() == [[2, 1, 0, -1], [3, 2, 1, 0]]


@given(query_len=lengths, memory_len=st.integers(min_value=0, max_value=9), masked=st.booleans())
def test_the_fast_form_equals_the_textbook_with_its_gradients(query_len: int, memory_len: int, masked: bool) -> None:
    tensors = inputs(query_len, memory_len)
    is_real = torch.ones(2, query_len + memory_len, dtype=torch.bool)
    is_real[0, : memory_len // 2 + memory_len % 2] = False
    mask = is_real if masked else None
    expected, weights = attend_relative(*tensors, mask)  # type: ignore[call-arg]
    found = attend_relative_fused(*tensors, mask)  # type: ignore[call-arg]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, query_len))
    upstream = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    for ours, theirs in zip(
        torch.autograd.grad(found, tensors, upstream), torch.autograd.grad(expected, tensors, upstream), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_each_of_the_four_terms_counts_and_is_what_the_paper_says() -> None:
    query, key, value, distance_key, content_bias, position_bias = (tensor.detach() for tensor in inputs(2, 1))
    _, weights = attend_relative(query, key, value, distance_key, content_bias, position_bias)
    row, head, i, j = 1, 2, 1, 0  # the second query stands at key 2, key 0 is two places before it
    distance_two = distance_key[head, 0]
    score = (
        query[row, head, i] @ key[row, head, j]
        + query[row, head, i] @ distance_two
        + content_bias[head] @ key[row, head, j]
        + position_bias[head] @ distance_two
    ) / math.sqrt(4)
    own = (query[row, head, i] + content_bias[head]) @ key[row, head, 2] / 2
    own += (query[row, head, i] + position_bias[head]) @ distance_key[head, 2] / 2
    ratio = weights[row, head, i, j] / weights[row, head, i, 2]
    torch.testing.assert_close(ratio, (score - own).exp())


def test_no_query_sees_its_future() -> None:
    tensors = inputs(4, 3)
    _, weights = attend_relative(*tensors)
    assert not weights[..., distances(4, 7) < 0].any()
    found = attend_relative_fused(*tensors)
    changed = [tensor.detach().clone() for tensor in tensors]
    changed[1][:, :, -1] += 5.0  # the newest key
    changed[2][:, :, -1] += 5.0
    again = attend_relative_fused(*changed)
    torch.testing.assert_close(again[:, :, :3], found[:, :, :3])
    assert not torch.allclose(again[:, :, 3], found[:, :, 3])


def test_positions_are_encodings_of_distances_and_clamp() -> None:
    table = sinusoidal_table(6, 8, "halves")
    assert torch.equal(RelativePositions(8)(6), table.flip(0))
    assert torch.equal(RelativePositions(8, ready_len=2)(6), table.flip(0))
    clamped = RelativePositions(8, clamp_len=2)(6)
    assert torch.equal(clamped, table[[2, 2, 2, 2, 1, 0]])


@pytest.fixture
def attention() -> RelativeSelfAttention:
    module = RelativeSelfAttention(8, 2, GlobalBiases(2, 4))
    initialize(module, torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for bias in module.biases.parameters():
            bias.normal_(generator=generator)
    return module


def test_moving_a_whole_text_changes_nothing(attention: RelativeSelfAttention) -> None:
    """Scores know distances only: the same states later in time give the same answers."""
    states = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(5))
    positions = RelativePositions(8)
    nothing = torch.zeros(1, 0, 8)
    is_real = torch.tensor([[False] * 4 + [True] * 5])
    early = attention(states, nothing, positions(5))
    late = attention(states, torch.randn(1, 4, 8), positions(9), is_real)
    torch.testing.assert_close(late, early, rtol=1e-5, atol=1e-5)


def test_weights_are_those_of_the_forward_pass(attention: RelativeSelfAttention) -> None:
    generator = torch.Generator().manual_seed(6)
    states, memory = torch.randn(2, 3, 8, generator=generator), torch.randn(2, 4, 8, generator=generator)
    encodings = RelativePositions(8)(7)
    weights = attention.weights(states, memory, encodings)
    _, value = attention.project_key_value(torch.cat([memory, states], dim=1))
    expected = attention.output((weights @ value).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(states, memory, encodings), expected, rtol=1e-5, atol=1e-5)
