"""What a family of models is trained by and what writes with it: step by step, or all at once."""

from typing import Any, cast

from torch import nn

from heedful.config.training import Glancing, NoRegularizer, TrainingConfig
from heedful.data.batch import Batch
from heedful.decoding import Decodable, Generator, Parallel, Stepwise
from heedful.models.nonautoregressive import CtcModel
from heedful.training.losses.ctc import CtcLoss
from heedful.training.losses.loss_module import LossModule
from heedful.training.losses.sequence import SequenceLoss


def loss_of(model: nn.Module, training: TrainingConfig) -> LossModule[Batch]:
    """Return what a model minimises in training."""
    if isinstance(model, CtcModel):
        regularizer = training.regularizer
        assert isinstance(regularizer, NoRegularizer | Glancing)
        return CtcLoss(model, regularizer)
    return SequenceLoss(model, label_smoothing=training.label_smoothing, regularizer=training.agreement)


def plain_loss_of(model: nn.Module) -> LossModule[Batch]:
    """Return what a model is judged by: the log-probability of references, without anything that helps it learn."""
    if isinstance(model, CtcModel):
        return CtcLoss(model, NoRegularizer())
    return SequenceLoss(model, label_smoothing=0.0, regularizer=NoRegularizer())


def generator_of(model: nn.Module | Decodable[Any]) -> Generator:
    """Return what writes with a model, by the way that is its own."""
    return Parallel(model) if isinstance(model, CtcModel) else Stepwise(cast(Decodable[Any], model))
