"""The training loop: step, tell, validate, save, until done, diverged or asked to stop.

A page of plain control flow over a `TrainState`. What is trained, on what and how it is judged is a `TrainingJob`, so
this file knows no text and no model. The loop reads numbers back from the device only where a line of the journal or a
checkpoint needs them.
"""

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from heedful.config.training import TrainingConfig
from heedful.data.named_batch import BatchT, NamedBatch
from heedful.errors import HeedfulError
from heedful.files import JsonValue
from heedful.training.durability.checkpoint import (
    best_steps,
    find_latest,
    list_checkpoints,
    load_checkpoint,
    require_space,
    take_snapshot,
)
from heedful.training.durability.interruption import Interruption, TrainingInterruptedError
from heedful.training.durability.journal import Journal, Observer, Record, Silent, finite
from heedful.training.durability.saving import Saver
from heedful.training.ema import MovingAverage
from heedful.training.job import TrainingJob
from heedful.training.optimizer import build_optimizer
from heedful.training.recorded_step import StepRecorder
from heedful.training.schedule import learning_rate
from heedful.training.state import MAX_SKIPPED_IN_A_ROW, Tally, TrainState
from heedful.training.step import StepSettings, train_step

BatchContra = TypeVar("BatchContra", bound=NamedBatch, contravariant=True)


class ValidationSettings(Protocol):
    """What the loop must know of a task's `validation` section."""

    @property
    def every_steps(self) -> int:
        """Steps between validations."""

    @property
    def metric(self) -> str:
        """The number that decides what is best: the lowest when it is "loss", else the highest."""


@dataclass(frozen=True)
class Run:
    """Where and how a run goes on, apart from what it trains."""

    folder: Path
    """Run folder; the caller holds its `RunLock`."""

    training: TrainingConfig
    validation: ValidationSettings
    seed: int
    dim: int
    """Width of the model, for the paper's schedule."""

    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    """What a checkpoint must agree on to be resumed, such as the tokenizer's hash."""

    observer: Observer = field(default_factory=Silent)
    """Is shown each record of the journal and told sentences about what happened."""

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.folder / "checkpoints"


def start_state(model: nn.Module, config: TrainingConfig, carried: dict[str, Tensor] | None = None) -> TrainState:
    """Make the state of a run before its first step; `carried` are the tensors its loss hands on."""
    average = None if config.ema_decay is None else MovingAverage(model, config.ema_decay)
    device = next(model.parameters()).device
    return TrainState(model, build_optimizer(model, config.optimizer), Tally.zeros(device), average, carried or {})


def train(state: TrainState, job: TrainingJob[BatchT], run: Run) -> None:
    """Train until the last step, going on from the newest checkpoint of the run folder where there is one.

    `state` is that of the job's model: `start_state(job.loss.model, …)`.
    """
    config = run.training
    require_space(run.checkpoints, state)
    metrics, samples = Journal(run.folder / "metrics.jsonl"), Journal(run.folder / "samples.jsonl")
    _resume(state, run, metrics, samples)
    clock = _Clock()
    saver = _saver(run)
    with Interruption() as interruption, ExitStack() as cleanup:
        cleanup.callback(saver.wait)
        batches = job.batches_from(state.step * config.accumulate)
        if close := getattr(batches, "close", None):
            cleanup.callback(close)
        state.model.train()
        do_step = stepper(state, job, run)
        while state.step < config.max_steps and not state.stopped_early:
            if state.step == job.loss.early_steps > 0:
                do_step = stepper(state, job, run)  # from here on another loss, and other kernels to record
            rate = learning_rate(config.schedule, dim=run.dim, max_steps=config.max_steps, step=state.step + 1)
            step_batches = [next(batches) for _ in range(config.accumulate)]
            do_step(step_batches, learning_rate=rate)
            clock.count(sum(batch.num_items for batch in step_batches))
            if _due(state, config.log_every, config) or state.device.type == "cpu":
                _stop_if_diverged(state, run, saver)
            if _due(state, config.log_every, config):
                _tell(run, metrics, _train_record(state, rate, clock.read(config.max_steps - state.step)))
            if _due(state, run.validation.every_steps, config):
                with clock.stopped():
                    _validate(state, job, run, metrics, samples)
            if interruption.received is not None or _save_is_due(state, run, saver):
                with clock.stopped():
                    _save(state, run, metrics, samples, saver)
            if interruption.received is not None:
                raise TrainingInterruptedError(interruption.received, state.step)


class _Step(Protocol[BatchContra]):
    """Does one update on some batches."""

    def __call__(self, batches: Sequence[BatchContra], *, learning_rate: float) -> None: ...


def stepper(state: TrainState, job: TrainingJob[BatchT], run: Run) -> _Step[BatchT]:
    """Choose how steps are done: plainly, or on a GPU recorded and replayed. The weights come out the same."""
    job.loss.is_early = state.step < job.loss.early_steps
    config = run.training
    settings = StepSettings(config.clip_norm, config.precision == "bf16", run.seed, run.observer.say)
    if state.device.type == "cuda" and config.cuda_graphs:
        return StepRecorder(state, job.loss, settings).step

    def step(batches: Sequence[BatchT], *, learning_rate: float) -> None:
        train_step(state, job.loss, batches, settings, learning_rate=learning_rate)

    return step


