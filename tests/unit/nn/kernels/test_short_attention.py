"""The kernel for attention between short sentences equals the readable attention.

Runs where the package triton is installed: on a GPU, or else in its interpreter.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from heedful.nn.attention import attend, attend_fused
from heedful.nn.masks import causal_mask, padding_mask
from tests.support.triton_kernels import DEVICE, HAS_GPU, needs_triton

HEADS, BATCH = 3, 4
Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, bool], Tensor]
CASES = [(5, 9, 32, False, True), (24, 24, 64, True, False), (16, 33, 32, False, True), (64, 64, 64, True, True)]
cases = pytest.mark.parametrize(("query_len", "key_len", "head_dim", "causal", "masked"), CASES)


def check(fast: Attend, query_len: int, key_len: int, head_dim: int, causal: bool, masked: bool) -> None:
    """Compare with the readable form, gradients and a sentence of nothing but padding included."""
    generator = torch.Generator().manual_seed(1)
    dtype = torch.bfloat16 if HAS_GPU else torch.float32
    close = {"rtol": 2e-2, "atol": 1e-2} if HAS_GPU else {"rtol": 1e-5, "atol": 1e-5}

    def side(length: int) -> Tensor:
        """Heads as a projection leaves them: side by side, with other features behind."""
        states = torch.randn(BATCH, length, 2 * HEADS * head_dim, generator=generator).to(DEVICE, dtype)
        return states[..., : HEADS * head_dim].unflatten(-1, (HEADS, head_dim)).transpose(1, 2)

    query, key, value = (side(length).requires_grad_() for length in (query_len, key_len, key_len))
    is_real = (torch.rand(BATCH, key_len, generator=generator) > 0.3).to(DEVICE) if masked else None
    if is_real is not None:
        is_real[0] = False
    found = fast(query, key, value, is_real, causal)
    mask = padding_mask(is_real)
    if causal:
        order = causal_mask(query_len, key_len, device=query.device)
        mask = order if mask is None else mask & order
    exact = [tensor.detach().float().requires_grad_() for tensor in (query, key, value)]
    expected, _ = attend(*exact, mask)  # type: ignore[call-arg]
    torch.testing.assert_close(found.float(), expected, **close)
    if is_real is not None:
        assert not found[0].any()
    weight = torch.randn(expected.shape, generator=generator).to(DEVICE)
    gradients = torch.autograd.grad((found.float() * weight).sum(), [query, key, value])
    for gradient, wanted in zip(gradients, torch.autograd.grad((expected * weight).sum(), exact), strict=True):
        assert (gradient.float() - wanted).norm() <= (1e-2 if HAS_GPU else 1e-5) * wanted.norm()


@needs_triton
@cases
def test_the_kernel_equals_the_readable_attention(
    query_len: int, key_len: int, head_dim: int, causal: bool, masked: bool
) -> None:
    from heedful.nn.kernels.short_attention import attend_short

    def fast(query: Tensor, key: Tensor, value: Tensor, is_real: Tensor | None, causal: bool) -> Tensor:
        return attend_short(query, key, value, is_real, causal=causal)

    check(fast, query_len, key_len, head_dim, causal, masked)


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
@cases
def test_the_fused_form_takes_it_for_short_sentences_on_a_gpu(
    query_len: int, key_len: int, head_dim: int, causal: bool, masked: bool, compiled: bool
) -> None:
    fused = torch.compile(attend_fused) if compiled else attend_fused

    def fast(query: Tensor, key: Tensor, value: Tensor, is_real: Tensor | None, causal: bool) -> Tensor:
        return fused(query, key, value, padding_mask(is_real), causal=causal)

    check(fast, query_len, key_len, head_dim, causal, masked)
