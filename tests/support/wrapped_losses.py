"""A small loss module of every task and two batches for it: what processes that train together agree on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heedful.config.classification import ClassifierConfig
from heedful.config.language_modeling import TransformerXLConfig
from heedful.config.models import TransformerConfig
from heedful.config.training import RDrop
from heedful.data.batch import collate
from heedful.data.labelled_batches import labelled_tokens
from heedful.data.named_batch import NamedBatch
from heedful.data.text_stream import TextStream
from heedful.models.build import build_classifier, build_language_model, build_model
from heedful.training.losses.labels import ClassificationLoss
from heedful.training.losses.loss_module import LossModule
from heedful.training.losses.segment import SegmentLoss
from heedful.training.losses.sequence import SequenceLoss

TASKS = ("translation", "classification", "language_modeling")
WRAPPERS = ("ddp", "fsdp")
VOCAB, ROWS, SEGMENT, STEPS = 23, 6, 5, 2


def loss_of(task: str) -> LossModule[Any]:
    """Build a model without dropout and the loss around it, the same in every process."""
    generator = torch.Generator().manual_seed(5)
    r_drop = RDrop(kind="r_drop", weight=3.0)
    if task == "translation":
        shape = TransformerConfig(
            dim=16, num_heads=2, hidden_dim=32, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0
        )
        model = build_model(shape, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
        return SequenceLoss(model, label_smoothing=0.1, regularizer=r_drop)
    if task == "classification":
        settings = {"dim": 16, "num_layers": 1, "dropout": 0.0, "attention": {"kind": "multi_head", "num_heads": 2}}
        classifier = build_classifier(
            ClassifierConfig.model_validate(settings), vocab_size=VOCAB, num_labels=3, pad_id=0, generator=generator
        )
        return ClassificationLoss(classifier, label_smoothing=0.1, regularizer=r_drop)
    text_shape = TransformerXLConfig(dim=16, num_heads=2, hidden_dim=32, num_layers=2, dropout=0.0)
    text_model = build_language_model(text_shape, vocab_size=VOCAB, generator=generator)
    return SegmentLoss(text_model, text_model.empty_memory(ROWS, 4))


def batches_of(task: str) -> Sequence[NamedBatch]:
    """Return the batches of the steps, whose rows are of different lengths."""
    rng = np.random.default_rng(7)
    if task == "language_modeling":
        stream = TextStream(rng.integers(0, VOCAB, 200), num_streams=ROWS, segment_len=SEGMENT, seed=1)
        return [stream.batch_at(position) for position in range(STEPS)]
    sides = [[rng.integers(3, VOCAB, rng.integers(2, 9)) for _ in range(ROWS)] for _ in range(2 * STEPS)]
    if task == "translation":
        return [collate(sides[step], sides[-1 - step], bos_id=1, pad_id=0) for step in range(STEPS)]
    documents = labelled_tokens([row.tolist() for row in sides[0] + sides[1]], [row % 3 for row in range(2 * ROWS)])
    return [documents.batch(np.arange(ROWS) + step * ROWS, pad_id=0) for step in range(STEPS)]


def gradients_of_rows(task: str, start: int, end: int) -> dict[str, Tensor]:
    """Take the gradients of all steps in this process, of some rows, averaged over the items of all rows."""
    loss = loss_of(task)
    found: dict[str, Tensor] = {}
    for step, batch in enumerate(batches_of(task)):
        part = loss(batch.rows(start, end))
        (part.loss_sum / batch.num_items).backward()
        part.after_gradients()
        for name, parameter in loss.model.named_parameters():
            assert parameter.grad is not None, name
            found[f"{step}/{name}"] = parameter.grad.clone()
            parameter.grad = None
    return found
