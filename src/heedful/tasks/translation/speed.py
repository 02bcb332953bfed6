"""How fast a run will train on this machine: a few real steps on a made-up batch, for the doctor's estimate of time."""

import time

import numpy as np
import torch

from heedful.config.translation import TranslationRun
from heedful.data.batch import Batch, collate
from heedful.models.build import build_model
from heedful.tasks.device import choose_device
from heedful.tasks.translation.families import loss_of
from heedful.training.loop import start_state
from heedful.training.step import StepSettings, train_step

_TOKENS_ON_CPU = 2048
"""A CPU is as busy with a part of a large batch as with the whole, and a patient user should not need to be."""

_FIRST_ID = 4


def measure_training_speed(
    config: TranslationRun,
    shape: tuple[int, int, int],
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    device: str | None = None,
    num_steps: int = 3,
) -> float:
    """Return target tokens a second of steps on batches of `shape`: rows, source_len, target_len.

    Compilation is left out: it is paid once, and a short trial would be nothing else.
    """
    chosen = choose_device(device)
    model = build_model(
        config.model, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, pad_id=0
    ).to(chosen)
    state = start_state(model, config.training)
    training = config.training
    loss = loss_of(model, training)
    settings = StepSettings(bf16=training.precision == "bf16")
    batch = _made_up_batch(shape, (source_vocab_size, target_vocab_size), chosen)
    model.train()
    seconds: list[float] = []
    for _ in range(1 + num_steps):
        began = time.perf_counter()
        train_step(state, loss, [batch], settings, learning_rate=0.0)
        if chosen.type == "cuda":
            torch.cuda.synchronize(chosen)
        seconds.append(time.perf_counter() - began)
    return batch.num_items / sorted(seconds[1:])[num_steps // 2]  # the first one warms up


def _made_up_batch(shape: tuple[int, int, int], vocab_sizes: tuple[int, int], device: torch.device) -> Batch:
    rows, source_len, target_len = shape
    if device.type == "cpu":
        rows = max(1, min(rows, _TOKENS_ON_CPU // target_len))
    rng = np.random.default_rng(0)
    sources = list(rng.integers(_FIRST_ID, vocab_sizes[0], (rows, source_len), dtype=np.int32))
    targets = list(rng.integers(_FIRST_ID, vocab_sizes[1], (rows, target_len), dtype=np.int32))
    return collate(sources, targets, bos_id=1, pad_id=0)
