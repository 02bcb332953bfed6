"""What is trained: the one object that a task brings, as the loop sees it.

Everything the loop asks of it is a named method or a module; what a run does with it before and after training is
tasks/runs.py's. This file knows no loop, no text and no kind of model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import nn

from heedful.data.named_batch import BatchT
from heedful.training.durability.journal import Record
from heedful.training.losses.loss_module import LossModule


@dataclass(frozen=True)
class Validation:
    """What a validation found."""

    numbers: Mapping[str, float]
    """By name; among them the metric that decides what is best."""

    samples: Sequence[Record] = ()
    """What the model makes of a few sentences, for samples.jsonl."""


class TrainingJob(Protocol[BatchT]):
    """What the loop must be given to train something."""

    @property
    def loss(self) -> LossModule[BatchT]:
        """The model, where it is trained, and what it minimises."""

    def batches_from(self, position: int, /) -> Iterator[BatchT]:
        """Yield all batches from a position on, without end. A pure function: this is what makes resuming exact."""

    def validate(self, model: nn.Module, /) -> Validation:
        """Judge the model, which is in evaluation mode and carries the moving average where there is one."""
