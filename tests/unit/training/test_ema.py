"""The moving average of weights in closed form."""

import contextlib

import torch
from torch import nn

from heedful.training.ema import MovingAverage


def model_at(value: float) -> nn.Linear:
    model = nn.Linear(2, 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)
    return model


def means(average: MovingAverage) -> set[float]:
    return {round(weight.mean().item(), 6) for weight in average.weights.values()}


def test_after_each_update_the_distance_is_multiplied_by_the_decay() -> None:
    model = model_at(0.0)
    average = MovingAverage(model, decay=0.75)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(16.0)
    for expected in (4.0, 7.0, 9.25):
        average.update(model, torch.tensor(0.0))
        assert means(average) == {expected}


def test_a_skipped_step_moves_nothing() -> None:
    average = MovingAverage(model_at(1.0), decay=0.5)
    average.update(model_at(9.0), torch.tensor(1.0))
    assert means(average) == {1.0}


def test_inside_the_block_the_model_is_the_average_and_afterwards_itself_even_after_a_failure() -> None:
    average, model = MovingAverage(model_at(1.0), decay=0.5), model_at(5.0)
    with contextlib.suppress(ZeroDivisionError), average.in_place_of(model):
        assert model.weight.tolist() == [[1.0, 1.0]]
        raise ZeroDivisionError
    assert model.weight.tolist() == [[5.0, 5.0]]
    assert means(average) == {1.0}
