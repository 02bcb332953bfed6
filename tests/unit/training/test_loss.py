import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from heedful.training import projected_loss
from heedful.training.loss import kl_divergence, label_smoothed_cross_entropy, symmetric_kl_divergence
from heedful.training.projected_loss import projected_cross_entropy, projected_sum


@pytest.fixture
def tensors() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(5)
    return {
        "hidden": torch.randn(5, 7, 16, generator=generator, requires_grad=True),
        "other": torch.randn(5, 7, 16, generator=generator, requires_grad=True),
        "weight": torch.randn(50, 16, generator=generator, requires_grad=True),
        "bias": torch.randn(50, generator=generator, requires_grad=True),
        "target_ids": torch.randint(0, 50, (5, 7), generator=generator),
        "mask": torch.rand(5, 7, generator=generator) > 0.3,
    }


def test_uniform_logits_cost_the_logarithm_of_the_vocabulary():
    loss, nll = label_smoothed_cross_entropy(
        torch.zeros(2, 3, 8), torch.zeros(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.bool), smoothing=0.1
    )
    assert loss.item() == pytest.approx(6 * math.log(8))
    assert nll.item() == pytest.approx(6 * math.log(8))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_cross_entropy_agrees_with_torch(tensors, smoothing):
    logits = functional.linear(tensors["hidden"], tensors["weight"], tensors["bias"])
    targets = tensors["target_ids"].masked_fill(~tensors["mask"], -100)
    expected = functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, reduction="sum"
    )
    loss, _ = label_smoothed_cross_entropy(logits, tensors["target_ids"], tensors["mask"], smoothing=smoothing)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("budget", [200, 300, 1 << 20], ids=["four rows a slice", "six rows", "one slice"])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("compiled", [True, False])
def test_the_fast_loss_equals_the_readable_one(tensors, monkeypatch, budget, with_bias, compiled):
    monkeypatch.setattr(projected_loss, "_SLICE_ON_CPU", budget)
    hidden, weight = tensors["hidden"], tensors["weight"]
    bias = tensors["bias"] if with_bias else None
    wanted = [tensor for tensor in (hidden, weight, bias) if tensor is not None]
    fast = (
        torch.compile(projected_cross_entropy, fullgraph=True, backend="aot_eager")
        if compiled
        else projected_cross_entropy
    )
    loss, nll = fast(hidden, weight, bias, tensors["target_ids"], tensors["mask"], smoothing=0.1)
    expected_loss, expected_nll = label_smoothed_cross_entropy(
        functional.linear(hidden, weight, bias), tensors["target_ids"], tensors["mask"], smoothing=0.1
    )
    torch.testing.assert_close(loss, expected_loss)
    torch.testing.assert_close(nll, expected_nll)
    # The loss is scaled before its gradient is taken, as the step does.
    gradients = torch.autograd.grad(loss / 3, wanted)
    for gradient, expected in zip(gradients, torch.autograd.grad(expected_loss / 3, wanted), strict=True):
        torch.testing.assert_close(gradient, expected)
    with torch.no_grad():
        without_graph, _ = projected_cross_entropy(
            hidden, weight, bias, tensors["target_ids"], tensors["mask"], smoothing=0.1
        )
    torch.testing.assert_close(without_graph, expected_loss.detach())


def test_under_autocast_only_the_products_are_bf16(tensors, monkeypatch):
    monkeypatch.setattr(projected_loss, "_SLICE_ON_CPU", 300)
    arguments = [tensors[name] for name in ("hidden", "weight", "bias", "target_ids", "mask")]
    exact, _ = projected_cross_entropy(*arguments, smoothing=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = projected_cross_entropy(*arguments, smoothing=0.1)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=5e-3)
    assert loss.item() != exact.item()
    (gradient,) = torch.autograd.grad(loss, [tensors["weight"]])
    (expected,) = torch.autograd.grad(exact, [tensors["weight"]])
    assert gradient.dtype == torch.float32
    assert functional.cosine_similarity(gradient.flatten(), expected.flatten(), dim=0) > 0.999


def test_divergences_vanish_for_equal_and_agree_with_torch_for_different(tensors):
    logits = functional.linear(tensors["hidden"], tensors["weight"])
    other = functional.linear(tensors["other"], tensors["weight"])
    mask = tensors["mask"]
    assert kl_divergence(logits, logits, mask).item() == pytest.approx(0.0, abs=1e-4)
    assert symmetric_kl_divergence(logits, logits, mask).item() == 0.0
    p, q = torch.distributions.Categorical(logits=logits), torch.distributions.Categorical(logits=other)
    forth, back = (
        torch.distributions.kl_divergence(p, q)[mask].sum(),
        torch.distributions.kl_divergence(q, p)[mask].sum(),
    )
    torch.testing.assert_close(kl_divergence(logits, other, mask), forth)
    torch.testing.assert_close(symmetric_kl_divergence(logits, other, mask), (forth + back) / 2)


def test_a_divergence_in_slices_is_the_whole_one(tensors, monkeypatch):
    monkeypatch.setattr(projected_loss, "_SLICE_ON_CPU", 300)
    hidden, other, weight, bias = (tensors[name] for name in ("hidden", "other", "weight", "bias"))
    whole = symmetric_kl_divergence(
        functional.linear(hidden, weight, bias), functional.linear(other, weight, bias), tensors["mask"]
    )
    sliced = projected_sum(symmetric_kl_divergence, weight, bias, hidden, other, mask=tensors["mask"])
    torch.testing.assert_close(sliced, whole)
    wanted = [hidden, other, weight, bias]
    for gradient, expected in zip(torch.autograd.grad(sliced, wanted), torch.autograd.grad(whole, wanted), strict=True):
        torch.testing.assert_close(gradient, expected)
