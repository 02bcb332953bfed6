"""Forced scores against a plain forward pass, and whatever can be searched."""

from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.tasks.translation.forced_scores import forced_scores
from tests.support.small_models import draw_model

PAIRS = [([5, 6, 7, 2], [8, 9, 2]), ([5, 2], [11, 12, 13, 14, 2]), ([9, 9, 9, 2], [2])]


class OnlySteps:
    """A model that goes on one token at a time, as a recurrent one does."""

    def __init__(self) -> None:
        self.model = draw_model()

    def start(self, *args: Any, **options: Any) -> Any:
        return self.model.start(*args, **options)

    def step(self, state: Any, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        return self.model.step(state, token_ids, parents)

    def step_best(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


def score(model: Any, pairs: list[tuple[list[int], list[int]]]) -> list[list[float]]:
    return forced_scores(model, pairs, bos_id=1, vocab_size=30, device=torch.device("cpu"))


def test_scores_are_those_of_a_forward_pass_pair_by_pair() -> None:
    model = draw_model()
    for (source, target), found in zip(PAIRS, score(model, PAIRS), strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([source]), None, torch.tensor([[1, *target[:-1]]]))
        expected = logits.log_softmax(-1)[0, range(len(target)), target].tolist()
        assert found == pytest.approx(expected, abs=1e-5)


def test_what_goes_one_step_at_a_time_scores_the_same() -> None:
    for one, other in zip(score(OnlySteps(), PAIRS), score(draw_model(), PAIRS), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_no_pairs_are_no_scores() -> None:
    assert score(draw_model(), []) == []