def weights_sha256(model: nn.Module) -> str:
    """Return the sha256 over all parameters, to tell whether two runs ended in the same weights."""
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _resume(state: TrainState, run: Run, metrics: Journal, samples: Journal) -> None:
    latest = find_latest(run.checkpoints, run.observer.say)
    if latest is not None:
        load_checkpoint(latest, state, run.facts)
        run.observer.say(f"Going on after step {state.step}.")
    metrics.rewind(state.step)
    samples.rewind(state.step)


def _due(state: TrainState, every: int, config: TrainingConfig) -> bool:
    return state.step % every == 0 or state.step == config.max_steps


def _stop_if_diverged(state: TrainState, run: Run, saver: Saver) -> None:
    if int(state.tally.skipped_in_a_row.item()) >= MAX_SKIPPED_IN_A_ROW:
        saver.wait()
        last = next(reversed(list_checkpoints(run.checkpoints)), 0)
        raise HeedfulError(
            f"Training stopped at step {state.step}: loss or gradient was not finite {MAX_SKIPPED_IN_A_ROW} steps in a "
            f"row. The last checkpoint is that of step {last}. Lower the learning rate, set `training.clip_norm`, or "
            'set `training.precision` to "fp32".'
        )


def _train_record(state: TrainState, rate: float, timing: JsonValue) -> Record:
    """Read the sums back from the device, the one place where the host waits, and begin new ones."""
    tally = state.tally
    num_items = tally.num_items.item()
    means = {"loss": tally.loss_sum.item(), **{name: value.item() for name, value in tally.metric_sums.items()}}
    record: dict[str, JsonValue] = {"step": state.step, "kind": "train"}
    record |= {name: finite(total / num_items) if num_items else None for name, total in means.items()}
    record |= {"gradient_norm": finite(tally.gradient_norm.item()), "learning_rate": rate}
    record |= {"skipped": int(tally.skipped.item()), "timing": timing}
    tally.start_new_line()
    return record


def _validate(state: TrainState, job: TrainingJob[BatchT], run: Run, metrics: Journal, samples: Journal) -> None:
    started = time.perf_counter()
    averaged = nullcontext() if state.average is None else state.average.in_place_of(state.model)
    state.model.eval()
    with averaged, torch.no_grad():
        found = job.validate(state.model)
    state.model.train()
    metric = run.validation.metric
    score = found.numbers[metric] if metric != "loss" else -found.numbers[metric]
    state.scores[state.step] = score if finite(score) is not None else -sys.float_info.max
    state.stopped_early = _has_lost_patience(state.scores, run.training.patience)
    timing: JsonValue = {"seconds": round(time.perf_counter() - started, 3)}
    numbers = {name: finite(value) for name, value in found.numbers.items()}
    _tell(run, metrics, {"step": state.step, "kind": "validation", **numbers, "timing": timing})
    for sample in found.samples:
        samples.write({"step": state.step, **sample})
    if state.stopped_early:
        run.observer.say(f"`validation.metric` has not got better {run.training.patience} times: training ends here.")


def _has_lost_patience(scores: Mapping[int, float], patience: int | None) -> bool:
    best = best_steps(list(scores), scores, 1)
    return patience is not None and sum(step > best[0] for step in scores) >= patience


def _save_is_due(state: TrainState, run: Run, saver: Saver) -> bool:
    """Save on schedule, at the end, and what belongs to the best so far."""
    if state.stopped_early or _due(state, run.training.checkpoint.every_steps, run.training):
        return True
    if state.step not in state.scores:
        return False
    saver.wait()  # what is on its way is one of those it is compared with
    _, keep_best = _numbers_kept(run.training)
    return state.step in best_steps([*list_checkpoints(run.checkpoints), state.step], state.scores, keep_best)


def _save(state: TrainState, run: Run, metrics: Journal, samples: Journal, saver: Saver) -> None:
    """Copy the state and have it written; the journal is on disk before a checkpoint that counts on it."""
    _stop_if_diverged(state, run, saver)
    metrics.force_to_disk()
    samples.force_to_disk()
    saver.save(take_snapshot(state, run.facts), state.scores)


def _saver(run: Run) -> Saver:
    keep_last, keep_best = _numbers_kept(run.training)
    every_steps = run.training.checkpoint.every_steps
    return Saver(
        run.checkpoints, every_steps=every_steps, keep_last=keep_last, keep_best=keep_best, report=run.observer.say
    )


def _numbers_kept(config: TrainingConfig) -> tuple[int, int]:
    """Return how many of the last and of the best stay; never fewer than the average at the end will want."""
    last = config.average.count if config.average.which == "last" else 1
    best = config.average.count if config.average.which == "best" else 0
    return max(config.checkpoint.keep_last, last), max(config.checkpoint.keep_best, best)


def _tell(run: Run, metrics: Journal, record: Record) -> None:
    metrics.write(record)
    run.observer.show(record)


class _Clock:
    """Speed since the last line of the journal; validating and saving do not count."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self._steps = self._num_items = 0
        self._seconds, self._started = 0.0, time.perf_counter()

    def count(self, num_items: int) -> None:
        """Note a step."""
        self._steps += 1
        self._num_items += num_items

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Leave the block out."""
        self._seconds += time.perf_counter() - self._started
        yield
        self._started = time.perf_counter()

    def read(self, steps_left: int) -> dict[str, JsonValue]:
        """Return the numbers of a record, and begin anew."""
        seconds = max(self._seconds + time.perf_counter() - self._started, 1e-9)
        numbers: dict[str, JsonValue] = {
            "seconds": round(seconds, 3),
            "tokens_per_second": round(self._num_items / seconds, 1),
            "seconds_left": round(steps_left * seconds / max(1, self._steps), 1),
        }
        self._restart()
        return numbers
