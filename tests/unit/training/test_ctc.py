"""CTC: the loss against PyTorch's, the best path and the prefixes against all sequences of positions there are."""

from itertools import groupby, product

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from heedful.models.collapsed_prefixes import CollapsedPrefixes
from heedful.training.losses.ctc import Emitted, _emitted, best_path, log_likelihood

BLANK = 0


def drawn(batch: int, length: int, vocab: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(batch, length, vocab, generator=generator)).log_softmax(dim=-1)


def collapse(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(token for token, _ in groupby(path) if token != BLANK)


def all_paths(log_probs: Tensor) -> dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]]:
    """Every sequence of positions by the output it collapses to, log_probs [length, vocab]."""
    found: dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]] = {}
    for path in product(range(log_probs.size(1)), repeat=log_probs.size(0)):
        score = sum(float(log_probs[place, token]) for place, token in enumerate(path))
        found.setdefault(collapse(path), []).append((score, path))
    return found


def padded_case() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    targets = torch.tensor([[3, 3, 4, 2], [5, 2, 0, 0], [1, 4, 2, 0]])
    real = torch.arange(9) < torch.tensor([[9], [4], [6]])
    return drawn(3, 9, 7), real, targets, targets != BLANK


def emitted_of_case(log_probs: Tensor) -> Emitted:
    _, real, targets, mask = padded_case()
    return _emitted(log_probs, real, targets, mask, BLANK)


def test_the_loss_and_its_gradient_are_pytorchs() -> None:
    log_probs, real, targets, mask = padded_case()
    ours, theirs = (log_probs.clone().requires_grad_() for _ in range(2))
    found = -log_likelihood(emitted_of_case(ours))
    wanted = functional.ctc_loss(
        theirs.transpose(0, 1), targets, real.sum(dim=1), mask.sum(dim=1), blank=BLANK, reduction="none"
    )
    torch.testing.assert_close(found, wanted)
    found.sum().backward()  # type: ignore[no-untyped-call]
    wanted.sum().backward()  # type: ignore[no-untyped-call]
    assert ours.grad is not None
    assert theirs.grad is not None
    # PyTorch's gradient is taken through a softmax, which changes a gradient by what is equal in all of a position.
    difference = ours.grad - theirs.grad - log_probs.exp() * ours.grad.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(difference, torch.zeros_like(difference), atol=1e-4, rtol=0)


def test_a_target_that_does_not_fit_is_all_but_impossible_and_has_a_finite_gradient() -> None:
    log_probs = drawn(1, 3, 5).requires_grad_()
    targets = torch.tensor([[3, 3, 4]])  # needs a blank between its repeats
    found = log_likelihood(_emitted(log_probs, torch.ones(1, 3, dtype=torch.bool), targets, targets > 0, BLANK))
    assert found.item() < -1e8
    found.where(found > -1e8, 0.0).sum().backward()  # type: ignore[no-untyped-call]
    assert log_probs.grad is not None
    assert bool(log_probs.grad.isfinite().all())


@pytest.mark.parametrize("seed", range(4))
def test_the_best_path_is_the_best_of_all_that_collapse_to_the_target(seed: int) -> None:
    log_probs = drawn(1, 5, 4, seed)
    for target, paths in all_paths(log_probs[0]).items():
        if not target:
            continue
        ids = torch.tensor([target])
        emitted = _emitted(log_probs, torch.ones(1, 5, dtype=torch.bool), ids, ids > 0, BLANK)
        assert tuple(best_path(emitted)[0].tolist()) == max(paths)[1]
        total = torch.tensor([score for score, _ in paths]).logsumexp(dim=0)
        torch.testing.assert_close(log_likelihood(emitted)[0], total)


def test_what_comes_next_is_what_all_longer_outputs_say() -> None:
    log_probs = drawn(2, 4, 4, seed=3)
    real = torch.tensor([[True] * 4, [True, True, True, False]])
    for number, length in enumerate((4, 3)):
        outputs = {
            output: torch.tensor([score for score, _ in paths]).exp().sum().item()
            for output, paths in all_paths(log_probs[number, :length]).items()
        }
        for prefix in [(), (1,), (1, 1), (2, 1), (3, 2, 3)]:
            state = CollapsedPrefixes(log_probs, real, blank_id=BLANK)
            found = state.step(torch.tensor([9, 9]), None)
            for token in prefix:
                found = state.step(torch.tensor([token, token]), None)
            begins = sum(share for output, share in outputs.items() if output[: len(prefix)] == prefix)
            for token in (1, 2, 3):
                longer = (*prefix, token)
                share = sum(share for output, share in outputs.items() if output[: len(longer)] == longer)
                if begins > 0:
                    assert found[number, token].exp().item() == pytest.approx(share / begins, abs=1e-5)


def test_rows_follow_their_parents() -> None:
    log_probs = drawn(2, 6, 5, seed=4)
    state = CollapsedPrefixes(log_probs, torch.ones(2, 6, dtype=torch.bool), blank_id=BLANK)
    state.step(torch.tensor([9, 9]), None)
    both = state.step(torch.tensor([1, 2, 3]), torch.tensor([1, 0, 1]))
    alone = CollapsedPrefixes(log_probs[1:], torch.ones(1, 6, dtype=torch.bool), blank_id=BLANK)
    alone.step(torch.tensor([9]), None)
    torch.testing.assert_close(both[2:], alone.step(torch.tensor([3]), None))
