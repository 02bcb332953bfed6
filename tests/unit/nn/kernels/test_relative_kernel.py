"""The kernel for Transformer-XL's attention equals the textbook.

Runs where the package triton is installed: on a GPU, or else in its interpreter.
"""

import pytest
import torch
from torch import Tensor

from heedful.nn.relative_attention import attend_relative, attend_relative_fused
from tests.support.triton_kernels import DEVICE, HAS_GPU, needs_triton


def inputs(
    batch: int, heads: int, query_len: int, key_len: int, head_dim: int, dtype: torch.dtype
) -> tuple[list[Tensor], Tensor]:
    generator = torch.Generator().manual_seed(1)

    def side(length: int) -> Tensor:
        """Heads as a projection leaves them: side by side, with other features behind."""
        states = torch.randn(batch, length, 2 * heads * head_dim, generator=generator).to(DEVICE, dtype)
        return states[..., : heads * head_dim].unflatten(-1, (heads, head_dim)).transpose(1, 2)

    tensors = [side(query_len), side(key_len), side(key_len)]
    tensors.append(torch.randn(heads, key_len, head_dim, generator=generator).to(DEVICE, dtype))
    tensors += [torch.randn(heads, head_dim, generator=generator).to(DEVICE) for _ in range(2)]
    is_real = torch.ones(batch, key_len, dtype=torch.bool, device=DEVICE)
    is_real[0, : (key_len - query_len) * 2 // 3] = False
    return [tensor.requires_grad_() for tensor in tensors], is_real


@needs_triton
@pytest.mark.parametrize(
    ("query_len", "key_len", "head_dim"), [(64, 64, 16), (64, 192, 32), (128, 128, 16), (128, 256, 64)]
)
def test_the_kernel_equals_the_textbook_with_all_its_gradients(query_len: int, key_len: int, head_dim: int) -> None:
    from heedful.nn.kernels.relative_attention import attend_by_distance

    dtype = torch.bfloat16 if HAS_GPU else torch.float32
    tensors, is_real = inputs(2, 3, query_len, key_len, head_dim, dtype)

    def with_kernel(
        query: Tensor, key: Tensor, value: Tensor, distance_key: Tensor, content_bias: Tensor, position_bias: Tensor
    ) -> Tensor:
        content = query + content_bias.to(query.dtype).unsqueeze(1)
        position = query + position_bias.to(query.dtype).unsqueeze(1)
        return attend_by_distance(content, position, key, value, distance_key * head_dim**-0.5, is_real)

    found = with_kernel(*tensors)
    exact = [tensor.detach().float().requires_grad_() for tensor in tensors]
    expected, _ = attend_relative(*exact, is_real)  # type: ignore[call-arg]
    tolerance = {"rtol": 3e-2, "atol": 2e-2} if HAS_GPU else {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(found.float(), expected, **tolerance)
    weight = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2)).to(DEVICE)
    ours = torch.autograd.grad((found.float() * weight).sum(), tensors)
    theirs = torch.autograd.grad((expected * weight).sum(), exact)
    for one, other in zip(ours, theirs, strict=True):
        scale = other.abs().max().item() if HAS_GPU else 1.0
        torch.testing.assert_close(one.float() / scale, other / scale, **tolerance)


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
def test_the_fused_form_takes_the_kernel_in_half_precision_on_a_gpu(compiled: bool) -> None:
    tensors, is_real = inputs(2, 4, 64, 192, 64, torch.bfloat16)
    fused = torch.compile(attend_relative_fused) if compiled else attend_relative_fused
    found = fused(*tensors, is_real)  # type: ignore[call-arg]
    expected, _ = attend_relative(*(tensor.detach().float() for tensor in tensors), is_real)  # type: ignore[call-arg]
    torch.testing.assert_close(found.float(), expected, rtol=3e-2, atol=2e-2)
    assert found.grad_fn is not None
    assert found.transpose(1, 2).is_contiguous()  # the kernel leaves heads side by side, SDPA does not
