"""What a run will cost, from its config and the lengths of its sentences, before a model is built.

What a pass keeps for the backward pass is said by the model's section of the config (`num_kept`). In bytes per
parameter: 16, for weight, gradient and Adam's two moments, and 4 for a moving average. The logits of one slice of the
batch come on top. This file knows no model and no tensor.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.config.models import TransformerConfig
from heedful.config.training import NoRegularizer, Sharded
from heedful.config.translation import TranslationRun
from heedful.data.packing import epoch_plan
from heedful.errors import UserError
from heedful.models.build import num_parameters
from heedful.training.step_model import GPUS, StepShape, StepTime, step_memory, step_time

_BYTES_PER_NUMBER = {"fp32": 4, "bf16": 3}  # under autocast, about half of what is kept stays in fp32
_LOGITS_AT_ONCE = 2048


@dataclass(frozen=True)
class RunEstimate:
    """What a run will cost."""

    num_parameters: int
    num_batches: int
    """Batches of an epoch."""

    num_target_tokens: int
    """Target tokens of an epoch, padding not counted."""

    real_share: float
    """Share of the tokens in a batch that are not padding."""

    num_epochs: float
    """How often `training.max_steps` steps go through the data."""

    largest_batch: tuple[int, int, int]
    """Rows, source_len and target_len of the batch that takes most memory."""

    memory_bytes: int
    """Memory of a step on the largest batch."""

    num_run_tokens: float
    """Target tokens of the whole run, padding not counted."""

    seconds: float | None
    """Time of the run at the given speed, None when no speed was given."""


def estimate_run(
    config: TranslationRun,
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    *,
    weights: NDArray[np.floating] | None = None,
    source_vocab_size: int,
    target_vocab_size: int,
    tokens_per_second: float | None = None,
) -> RunEstimate:
    """Estimate a run on examples of these lengths. `tokens_per_second` counts target tokens."""
    training = config.training
    plan = epoch_plan(
        source_lengths,
        target_lengths,
        batch_tokens=training.batch_tokens,
        seed=config.seed,
        epoch=0,
        weights=weights,
    )
    rows = np.diff(plan.starts)
    num_source, num_target = (int(lengths[plan.example_ids].sum()) for lengths in (source_lengths, target_lengths))
    num_padded = int((rows[:, None] * plan.shapes).sum())
    parameters = num_parameters(config.model, source_vocab_size, target_vocab_size)
    costs = [_activation_bytes(config, *shape) for shape in zip(rows.tolist(), *plan.shapes.T.tolist(), strict=True)]
    largest = int(np.argmax(costs))
    num_batches_needed = training.max_steps * training.accumulate
    tokens_of_run = num_target / len(plan) * num_batches_needed
    logits = 2 * 4 * target_vocab_size * min(_LOGITS_AT_ONCE, training.batch_tokens)
    state = parameters * (16 if training.ema_decay is None else 20)
    return RunEstimate(
        num_parameters=parameters,
        num_batches=len(plan),
        num_target_tokens=num_target,
        real_share=(num_source + num_target) / num_padded,
        num_epochs=num_batches_needed / len(plan),
        largest_batch=(int(rows[largest]), *plan.shapes[largest].tolist()),
        memory_bytes=costs[largest] + logits + state,
        num_run_tokens=tokens_of_run,
        seconds=None if tokens_per_second is None else tokens_of_run / tokens_per_second,
    )


@dataclass(frozen=True)
class PaperEstimate:
    """What a run would cost on GPUs that are not here (training/step_model.py)."""

    gpu: str
    step: StepTime
    seconds: float
    memory_bytes: float
    """Of each GPU."""

    memory_there: float


def on_paper(
    config: TranslationRun, cost: RunEstimate, vocab_sizes: tuple[int, int], gpu: str, num_gpus: int
) -> PaperEstimate:
    """Predict a run on `num_gpus` GPUs of a kind. Validating, saving and the start are not in it."""
    if gpu.lower() not in GPUS:
        raise UserError(f'`--gpu` must be one of {", ".join(GPUS)}, but is "{gpu}".')
    if not isinstance(config.model, TransformerConfig):
        raise UserError(f"`--gpus` predicts Transformers, but this model is a {config.model.family}.")
    kind, training = GPUS[gpu.lower()], config.training
    rows, source_len, target_len = cost.largest_batch
    sharded = isinstance(training.distribution, Sharded)
    passes = 1 if isinstance(training.regularizer, NoRegularizer) else 2
    mean_tokens = cost.num_target_tokens / cost.num_batches / cost.real_share * training.accumulate * passes
    shape = _shape(config.model, cost.num_parameters, vocab_sizes, mean_tokens, target_len, training.recompute)
    largest = _shape(
        config.model, cost.num_parameters, vocab_sizes, rows * target_len * passes, target_len, training.recompute
    )
    step = step_time(shape, kind, num_gpus, sharded=sharded)
    kept = _activation_bytes(config, rows, source_len, target_len) / num_gpus
    memory = step_memory(largest, num_gpus, kept, sharded=sharded, average=training.ema_decay is not None)
    return PaperEstimate(kind.name, step, step.total * training.max_steps, memory, kind.memory_bytes)


def _shape(
    model: TransformerConfig, parameters: int, vocab_sizes: tuple[int, int], tokens: float, length: int, recompute: bool
) -> StepShape:
    """Describe a step; sources are taken to be as long as targets."""
    tables = {"three_way": 1, "none": 3}.get(model.tying, 2) * vocab_sizes[1] * model.dim
    return StepShape(
        num_parameters=parameters,
        layer_parameters=max(1, parameters - tables),
        num_layers=model.depth,
        dim=model.dim,
        vocab_size=vocab_sizes[1],
        tokens=tokens,
        layer_tokens=tokens * model.depth,
        attended=1.5 * length,
        recompute=recompute,
    )


def _activation_bytes(config: TranslationRun, rows: int, source_len: int, target_len: int) -> int:
    """Return what is kept of a batch from the forward to the backward pass."""
    num_passes = 1 if isinstance(config.training.regularizer, NoRegularizer) else 2
    numbers = rows * config.model.num_kept(source_len, target_len)
    return numbers * num_passes * _BYTES_PER_NUMBER[config.training.precision]
