"""A model of a few numbers that trains in milliseconds, for tests of everything around the model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.config.training import TrainingConfig, ValidationConfig
from heedful.training.loop import Run, TrainingTask, Validation, start_state
from heedful.training.losses.cross_entropy import LossSum
from heedful.training.state import TrainState


@dataclass(frozen=True)
class Numbers:
    """Rows of inputs and what the model should answer."""

    inputs: Tensor
    wanted: Tensor

    @property
    def num_target_tokens(self) -> int:
        return len(self.inputs)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "Numbers":
        return replace(self, inputs=self.inputs.to(device), wanted=self.wanted.to(device))

    def split(self, count: int) -> Sequence["Numbers"]:
        return [Numbers(i, w) for i, w in zip(self.inputs.chunk(count), self.wanted.chunk(count), strict=True)]


def numbers_at(position: int, rows: int = 8) -> Numbers:
    generator = torch.Generator().manual_seed(1000 + position)
    inputs = torch.randn(rows, 4, generator=generator)
    return Numbers(inputs, inputs.sum(dim=1, keepdim=True))


def numbers_from(position: int) -> Iterator[Numbers]:
    while True:
        yield numbers_at(position)
        position += 1


def squared_error(model: nn.Module, batch: Numbers) -> LossSum:
    error = (model(batch.inputs) - batch.wanted).square().sum()
    return LossSum(error, batch.num_target_tokens, {"error": error.detach()})


def validate(model: nn.Module) -> Validation:
    batch = numbers_at(10**6)
    assert not model.training
    return Validation(
        {"loss": (squared_error(model, batch).loss_sum / 8).item()}, [{"answer": model(batch.inputs)[0].item()}]
    )


def small_model(dropout: float = 0.1) -> nn.Sequential:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))


@dataclass
class Small:
    """A run in the making; tests replace the part they are about."""

    state: TrainState
    task: TrainingTask[Numbers]
    run: Run
    said: list[str]
    told: list[Any]


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., Small]:
    def make(
        folder: str = "run", dropout: float = 0.1, validation: dict[str, Any] | None = None, **training: Any
    ) -> Small:
        settings: dict[str, Any] = {
            "max_steps": 12,
            "log_every": 2,
            "schedule": {"kind": "constant", "peak": 0.01},
            "checkpoint": {"every_steps": 4, "keep_last": 3},
            "average": {"count": 1},
        }
        config = TrainingConfig.model_validate(settings | training)
        said: list[str] = []
        told: list[Any] = []
        run = Run(
            folder=tmp_path / folder,
            training=config,
            validation=ValidationConfig.model_validate({"every_steps": 6, "metric": "loss"} | (validation or {})),
            seed=3,
            dim=4,
            facts={"tokenizer": "abc"},
            listeners=[told.append],
            report=said.append,
        )
        run.folder.mkdir(exist_ok=True)
        task = TrainingTask(numbers_from, squared_error, validate)
        return Small(start_state(small_model(dropout), config), task, run, said, told)

    return make
