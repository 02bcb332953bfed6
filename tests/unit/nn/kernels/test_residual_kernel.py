"""The kernel for LayerNorm(states + Dropout(update)) equals the plain expression.

Runs where the package triton is installed: on a GPU, or else in its interpreter.
"""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from heedful.nn import PostNormResidual
from tests.support.triton_kernels import DEVICE, HAS_GPU, needs_triton

EPSILON = 1e-5
Outcome = tuple[Tensor, tuple[Tensor, ...]]
"""An output and the gradients of what it was made from."""
BF16_STEP = 2**-8 if HAS_GPU else 2**-7  # a GPU rounds to the nearest, the interpreter towards zero


def inputs(
    batch: int,
    length: int,
    dim: int,
    states_dtype: torch.dtype = torch.float32,
    update_dtype: torch.dtype = torch.float32,
) -> tuple[list[Tensor], Tensor]:
    """States, update, weight, bias, and what their output is multiplied by; with a mean far from 0."""
    generator = torch.Generator().manual_seed(1)
    states, update, factor = (torch.randn(batch, length, dim, generator=generator) for _ in range(3))
    weight, bias = (torch.randn(dim, generator=generator) for _ in range(2))
    tensors = [(states + 3).to(DEVICE, states_dtype), update.to(DEVICE, update_dtype), weight.to(DEVICE)]
    tensors.append(bias.to(DEVICE))
    return [tensor.requires_grad_() for tensor in tensors], factor.bfloat16().float().to(DEVICE)


def run(tensors: list[Tensor], factor: Tensor, dropout: float = 0.0, seed: int = 0) -> Outcome:
    """Return the kernel's output and the gradients of all four inputs."""
    from heedful.nn.kernels.residual import add_and_normalize

    torch.manual_seed(seed)
    output = add_and_normalize(*tensors, epsilon=EPSILON, dropout=dropout)
    return output, torch.autograd.grad((output.float() * factor).sum(), tensors)


def plain(tensors: list[Tensor], factor: Tensor, mask: float | Tensor = 1.0) -> Outcome:
    """Return the same of the plain expression in fp32, its update multiplied by mask."""
    exact = [tensor.detach().float().requires_grad_() for tensor in tensors]
    states, update, weight, bias = exact
    output = functional.layer_norm(states + update * mask, weight.shape, weight, bias, EPSILON)
    return output, torch.autograd.grad((output * factor).sum(), exact)


def assert_equal(found: Outcome, expected: Outcome) -> None:
    """Compare an output and its gradients; what is in bf16 was rounded once, at the very end."""
    for one, other in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        scale = other.abs().max()
        rtol = 1e-4 if one.dtype == torch.float32 else BF16_STEP
        torch.testing.assert_close(one.float() / scale, other / scale, rtol=rtol, atol=1e-5)


