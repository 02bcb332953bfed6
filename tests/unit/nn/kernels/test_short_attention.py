import pytest
import torch

from heedful.nn.attention import attend, attend_fused
from heedful.nn.masks import causal_mask, padding_mask


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("query_len", "key_len", "head_dim", "causal", "masked"),
    [(5, 9, 32, False, True), (24, 24, 64, True, False), (16, 33, 32, False, True), (64, 64, 64, True, True)],
)
def test_the_kernel_for_short_sentences_equals_the_readable_attention(
    query_len: int, key_len: int, head_dim: int, causal: bool, masked: bool, compiled: bool
) -> None:
    generator = torch.Generator().manual_seed(1)
    heads, batch = 3, 4

    def side(length: int) -> torch.Tensor:
        """Heads as a projection leaves them: side by side, with other features behind."""
        states = torch.randn(batch, length, 2 * heads * head_dim, generator=generator).cuda().bfloat16()
        return states[..., : heads * head_dim].unflatten(-1, (heads, head_dim)).transpose(1, 2)

    query, key, value = (side(length).requires_grad_() for length in (query_len, key_len, key_len))
    is_real = (torch.rand(batch, key_len, generator=generator) > 0.3).cuda() if masked else None
    if is_real is not None:
        is_real[0] = False  # a sentence of nothing but padding
    fused = torch.compile(attend_fused) if compiled else attend_fused
    found = fused(query, key, value, padding_mask(is_real), causal=causal)
    mask = padding_mask(is_real)
    if causal:
        order = causal_mask(query_len, key_len, device=query.device)
        mask = order if mask is None else mask & order
    exact = [tensor.detach().float().requires_grad_() for tensor in (query, key, value)]
    expected, _ = attend(*exact, mask)  # type: ignore[call-arg]
    torch.testing.assert_close(found.float(), expected, rtol=2e-2, atol=1e-2)
    if is_real is not None:
        assert not found[0].any()
    weight = torch.randn(expected.shape, generator=generator).cuda()
    gradients = torch.autograd.grad((found.float() * weight).sum(), [query, key, value])
    for gradient, wanted in zip(gradients, torch.autograd.grad((expected * weight).sum(), exact), strict=True):
        assert (gradient.float() - wanted).norm() <= 1e-2 * wanted.norm()
