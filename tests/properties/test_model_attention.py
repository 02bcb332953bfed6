"""What holds for attention whatever the shapes and masks: two forms agree, nothing leaks, empty rows are zero."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.nn import MultiHeadAttention, MultiHeadSelfAttention, attend, attend_fused, causal_mask

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**31)


def draw(seed: int, batch: int, heads: int, query_len: int, key_len: int) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(batch, heads, query_len, 4, generator=generator)
    key = torch.randn(batch, heads, key_len, 4, generator=generator)
    value = torch.randn(batch, heads, key_len, 4, generator=generator)
    mask = torch.rand(batch, 1, query_len, key_len, generator=generator) < 0.5
    return query, key, value, mask


@given(seeds, sizes, sizes, sizes, sizes)
@settings(max_examples=150, deadline=None)
def test_readable_and_fused_agree_with_finite_gradients_and_zeros_in_empty_rows(
    seed: int, batch: int, heads: int, query_len: int, key_len: int
) -> None:
    *inputs, mask = draw(seed, batch, heads, query_len, key_len)
    mask[0, 0, 0] = False  # at least one query may look at nothing
    results = []
    for form in (lambda q, k, v: attend(q, k, v, mask)[0], lambda q, k, v: attend_fused(q, k, v, mask)):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        averages = form(*leaves)
        averages.square().sum().backward()
        results.append([averages.detach(), *(leaf.grad for leaf in leaves)])
    for readable, fused in zip(*results, strict=True):
        assert readable.isfinite().all()
        torch.testing.assert_close(readable, fused, atol=1e-5, rtol=1e-5)
    empty = ~mask.any(-1).expand(batch, heads, query_len)
    assert (results[0][0][empty] == 0).all()
    assert (results[1][0][empty] == 0).all()


@given(seeds, sizes, sizes, sizes)
@settings(max_examples=60, deadline=None)
def test_causal_flag_is_the_causal_mask(seed: int, batch: int, heads: int, length: int) -> None:
    query, key, value, mask = draw(seed, batch, heads, length, length)
    triangle = causal_mask(length, length)
    expected, weights = attend(query, key, value, triangle)
    torch.testing.assert_close(attend_fused(query, key, value, causal=True), expected, atol=1e-5, rtol=1e-5)
    assert (weights.triu(1) == 0).all()
    both = attend(query, key, value, mask & triangle)[0]
    torch.testing.assert_close(attend_fused(query, key, value, mask, causal=True), both, atol=1e-5, rtol=1e-5)


@given(seeds, sizes, sizes, sizes, sizes, st.sampled_from([1e30, -1e30, 1e36]))
@settings(max_examples=100, deadline=None)
def test_what_is_masked_does_not_leak(
    seed: int, batch: int, heads: int, query_len: int, key_len: int, poison: float
) -> None:
    query, key, value, mask = draw(seed, batch, heads, query_len, key_len)
    mask = mask[:, :, :1]  # the same keys are hidden from every query, as padding is
    hidden = ~mask.squeeze(2).unsqueeze(-1)  # [batch, 1, key_len, 1]
    poisoned = key.masked_fill(hidden, poison), value.masked_fill(hidden, poison)
    assert torch.equal(attend(query, key, value, mask)[0], attend(query, *poisoned, mask)[0])
    fused = attend_fused(query, *poisoned, mask)
    torch.testing.assert_close(fused, attend_fused(query, key, value, mask), atol=1e-6, rtol=1e-6)


@given(seeds, sizes, sizes, sizes)
@settings(max_examples=40, deadline=None)
def test_modules_report_the_weights_they_use(seed: int, batch: int, query_len: int, key_len: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(batch, query_len, 8, generator=generator)
    memory = torch.randn(batch, key_len, 8, generator=generator)
    mask = torch.rand(batch, 1, 1, key_len, generator=generator) < 0.7
    cross, own = MultiHeadAttention(8, 2), MultiHeadSelfAttention(8, 2)

    averages = cross.weights(states, memory, mask) @ cross.project_key_value(memory)[1]
    torch.testing.assert_close(cross.project_output(averages), cross(states, memory, mask), atol=1e-5, rtol=1e-5)
    averages = own.weights(states, causal=True) @ own.project(states)[2]
    torch.testing.assert_close(own.project_output(averages), own(states, causal=True), atol=1e-5, rtol=1e-5)


def test_weights_are_the_softmax_of_scaled_scores() -> None:
    query, key = torch.tensor([[[[2.0, 0.0]]]]), torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    _, weights = attend(query, key, key)
    expected = math.exp(math.sqrt(2)) / (math.exp(math.sqrt(2)) + 1)
    torch.testing.assert_close(weights.flatten()[0], torch.tensor(expected))
