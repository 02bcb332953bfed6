"""A model of a few numbers that trains in milliseconds, for tests of everything around the model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.config.training import TrainingConfig, ValidationConfig
from heedful.data.named_batch import NamedBatch
from heedful.training.job import Validation
from heedful.training.loop import Run, start_state
from heedful.training.losses.loss_module import LossSum
from heedful.training.state import TrainState
from tests.support.jobs import FunctionJob, FunctionLoss, Heard


@dataclass(frozen=True)
class Numbers(NamedBatch):
    """Rows of inputs and what the model should answer."""

    inputs: Tensor
    wanted: Tensor


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
    return LossSum(error, batch.num_items, {"error": error.detach()})


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
    job: FunctionJob[Numbers]
    run: Run
    heard: Heard

    @property
    def said(self) -> list[str]:
        return self.heard.said


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
        heard = Heard()
        run = Run(
            folder=tmp_path / folder,
            training=config,
            validation=ValidationConfig.model_validate({"every_steps": 6, "metric": "loss"} | (validation or {})),
            seed=3,
            dim=4,
            facts={"tokenizer": "abc"},
            observer=heard,
        )
        run.folder.mkdir(exist_ok=True)
        model = small_model(dropout)
        job = FunctionJob(FunctionLoss(model, squared_error), numbers_from, validate)
        return Small(start_state(model, config), job, run, heard)

    return make
