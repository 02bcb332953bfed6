import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from heedful.training.losses import projected as projected_loss
from heedful.training.losses.cross_entropy import kl_divergence, label_smoothed_cross_entropy, symmetric_kl_divergence
from heedful.training.losses.projected import Agreement, projected_agreement, projected_cross_entropy


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


def test_uniform_logits_cost_the_logarithm_of_the_vocabulary() -> None:
    loss, nll = label_smoothed_cross_entropy(
        torch.zeros(2, 3, 8), torch.zeros(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.bool), smoothing=0.1
    )
    assert loss.item() == pytest.approx(6 * math.log(8))
    assert nll.item() == pytest.approx(6 * math.log(8))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_cross_entropy_agrees_with_torch(tensors: dict[str, Tensor], smoothing: float) -> None:
    logits = functional.linear(tensors["hidden"], tensors["weight"], tensors["bias"])
    targets = tensors["target_ids"].masked_fill(~tensors["mask"], -100)
    expected = functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, reduction="sum"
    )
    loss, _ = label_smoothed_cross_entropy(logits, tensors["target_ids"], tensors["mask"], smoothing=smoothing)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("budget", [200, 300, 1 << 20], ids=["four rows a slice", "six rows", "one slice"])
@pytest.mark.parametrize("with_bias", [True, False])
def test_the_fast_loss_equals_the_readable_one(
    tensors: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch, budget: int, with_bias: bool
) -> None:
    monkeypatch.setattr(projected_loss, "_SLICE_ON_CPU", budget)
    hidden, weight = tensors["hidden"], tensors["weight"]
    bias = tensors["bias"] if with_bias else None
    wanted = [tensor for tensor in (hidden, weight, bias) if tensor is not None]
    loss, nll = projected_cross_entropy(hidden, weight, bias, tensors["target_ids"], tensors["mask"], smoothing=0.1)
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


def test_under_autocast_only_the_products_are_bf16(tensors: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_divergences_vanish_for_equal_and_agree_with_torch_for_different(tensors: dict[str, Tensor]) -> None:
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


def readable_agreement(
    first: Tensor, second: Tensor, target_ids: Tensor, mask: Tensor, weights: Agreement
) -> tuple[Tensor, Tensor, Tensor]:
    losses = [label_smoothed_cross_entropy(side, target_ids, mask, smoothing=0.1) for side in (first, second)]
    divergence = weights.forward * kl_divergence(first, second, mask) + weights.backward * kl_divergence(
        second, first, mask
    )
    loss = weights.first * losses[0][0] + weights.second * losses[1][0] + divergence
    return loss, weights.first * losses[0][1] + weights.second * losses[1][1], divergence


AGREEMENTS = [Agreement(0.5, 0.5, 1.25, 1.25), Agreement(1.0, 0.0, 3.0, 0.0), Agreement(0.3, 0.6, 0.0, 2.0)]


@pytest.mark.parametrize("weights", AGREEMENTS, ids=["R-Drop", "SimCut", "other"])
@pytest.mark.parametrize("budget", [300, 1 << 20], ids=["six rows a slice", "one slice"])
def test_the_fast_agreement_of_two_passes_equals_the_readable_one(
    tensors: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch, weights: Agreement, budget: int
) -> None:
    monkeypatch.setattr(projected_loss, "_SLICE_ON_CPU", budget)
    wanted = [tensors[name] for name in ("hidden", "other", "weight", "bias")]
    target_ids, mask = tensors["target_ids"], tensors["mask"]
    first, second = (functional.linear(side, *wanted[2:]) for side in wanted[:2])
    expected = readable_agreement(first, second, target_ids, mask, weights)
    found = projected_agreement(*wanted, target_ids, mask, smoothing=0.1, weights=weights)  # type: ignore[misc]
    for value, readable in zip(found, expected, strict=True):
        torch.testing.assert_close(value, readable)
    gradients, readable_gradients = (torch.autograd.grad(sums[0] / 3, wanted) for sums in (found, expected))
    for gradient, readable in zip(gradients, readable_gradients, strict=True):
        torch.testing.assert_close(gradient, readable, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("weights", [None, *AGREEMENTS], ids=["plain", "R-Drop", "SimCut", "other"])
@pytest.mark.parametrize("vocab", [50, 5000])
def test_the_kernels_equal_the_operations(weights: Agreement | None, vocab: int) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = [3 * torch.randn(37, vocab, generator=generator) for _ in range(1 if weights is None else 2)]
    target_ids = torch.randint(0, vocab, (37,), generator=generator)
    mask = torch.rand(37, generator=generator) > 0.3
    expected_sums, expected = projected_loss._loss_of_logits(logits, target_ids, mask, 0.1, weights)
    on_gpu = [side.cuda() for side in logits]
    sums, gradients = projected_loss._loss_of_logits(on_gpu, target_ids.cuda(), mask.cuda(), 0.1, weights)
    torch.testing.assert_close(sums.cpu(), expected_sums, rtol=1e-5, atol=1e-4)
    for gradient, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient.cpu(), wanted, rtol=1e-4, atol=1e-6)
