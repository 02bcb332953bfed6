import math

import pytest
import torch
from torch import nn

from heedful.config.training import (
    ConstantSchedule,
    CosineSchedule,
    InverseSqrtSchedule,
    OptimizerConfig,
    PaperSchedule,
)
from heedful.training.optimizer import build_optimizer, set_learning_rate
from heedful.training.schedule import learning_rate


@pytest.mark.parametrize("step", [1, 2, 3999, 4000, 4001, 100_000])
def test_the_papers_schedule_is_equation_3(step: int) -> None:
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert learning_rate(PaperSchedule(), dim=512, max_steps=10, step=step) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "schedule",
    [
        InverseSqrtSchedule(kind="inverse_sqrt", peak=0.3, warmup_steps=10),
        CosineSchedule(kind="cosine", peak=0.3, warmup_steps=10, final=0.03),
        ConstantSchedule(kind="constant", peak=0.3, warmup_steps=10),
    ],
    ids=lambda schedule: schedule.kind,
)
def test_every_schedule_warms_up_linearly_to_its_peak(
    schedule: ConstantSchedule | CosineSchedule | InverseSqrtSchedule,
) -> None:
    rates = [learning_rate(schedule, dim=8, max_steps=110, step=step) for step in range(1, 111)]
    assert rates[:10] == pytest.approx([0.03 * step for step in range(1, 11)])
    assert max(rates) == pytest.approx(0.3)


def test_what_comes_after_the_warm_up() -> None:
    def at(schedule: ConstantSchedule | CosineSchedule | InverseSqrtSchedule, step: int) -> float:
        return learning_rate(schedule, dim=8, max_steps=110, step=step)

    assert at(InverseSqrtSchedule(kind="inverse_sqrt", peak=0.3, warmup_steps=10), 40) == pytest.approx(0.15)
    cosine = CosineSchedule(kind="cosine", peak=0.3, warmup_steps=10, final=0.1)
    assert at(cosine, 60) == pytest.approx(0.2)
    assert at(cosine, 110) == pytest.approx(0.1)
    assert at(cosine, 500) == pytest.approx(0.1)
    assert at(ConstantSchedule(kind="constant", peak=0.3), 77) == 0.3


def test_only_matrices_decay() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0)
    optimizer = build_optimizer(model.parameters(), OptimizerConfig(weight_decay=0.5))
    set_learning_rate(optimizer, 0.1)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    values = {name: parameter.flatten()[0].item() for name, parameter in model.named_parameters()}
    assert values.pop("0.weight") == pytest.approx(0.95)
    assert set(values.values()) == {1.0}


def test_adam_takes_the_first_step_of_its_formula() -> None:
    model = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(2.0)
    optimizer = build_optimizer(model.parameters(), OptimizerConfig(betas=(0.9, 0.98), epsilon=1e-9))
    set_learning_rate(optimizer, 0.25)
    model.weight.grad = torch.full((1, 1), 3.0)
    optimizer.step()
    assert model.weight.item() == pytest.approx(2.0 - 0.25 * 3.0 / (math.sqrt(9.0) + 1e-9))
