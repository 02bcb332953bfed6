"""Jobs and losses made of plain functions, for tests of everything around a model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic

from torch import nn

from heedful.data.named_batch import BatchT
from heedful.training.durability.journal import Record
from heedful.training.job import Validation
from heedful.training.losses.loss_module import LossModule, LossSum

LossFunction = Callable[[nn.Module, BatchT], LossSum]


class FunctionLoss(LossModule[BatchT]):
    """A loss that is a function of model and batch, and another one in the first steps where one is given."""

    def __init__(
        self,
        model: nn.Module,
        function: LossFunction[BatchT],
        early: LossFunction[BatchT] | None = None,
        early_steps: int = 0,
    ) -> None:
        super().__init__(model, early_steps=early_steps)
        self.function, self.early = function, early or function

    def forward(self, batch: BatchT) -> LossSum:
        """Call the function."""
        return (self.early if self.is_early else self.function)(self.model, batch)


@dataclass(frozen=True)
class FunctionJob(Generic[BatchT]):
    """A job whose methods are given; tests replace the one they are about."""

    loss: LossModule[BatchT]
    batches_from: Callable[[int], Iterator[BatchT]]
    validate: Callable[[nn.Module], Validation]


@dataclass
class Heard:
    """An observer that remembers."""

    shown: list[Record] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def show(self, record: Record) -> None:
        """Remember the record."""
        self.shown.append(record)

    def say(self, sentence: str) -> None:
        """Remember the sentence."""
        self.said.append(sentence)