@needs_triton
@pytest.mark.parametrize(
    ("batch", "length", "dim"), [(1, 1, 16), (2, 70, 48), (3, 3, 512), (2, 3, 720), (1, 5, 1024), (1, 2, 4096)]
)
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float32", "bfloat16"), ("bfloat16", "bfloat16")])
def test_the_kernel_equals_the_plain_expression_with_all_its_gradients(
    batch: int, length: int, dim: int, dtypes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.nn.kernels.residual._PROGRAMS", 2)  # so that each goes round more than once
    tensors, factor = inputs(batch, length, dim, *(getattr(torch, name) for name in dtypes))
    found = run(tensors, factor)
    assert [found[0].dtype, *(grad.dtype for grad in found[1])] == [tensors[0].dtype, *(t.dtype for t in tensors)]
    assert_equal(found, plain(tensors, factor))


@needs_triton
def test_inputs_and_gradients_need_not_lie_in_a_row() -> None:
    tensors, factor = inputs(4, 3, 32)
    expected = plain(tensors, factor)
    turned = [tensor.detach().transpose(0, 1).contiguous().transpose(0, 1) for tensor in tensors[:2]]
    turned = [tensor.requires_grad_() for tensor in turned] + tensors[2:]
    assert not turned[0].is_contiguous()
    assert_equal(run(turned, factor.transpose(0, 1).contiguous().transpose(0, 1)), expected)


@needs_triton
@pytest.mark.parametrize(("shape", "dropout"), [((2, 17, 512), 0.1), ((3, 9, 80), 0.5)])
def test_dropout_has_one_mask_of_zeros_and_scales_forward_and_backward(
    shape: tuple[int, int, int], dropout: float
) -> None:
    tensors, factor = inputs(*shape)
    output, grads = run(tensors, factor, dropout)
    mask = grads[1] / grads[0]  # the gradients of update and of states differ by the mask alone
    dropped = mask == 0
    torch.testing.assert_close(mask[~dropped], torch.full_like(mask[~dropped], 1 / (1 - dropout)))
    assert_equal((output, grads), plain(tensors, factor, torch.where(dropped, 0.0, 1 / (1 - dropout))))
    deviation = (dropout * (1 - dropout) / mask.numel()) ** 0.5
    assert abs(dropped.float().mean().item() - dropout) < 4 * deviation


@needs_triton
def test_dropout_treats_all_places_alike_and_each_for_itself() -> None:
    tensors, factor = inputs(4, 32, 128)
    _, grads = run(tensors, factor, dropout=0.25)
    dropped = (grads[1] == 0).float().flatten(0, 1)  # [128, 128]
    of_eight = dropped.unflatten(1, (-1, 8)).flatten(0, 1)  # one draw each
    assert (of_eight.mean(dim=0) - 0.25).abs().max() < 4.5 * (0.1875 / len(of_eight)) ** 0.5
    rows, columns = torch.corrcoef(dropped), torch.corrcoef(dropped.T)
    for table in (rows, columns, torch.corrcoef(of_eight.T)):
        samples = len(of_eight) if len(table) == 8 else 128
        assert table.fill_diagonal_(0.0).abs().max() < 6 / samples**0.5


@needs_triton
def test_the_mask_follows_the_seed_of_torch() -> None:
    tensors, factor = inputs(2, 5, 64)
    first, again, other = (run(tensors, factor, dropout=0.3, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first[0], again[0])
    assert all(torch.equal(one, two) for one, two in zip(first[1], again[1], strict=True))
    assert not torch.equal(first[0], other[0])


@needs_triton
def test_without_dropout_no_random_number_is_drawn() -> None:
    tensors, factor = inputs(1, 2, 16)
    _, after = run(tensors, factor), torch.rand(1, device=DEVICE)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(1, device=DEVICE))


@needs_triton
def test_gradients_are_the_same_bits_every_time() -> None:
    length = 8192 if HAS_GPU else 40
    tensors, factor = inputs(2, length, 512, torch.bfloat16, torch.bfloat16)
    first = run(tensors, factor, dropout=0.1)
    for _ in range(3 if HAS_GPU else 1):
        again = run(tensors, factor, dropout=0.1)
        assert all(torch.equal(one, two) for one, two in zip((first[0], *first[1]), (again[0], *again[1]), strict=True))


@needs_triton
def test_the_residual_hands_the_kernel_its_own_norm_and_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, _ = inputs(2, 3, 32)
    states, update, weight, bias = (tensor.detach() for tensor in tensors)
    block = PostNormResidual(32, 0.0).to(DEVICE)
    block.norm.eps = 0.5
    block.load_state_dict({"norm.weight": weight, "norm.bias": bias})
    without = block(states, lambda _: update)
    monkeypatch.setattr(block, "_has_kernel", lambda _: True)
    torch.testing.assert_close(block(states, lambda _: update), without, rtol=1e-4, atol=1e-5)
    block.dropout.p = 0.5
    assert not torch.allclose(block(states, lambda _: update), without, atol=1e-2)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("states_dtype", "update_dtype"),
    [(torch.bfloat16, torch.float32), (torch.float32, torch.bfloat16), (torch.bfloat16, torch.bfloat16)],
)
def test_the_residual_keeps_the_dtype_of_the_states(
    states_dtype: torch.dtype, update_dtype: torch.dtype, training: bool
) -> None:
    block = PostNormResidual(16, 0.1).to(DEVICE).train(training)
    with torch.autocast(DEVICE, torch.bfloat16):
        output = block(torch.randn(2, 3, 16, device=DEVICE, dtype=states_dtype), lambda x: x.to(update_dtype))
    assert output.dtype == states_dtype


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
def test_the_residual_takes_the_kernel_in_training_in_half_precision_on_a_gpu(compiled: bool) -> None:
    tensors, factor = inputs(8, 64, 512, torch.bfloat16, torch.bfloat16)
    block = PostNormResidual(512, 0.0).cuda()
    block.load_state_dict({"norm.weight": tensors[2], "norm.bias": tensors[3]})
    leaves = [*tensors[:2], block.norm.weight, block.norm.bias]
    call = torch.compile(block, dynamic=True) if compiled else block
    output = call(tensors[0], lambda _: tensors[1])
    if not compiled:
        assert "normalize_sum" in output.grad_fn.name()
    grads = torch.autograd.grad((output.float() * factor).sum(), leaves)
    assert_equal((output, grads), plain(tensors, factor))
    block.dropout.p = 0.1
    first, second = (call(tensors[0], lambda _: tensors[1]) for _ in range(2))
    assert not torch.equal(first, second)
