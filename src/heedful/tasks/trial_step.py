"""What a step of a classifier's or a language model's run costs here: a few real steps on a made-up batch.

For the doctor: how fast, and how much memory. What is kept for the backward pass is counted while it is kept, so no
formula has to know the model. On a CPU a batch that takes long is cut to a part, and what was counted is scaled up
again. Translation has a formula for the memory (tasks/translation/estimate.py) and its own trial (speed.py).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from heedful.config.classification import ClassificationRun
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.training import TrainingConfig
from heedful.data.batch import LabelledBatch, SegmentBatch
from heedful.data.named_batch import BatchT
from heedful.models.build import build_classifier, build_language_model, count_parameters
from heedful.tasks.device import choose_device
from heedful.training.loop import start_state
from heedful.training.losses.labels import ClassificationLoss
from heedful.training.losses.loss_module import LossModule
from heedful.training.losses.segment import SegmentLoss
from heedful.training.step import StepSettings, train_step

_TOKENS_ON_CPU = 512
_NUM_STEPS = 3
_PATIENCE_SECONDS = 10.0
_BYTES_PER_PARAMETER = 16
"""Weight, gradient, and the optimizer's two moments; a moving average has 4 more."""


@dataclass(frozen=True)
class Trial:
    """What was measured."""

    num_parameters: int
    memory_bytes: int
    """Of a step on a whole batch: the state of the model and what is kept for the backward pass."""

    tokens_per_second: float
    """Tokens that are read, padding included; of a language model, symbols."""


def try_labels(
    config: ClassificationRun, shape: tuple[int, int], *, vocab_size: int, num_labels: int, device: str | None = None
) -> Trial:
    """Try steps on a batch of `shape`: documents, and the tokens they are padded to."""
    training = config.training
    model = build_classifier(config.model, vocab_size=vocab_size, num_labels=num_labels, pad_id=0)
    model = model.to(choose_device(device))
    loss = ClassificationLoss(model, label_smoothing=training.label_smoothing, regularizer=training.agreement)

    def make(rows: int) -> tuple[LossModule[LabelledBatch], LabelledBatch]:
        generator = torch.Generator().manual_seed(0)
        token_ids = torch.randint(1, vocab_size, (rows, shape[1]), generator=generator)
        return loss, LabelledBatch(token_ids, torch.randint(num_labels, (rows,), generator=generator))

    return _try(model, make, shape, training)


def try_text(config: LanguageModelRun, *, vocab_size: int, device: str | None = None) -> Trial:
    """Try steps on the segments that a run reads side by side."""
    training = config.training
    model = build_language_model(config.model, vocab_size=vocab_size).to(choose_device(device))
    dtype = torch.bfloat16 if training.precision == "bf16" else torch.float32

    def make(rows: int) -> tuple[LossModule[SegmentBatch], SegmentBatch]:
        ids = torch.randint(vocab_size, (rows, training.segment_len + 1), generator=torch.Generator().manual_seed(0))
        batch = SegmentBatch(ids[:, :-1], ids[:, 1:], torch.zeros(rows, dtype=torch.bool))
        memory = model.empty_memory(rows, training.memory_len, dtype=dtype)
        return SegmentLoss(model, memory, label_smoothing=training.label_smoothing), batch

    return _try(model, make, (training.num_streams, training.segment_len), training)


Make = Callable[[int], tuple[LossModule[BatchT], BatchT]]
"""Makes a batch of so many rows, and the loss that goes with it."""


def _try(model: nn.Module, make: Make[BatchT], shape: tuple[int, int], training: TrainingConfig) -> Trial:
    """Take a few steps on a batch of `shape`, rows and length; on a CPU where that would take long, on a part of it.

    A part alone would not do: what a step costs whatever its batch, the update of all weights, would count many times.
    """
    state = start_state(model.train(), training)
    settings = StepSettings(bf16=training.precision == "bf16")
    rows, length = shape
    tried = max(1, min(rows, _TOKENS_ON_CPU // length)) if state.device.type == "cpu" else rows

    def step(loss: LossModule[BatchT], batch: BatchT) -> float:
        began = time.perf_counter()
        train_step(state, loss, [batch], settings, learning_rate=0.0)
        if state.device.type == "cuda":
            torch.cuda.synchronize(state.device)
        return time.perf_counter() - began

    loss, batch = make(tried)
    seconds = [step(loss, batch)]
    if seconds[0] * _NUM_STEPS < _PATIENCE_SECONDS:  # otherwise the first one, which warms up, must do
        if seconds[0] * _NUM_STEPS * rows / tried < _PATIENCE_SECONDS:
            tried = rows
            loss, batch = make(tried)
        seconds = [step(loss, batch) for _ in range(_NUM_STEPS)]
    kept = kept_bytes(loss, batch, bf16=settings.bf16)
    median = sorted(seconds)[len(seconds) // 2]
    num_parameters = count_parameters(model)
    a_parameter = _BYTES_PER_PARAMETER + (0 if training.ema_decay is None else 4)
    fixed = num_parameters * a_parameter + sum(buffer.nbytes for buffer in model.buffers())
    return Trial(num_parameters, round(kept * rows / tried) + fixed, tried * length / median)


def kept_bytes(loss: LossModule[BatchT], batch: BatchT, *, bf16: bool) -> int:
    """Count what a forward pass keeps for the backward pass, the parameters apart, each piece of memory once."""
    own = {parameter.untyped_storage().data_ptr() for parameter in loss.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast(loss.device.type, torch.bfloat16, enabled=bf16),
    ):
        found = loss(batch.to(loss.device))  # held, or what it keeps would be freed and its place counted once for two
    total = sum(kept.values())
    del found
    return total
