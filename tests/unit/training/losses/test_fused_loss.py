"""The loss kernels equal the operations they stand for.

Runs where the package triton is installed: on a GPU, or else in its interpreter.
"""

import pytest
import torch

from heedful.training.losses import projected
from heedful.training.losses.projected import Agreement
from tests.support.triton_kernels import DEVICE, needs_triton

ROWS = 37
WEIGHTS = [None, Agreement(1.0, 1.0, 0.5, 0.5), Agreement(1.0, 0.0, 1.5, 0.0), Agreement(0.5, 2.0, 0.25, 3.0)]


@needs_triton
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("weights", WEIGHTS, ids=["plain", "R-Drop", "one side", "other"])
@pytest.mark.parametrize("vocab", [50, 5000], ids=["part of a block", "several blocks"])
def test_sums_and_gradients_in_place_are_those_of_the_operations(
    weights: Agreement | None, vocab: int, dtype: torch.dtype
) -> None:
    from heedful.training.losses.fused import agreement_in_place, cross_entropy_in_place

    generator = torch.Generator().manual_seed(1)
    logits = [(3 * torch.randn(ROWS, vocab, generator=generator)).to(dtype) for _ in range(1 if weights is None else 2)]
    target_ids = torch.randint(0, vocab, (ROWS,), generator=generator)
    mask = torch.rand(ROWS, generator=generator) > 0.3
    expected_sums, expected = projected._loss_of_logits(logits, target_ids, mask, 0.1, weights)
    overwritten = [side.clone().to(DEVICE) for side in logits]
    where = (target_ids.to(DEVICE), mask.to(DEVICE))
    if weights is None:
        sums = cross_entropy_in_place(overwritten[0], *where, smoothing=0.1)
    else:
        sums = agreement_in_place(overwritten[0], overwritten[1], *where, smoothing=0.1, weights=weights)
    torch.testing.assert_close(sums.sum(dim=1).cpu(), expected_sums, rtol=1e-5, atol=1e-4)
    # A gradient in half precision is rounded once; the interpreter rounds towards zero.
    close = {"rtol": 1e-4, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 2**-7, "atol": 1e-6}
    for gradient, wanted in zip(overwritten, expected, strict=True):
        assert gradient.dtype == dtype
        torch.testing.assert_close(gradient.float().cpu(), wanted.float(), **close)
        assert not gradient[~mask].any()
