"""Small runs by several processes, each forked from this one, which has torch already; they meet over Gloo.

`train_in` forks, waits and returns the exit codes. A run is the real loop on a small model of every task, with dropout,
so that what two processes draw must be what one draws.
"""

import os
import socket
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from heedful.config.classification import ClassifierConfig
from heedful.config.language_modeling import TransformerXLConfig
from heedful.config.models import TransformerConfig
from heedful.config.training import RDrop, TrainingConfig, ValidationConfig
from heedful.data.batch import collate
from heedful.data.labelled_batches import labelled_tokens
from heedful.data.named_batch import NamedBatch
from heedful.data.text_stream import TextStream
from heedful.errors import HeedfulError
from heedful.models.build import build_classifier, build_language_model, build_model
from heedful.models.transformer_xl import RelativeLayer
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.training.distribution.ranks import GroupRanks, Ranks
from heedful.training.distribution.wrapping import make_team
from heedful.training.durability.checkpoint import load_checkpoint, take_snapshot, write_snapshot, write_together
from heedful.training.job import Validation
from heedful.training.loop import Run, start_state, train
from heedful.training.losses.labels import ClassificationLoss
from heedful.training.losses.loss_module import LossModule
from heedful.training.losses.segment import SegmentLoss
from heedful.training.losses.sequence import SequenceLoss

VOCAB, ROWS, SEGMENT = 23, 7, 5
LAYERS = (EncoderLayer, DecoderLayer, RelativeLayer)


class GroupJob:
    """A small model of a task that learns from drawn batches; their rows are too few for some of the parts."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.loss = _loss_of(task)
        ids = np.random.default_rng(7).integers(0, VOCAB, 400)
        self._stream = TextStream(ids, num_streams=ROWS, segment_len=SEGMENT, seed=1)

    def batches_from(self, position: int) -> Iterator[NamedBatch]:
        while True:
            yield self.batch_at(position)
            position += 1

    def batch_at(self, position: int) -> NamedBatch:
        if self.task == "language_modeling":
            return self._stream.batch_at(position)
        rng = np.random.default_rng(position)
        num_rows = int(rng.integers(3, ROWS + 1))
        sides = [[rng.integers(3, VOCAB, rng.integers(2, 9)) for _ in range(num_rows)] for _ in range(2)]
        if self.task == "translation":
            return collate(sides[0], sides[1], bos_id=1, pad_id=0)
        documents = labelled_tokens([row.tolist() for row in sides[0]], [row % 3 for row in range(num_rows)])
        return documents.batch(np.arange(num_rows), pad_id=0)

    def validate(self, model: nn.Module) -> Validation:
        """Judge the model that is handed over, whichever it is, on batches that are not learned from."""
        whole = _loss_of(self.task).eval()
        whole.model = model
        found = [whole(self.batch_at(10**6 + number)) for number in range(2)]
        mean = sum(float(one.loss_sum) for one in found) / sum(one.num_items for one in found)
        return Validation({"loss": mean}, [{"loss": mean}])


def _loss_of(task: str) -> LossModule[Any]:
    generator = torch.Generator().manual_seed(5)
    r_drop = RDrop(kind="r_drop", weight=1.0, after_steps=4)
    if task == "translation":
        shape = TransformerConfig(
            dim=16, num_heads=2, hidden_dim=32, num_encoder_layers=2, num_decoder_layers=1, dropout=0.1
        )
        model = build_model(shape, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
        return SequenceLoss(model, label_smoothing=0.1, regularizer=r_drop)
    if task == "classification":
        settings = {"dim": 16, "num_layers": 2, "dropout": 0.1, "attention": {"kind": "multi_head", "num_heads": 2}}
        classifier = build_classifier(
            ClassifierConfig.model_validate(settings), vocab_size=VOCAB, num_labels=3, pad_id=0, generator=generator
        )
        return ClassificationLoss(classifier, label_smoothing=0.1, regularizer=r_drop)
    text_shape = TransformerXLConfig(dim=16, num_heads=2, hidden_dim=32, num_layers=2, dropout=0.1)
    text_model = build_language_model(text_shape, vocab_size=VOCAB, generator=generator)
    return SegmentLoss(text_model, text_model.empty_memory(ROWS, 4))


def copy_checkpoint(source: Path, folder: Path, task: str, ranks: Ranks, distribution: dict[str, Any]) -> None:
    """Read a checkpoint as these ranks do, and write what was read as a new one in `folder`."""
    config = TrainingConfig.model_validate({"ema_decay": 0.9, "distribution": distribution})
    job = GroupJob(task)
    team = make_team(ranks, job.loss, config.distribution, LAYERS)
    state = start_state(job.loss.model, config, job.loss.carried)
    state.carried_rows = job.loss.carried_rows
    load_checkpoint(source, state, {}, team.held_rows if team.is_sharded else None)
    snapshot = take_snapshot(state, {}, team)
    if ranks.world == 1:
        write_snapshot(folder, snapshot)
    else:
        write_together(folder, snapshot, ranks)


def run_in(folder: Path, task: str, ranks: Ranks, **training: Any) -> None:
    """Train in `folder`, going on where it stands, as one of the ranks."""
    settings: dict[str, Any] = {
        "max_steps": 20,
        "log_every": 1,
        "accumulate": 2,
        "clip_norm": 1.0,
        "ema_decay": 0.9,
        "schedule": {"kind": "constant", "peak": 0.002},
        "checkpoint": {"every_steps": 5, "keep_last": 9},
        "distribution": {"kind": "replicated", "parts": 4},
    }
    config = TrainingConfig.model_validate(settings | training)
    job = GroupJob(task)
    team = make_team(ranks, job.loss, config.distribution, LAYERS)
    state = start_state(job.loss.model, config, job.loss.carried)
    validation = ValidationConfig(every_steps=10, metric="loss")
    folder.mkdir(exist_ok=True)
    train(state, job, Run(folder, config, validation, seed=5, dim=16, team=team))


def in_processes(world: int, work: Callable[[Ranks], None]) -> list[int]:
    """Fork so many ranks, let each do the work, and return their exit codes; a HeedfulError's own, 99 for a fault."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            os._exit(_be_rank(rank, world, port, work))
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _be_rank(rank: int, world: int, port: int, work: Callable[[Ranks], None]) -> int:
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    try:
        ranks = GroupRanks(torch.device("cpu"))
        work(ranks)
        ranks.close()
    except HeedfulError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    except BaseException:
        traceback.print_exc()
        return 99
    return 0


def train_in(folder: Path, task: str, world: int, **training: Any) -> Sequence[int]:
    """Train in `folder` by so many processes; by 1 in a process that belongs to no group."""
    if world == 1:
        run_in(folder, task, Ranks(), **training)
        return [0]
    return in_processes(world, lambda ranks: run_in(folder, task, ranks, **training))
