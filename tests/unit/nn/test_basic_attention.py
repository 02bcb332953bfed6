"""Self-attention without parameters: its equation by hand, its fast form, and what scaling changes."""

import math

import pytest
import torch
from torch.testing import assert_close

from heedful.nn.attention import MultiHeadSelfAttention, attend
from heedful.nn.basic_attention import (
    BareAttentionLayer,
    BasicEncoderLayer,
    BasicSelfAttention,
    ScaledSelfAttention,
    attend_basic,
)
from heedful.nn.masks import padding_mask


def written_out(states: torch.Tensor, scale: float) -> torch.Tensor:
    """y_i = sum_j softmax_j(scale x_i.x_j) x_j for one sequence, in loops and double precision."""
    rows = states.double().tolist()
    output = []
    for query in rows:
        scores = [scale * sum(a * b for a, b in zip(query, key, strict=True)) for key in rows]
        highest = max(scores)
        weights = [math.exp(score - highest) for score in scores]
        total = sum(weights)
        output.append(
            [sum(w / total * row[d] for w, row in zip(weights, rows, strict=True)) for d in range(len(query))]
        )
    return torch.tensor(output)


@pytest.mark.parametrize("dim", [2, 6])
def test_both_forms_are_the_equation(dim: int) -> None:
    states = torch.randn(1, 5, dim, generator=torch.Generator().manual_seed(dim))
    averages, weights = attend_basic(states)
    assert_close(averages[0], written_out(states[0], 1.0))
    assert_close(weights.sum(dim=-1), torch.ones(1, 5))
    assert_close(BasicSelfAttention()(states)[0], written_out(states[0], 1.0))
    assert_close(ScaledSelfAttention()(states)[0], written_out(states[0], dim**-0.5))


def test_scaled_is_the_papers_attention_of_a_sequence_with_itself() -> None:
    states = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(0))
    expected, weights = attend(states[:, None], states[:, None], states[:, None])
    assert_close(ScaledSelfAttention()(states), expected[:, 0])
    assert_close(ScaledSelfAttention().weights(states), weights)


def test_fast_and_readable_form_agree_under_padding() -> None:
    states = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    is_real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2, [False] * 6])
    mask = padding_mask(is_real)
    for attention in (BasicSelfAttention(), ScaledSelfAttention()):
        averages, weights = attend_basic(states, is_real, scale=attention.scale_of(4))
        assert_close(attention(states, mask), averages)
        assert_close(attention.weights(states, mask)[:, 0], weights)
        assert (weights[1, :, 4:] == 0).all()
        assert (attention(states, mask)[2] == 0).all(), "nothing to look at gives zeros, never NaN"


def test_what_is_padded_does_not_matter() -> None:
    states = torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(2))
    is_real = torch.tensor([[True] * 4 + [False] * 2])
    changed = states.clone()
    changed[:, 4:] = 7.0
    for attention in (BasicSelfAttention(), ScaledSelfAttention()):
        assert_close(attention(states, padding_mask(is_real))[:, :4], attention(states[:, :4]))
        assert_close(attention(changed, padding_mask(is_real))[:, :4], attention(states[:, :4]))


def test_without_the_scale_wide_vectors_look_at_themselves_alone() -> None:
    states = torch.randn(1, 20, 256, generator=torch.Generator().manual_seed(3))
    basic = BasicSelfAttention().weights(states)[0, 0].diagonal()
    scaled = ScaledSelfAttention().weights(states)[0, 0].diagonal()
    assert basic.min() > 0.999
    small = 0.25 * states
    assert ScaledSelfAttention().weights(small)[0, 0].diagonal().max() < 0.5
    assert scaled.min() < basic.min() + 1e-6


def test_parameters_are_none() -> None:
    assert not list(BasicSelfAttention().parameters())
    assert not list(ScaledSelfAttention().parameters())


def test_gradients_reach_the_states() -> None:
    states = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    for attention in (BasicSelfAttention(), ScaledSelfAttention()):
        assert torch.autograd.gradcheck(attention, (states,))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_around_it_keeps_the_shape_and_ignores_padding(norm: str) -> None:
    layer = BasicEncoderLayer(ScaledSelfAttention(), dim=8, hidden_dim=16, norm=norm).eval()  # type: ignore[arg-type]
    states = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(4))
    is_real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    output = layer(states, padding_mask(is_real))
    assert output.shape == states.shape
    assert_close(output[1, :3], layer(states[1:, :3])[0])


def test_a_bare_layer_is_its_attention() -> None:
    attention = MultiHeadSelfAttention(8, 2)
    states = torch.randn(1, 4, 8)
    assert_close(BareAttentionLayer(attention)(states), attention(states))
    assert_close(BareAttentionLayer(BasicSelfAttention())(states), BasicSelfAttention()(states))
