"""What a family of models is trained by and what writes with it: step by step, or all at once."""

from typing import Any, cast

import torch
from torch import nn

from heedful.config.training import Glancing, NoRegularizer, Teacher, TrainingConfig
from heedful.data.batch import Batch
from heedful.decoding import Decodable, Fertile, Generator, Parallel, Recorded, Stepwise
from heedful.engines.cuda.transformer import FixedTransformer, can_replay
from heedful.models.fertility import FertilityModel
from heedful.models.interfaces import EncoderDecoder
from heedful.models.nonautoregressive import CtcModel
from heedful.models.transformer import Transformer
from heedful.training.losses.ctc import CtcLoss
from heedful.training.losses.fertility import FertilityLoss
from heedful.training.losses.loss_module import LossModule
from heedful.training.losses.sequence import SequenceLoss


def loss_of(model: nn.Module, training: TrainingConfig, teacher: EncoderDecoder | None = None) -> LossModule[Batch]:
    """Return what a model minimises in training, with the teacher where its regulariser has one."""
    if isinstance(model, CtcModel):
        regularizer = training.regularizer
        assert isinstance(regularizer, NoRegularizer | Glancing)
        return CtcLoss(model, regularizer)
    if isinstance(model, FertilityModel):
        regularizer = training.regularizer
        assert isinstance(regularizer, NoRegularizer | Teacher)
        smoothing = training.label_smoothing
        return FertilityLoss(model, label_smoothing=smoothing, regularizer=regularizer, teacher=teacher)
    return SequenceLoss(model, label_smoothing=training.label_smoothing, regularizer=training.agreement)


def plain_loss_of(model: nn.Module) -> LossModule[Batch]:
    """Return what a model is judged by: the log-probability of references, without anything that helps it learn."""
    if isinstance(model, CtcModel):
        return CtcLoss(model, NoRegularizer())
    if isinstance(model, FertilityModel):
        return FertilityLoss(model, label_smoothing=0.0, regularizer=NoRegularizer())
    return SequenceLoss(model, label_smoothing=0.0, regularizer=NoRegularizer())


def generator_of(model: nn.Module | Decodable[Any], *, half: bool = False) -> Generator:
    """Return what writes with a model, by the way that is its own; `half` lets a GPU compute in bf16."""
    if isinstance(model, CtcModel):
        return Parallel(model)
    if isinstance(model, FertilityModel):
        return Fertile(model)
    if isinstance(model, Transformer) and can_replay(model, half=half):
        return Recorded(FixedTransformer(model, torch.bfloat16 if half else torch.float32), model)
    return Stepwise(cast(Decodable[Any], model))
