"""Trains a small Transformer in processes that can be killed. Started as a script by `test_kill_and_resume.py`.

Says "ready", then reads lines "FOLDER SIGNAL WHEN". For each it forks a process that trains in FOLDER, resuming if it
can, and answers with the exit code on one line. WHEN says when the process gets SIGNAL: "after 0.3" seconds, wherever
it is then; "at 12", when that step is told; or "never". Forking lets torch be imported once for all of them; the
processes and the signals are real.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from heedful.config.models import TransformerConfig
from heedful.config.training import NoRegularizer, TrainingConfig, ValidationConfig
from heedful.data.batch import Batch
from heedful.errors import HeedfulError
from heedful.models.build import build_model
from heedful.training.durability.journal import Observer, Record, Silent
from heedful.training.durability.run_lock import RunLock
from heedful.training.job import Validation
from heedful.training.loop import Run, start_state, train
from heedful.training.losses.sequence import SequenceLoss

PAD_ID, BOS_ID, EOS_ID, VOCAB = 0, 1, 2, 20


def pairs_at(position: int) -> Batch:
    generator = torch.Generator().manual_seed(position)
    words = torch.randint(3, VOCAB, (8, 6), generator=generator)
    words[torch.arange(6) >= torch.randint(2, 7, (8, 1), generator=generator)] = PAD_ID
    end = torch.zeros(8, 1, dtype=torch.long)
    source = torch.cat([words, end], dim=1)
    source[torch.arange(8), (words != PAD_ID).sum(dim=1)] = EOS_ID
    shifted = torch.cat([torch.full((8, 1), BOS_ID), source[:, :-1]], dim=1).masked_fill(source == PAD_ID, PAD_ID)
    return Batch(source, shifted, source, (source != PAD_ID).sum(dim=1).numpy(), np.arange(8), PAD_ID)


class CopyJob:
    """A Transformer that learns to copy."""

    def __init__(self, model: nn.Module) -> None:
        self.loss = SequenceLoss(model, label_smoothing=0.1, regularizer=NoRegularizer())

    def batches_from(self, position: int) -> Iterator[Batch]:
        while True:
            yield pairs_at(position)
            position += 1

    def validate(self, model: nn.Module) -> Validation:
        assert model is self.loss.model
        found = self.loss(pairs_at(10**6))
        loss_sum = found.loss_sum.item()
        return Validation({"loss": loss_sum / found.num_items}, [{"source": "…", "loss": loss_sum}])


def train_in(folder: Path, observer: Observer) -> None:
    config = TrainingConfig.model_validate(
        {
            "max_steps": 40,
            "log_every": 2,
            "accumulate": 2,
            "clip_norm": 1.0,
            "ema_decay": 0.9,
            "schedule": {"kind": "inverse_sqrt", "peak": 0.003, "warmup_steps": 10},
            "checkpoint": {"every_steps": 5, "keep_last": 2, "keep_best": 1},
            "average": {"count": 2},
        }
    )
    shape = TransformerConfig(
        dim=32, num_heads=4, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=1, dropout=0.2
    )
    generator = torch.Generator().manual_seed(11)
    model = build_model(shape, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=PAD_ID, generator=generator)
    job = CopyJob(model)
    validation = ValidationConfig(every_steps=8, metric="loss")
    with RunLock(folder):
        train(start_state(model, config), job, Run(folder, config, validation, seed=5, dim=32, observer=observer))


class SignalAt(Silent):
    """Sends its own process a signal when a step is told."""

    def __init__(self, step: int, number: int) -> None:
        self.step, self.number = step, number

    def show(self, record: Record) -> None:
        if record["step"] == self.step and record["kind"] == "train":
            os.kill(os.getpid(), self.number)


def run_child(folder: Path, observer: Observer) -> int:
    try:
        train_in(folder, observer)
    except HeedfulError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    return 0


def main() -> None:
    torch.set_num_threads(1)
    print("ready", flush=True)
    for line in sys.stdin:
        folder, number, when, *amount = line.split()
        child = os.fork()
        if child == 0:
            os._exit(run_child(Path(folder), SignalAt(int(amount[0]), int(number)) if when == "at" else Silent()))
        if when == "after":
            time.sleep(float(amount[0]))
            os.kill(child, int(number))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    assert threading.active_count() == 1, "a process with threads must not be forked"
    main()
