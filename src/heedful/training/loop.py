"""The training loop: step, tell, validate, save, until done, diverged or asked to stop.

A page of plain control flow over a `TrainState`. What is trained, on what and how it is judged is a `TrainingJob`, so
this file knows no text and no model. The loop reads numbers back from the device only where a line of the journal or a
checkpoint needs them. Several processes run the same loop side by side: what comes next is decided by all of them
together, and only the first one tells.
"""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar, cast

import torch
from torch import Tensor, nn

from heedful.config.training import TrainingConfig
from heedful.data.named_batch import BatchT, NamedBatch
from heedful.errors import HeedfulError
from heedful.files import JsonValue, verify_manifest, verify_sizes, write_atomic
from heedful.training.distribution.ranks import GroupRanks
from heedful.training.distribution.wrapping import Team, local
from heedful.training.durability.checkpoint import (
    best_steps,
    find_latest,
    list_checkpoints,
    load_checkpoint,
    require_space,
    take_snapshot,
)
from heedful.training.durability.interruption import Interruption, TrainingInterruptedError
from heedful.training.durability.journal import Journal, Observer, Record, Silent, Unwritten, finite
from heedful.training.durability.saving import Saver
from heedful.training.ema import MovingAverage
from heedful.training.job import TrainingJob
from heedful.training.optimizer import build_optimizer
from heedful.training.recorded_step import StepRecorder
from heedful.training.schedule import learning_rate
from heedful.training.state import MAX_SKIPPED_IN_A_ROW, Tally, TrainState
from heedful.training.step import CrampedError, StepSettings, train_step

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

    team: Team = field(default_factory=Team)
    """With whom it is trained."""

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.folder / "checkpoints"


def start_state(model: nn.Module, config: TrainingConfig, carried: dict[str, Tensor] | None = None) -> TrainState:
    """Make the state of a run before its first step; `carried` are the tensors its loss hands on."""
    average = None if config.ema_decay is None else MovingAverage(model, config.ema_decay)
    device = next(model.parameters()).device
    # Of a sharded model the optimiser is given the shards, which share their memory with the model's weights.
    held = {
        name: parameter if local(parameter) is parameter else nn.Parameter(local(parameter).detach())
        for name, parameter in model.named_parameters()
    }
    optimizer = build_optimizer(held.values(), config.optimizer)
    return TrainState(model, optimizer, Tally.zeros(device), average, carried or {}, weights=held)


def train(state: TrainState, job: TrainingJob[BatchT], run: Run) -> None:
    """Train until the last step, going on from the newest checkpoint of the run folder where there is one.

    `state` is that of the job's model: `start_state(job.loss.model, …)`.
    """
    config, team = run.training, run.team
    ranks = team.ranks
    state.carried_rows = job.loss.carried_rows
    ranks.all_or_none(lambda: require_space(run.checkpoints, state))
    kind = Journal if ranks.is_first else Unwritten
    metrics, samples = kind(run.folder / "metrics.jsonl"), kind(run.folder / "samples.jsonl")
    _resume(state, run, metrics, samples)
    clock = _Clock()
    saver = _saver(run)
    with Interruption() as interruption, ExitStack() as cleanup:
        cleanup.callback(saver.wait)
        batches = job.batches_from(state.step * config.accumulate)
        if close := getattr(batches, "close", None):
            cleanup.callback(close)
        state.model.train()
        if ranks.is_group:
            batches = _settled(state, job, team, batches)
        do_step = stepper(state, job, run)
        while state.step < config.max_steps and not state.stopped_early:
            if state.step == job.loss.early_steps > 0:
                do_step = stepper(state, job, run)  # from here on another loss, and other kernels to record
            rate = learning_rate(config.schedule, dim=run.dim, max_steps=config.max_steps, step=state.step + 1)
            step_batches = [next(batches) for _ in range(config.accumulate)]
            with _wishing(run):
                do_step(step_batches, learning_rate=rate)
            clock.count(sum(batch.num_items for batch in step_batches))
            if _due(state, config.log_every, config) or state.device.type == "cpu":
                _stop_if_diverged(state, run, saver)
            if _due(state, config.log_every, config):
                timing = clock.read(config.max_steps - state.step)
                _tell(run, metrics, _train_record(state, rate, {**timing, **_rank_facts(state, team, timing)}))
            if _due(state, run.validation.every_steps, config):
                with clock.stopped():
                    _validate(state, job, run, metrics, samples)
            received = ranks.highest(interruption.received or 0) if _may_stop(state, team) else 0
            if received or _save_is_due(state, run, saver):
                with clock.stopped():
                    _save(state, run, metrics, samples, saver)
            if received:
                raise TrainingInterruptedError(received, state.step)


_MANY = 8
"""So many processes agree whether to stop after every step, twice as many after every second one."""


def _may_stop(state: TrainState, team: Team) -> bool:
    return state.step % max(1, team.ranks.world // _MANY) == 0


def _settled(state: TrainState, job: TrainingJob[BatchT], team: Team, batches: Iterator[BatchT]) -> Iterator[BatchT]:
    """Let the wrapper see a pass before the first step, whose gradients are thrown away; return all batches.

    DDP groups gradients anew after the first pass it sees, and rounding depends on the groups: without this, a resumed
    run would add up in another order than the one that was not interrupted.
    """
    first = next(batches)
    job.loss.is_early = state.step < job.loss.early_steps
    team.settle(first.to(state.device))
    state.zero_grad()
    return chain([first], batches)


class _Step(Protocol[BatchContra]):
    """Does one update on some batches."""

    def __call__(self, batches: Sequence[BatchContra], *, learning_rate: float) -> None: ...


def stepper(state: TrainState, job: TrainingJob[BatchT], run: Run) -> _Step[BatchT]:
    """Choose how steps are done: plainly, or on a GPU recorded and replayed. The weights come out the same."""
    job.loss.is_early = state.step < job.loss.early_steps
    config = run.training
    settings = StepSettings(config.clip_norm, config.precision == "bf16", run.seed, run.observer.say, run.team)
    loss = run.team.wrapped(job.loss)
    if state.device.type == "cuda" and config.cuda_graphs and run.team.can_record and not config.recompute:
        return StepRecorder(state, loss, settings).step

    def step(batches: Sequence[BatchT], *, learning_rate: float) -> None:
        train_step(state, loss, batches, settings, learning_rate=learning_rate)

    return step


def weights_sha256(model: nn.Module) -> str:
    """Return the sha256 over all parameters, to tell whether two runs ended in the same weights."""
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


_WISH = "pieces.json"
"""What a run of several processes whose memory ran out leaves for its next start: how small to cut."""


@contextmanager
def _wishing(run: Run) -> Iterator[None]:
    try:
        yield
    except CrampedError as error:
        write_atomic(run.folder / _WISH, json.dumps({"num_pieces": error.num_pieces}).encode() + b"\n")
        raise


def _resume(state: TrainState, run: Run, metrics: Journal, samples: Journal) -> None:
    ranks, say = run.team.ranks, run.observer.say

    def latest_step() -> tuple[float]:
        latest = find_latest(run.checkpoints, say)
        return (-1.0 if latest is None else int(latest.name.removeprefix("step-")),)

    (latest,) = ranks.first(latest_step, 1)
    if latest >= 0:
        path = list_checkpoints(run.checkpoints)[int(latest)]
        rows = run.team.held_rows if run.team.is_sharded else None
        verify = verify_manifest if ranks.is_first else verify_sizes
        ranks.all_or_none(lambda: load_checkpoint(path, state, run.facts, rows, verify))
        say(f"Going on after step {state.step}.")
    if ranks.is_group and (run.folder / _WISH).exists():
        state.num_parts = max(state.num_parts, json.loads((run.folder / _WISH).read_bytes())["num_pieces"])
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
    metric, validations = run.validation.metric, []

    def judge() -> tuple[float]:
        validations.append(job.validate(model))
        score = validations[0].numbers[metric] if metric != "loss" else -validations[0].numbers[metric]
        return (score if finite(score) is not None else -sys.float_info.max,)

    averaged = nullcontext() if state.average is None else state.average.in_place_of(state.model)
    state.model.eval()
    with averaged, torch.no_grad():
        model = run.team.for_evaluation(state.model)
        (state.scores[state.step],) = run.team.ranks.first(judge, 1)
    state.model.train()
    state.stopped_early = _has_lost_patience(state.scores, run.training.patience)
    timing: JsonValue = {"seconds": round(time.perf_counter() - started, 3)}
    for found in validations:  # of the first rank alone
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

    def is_among_best() -> tuple[float]:
        return (state.step in best_steps([*list_checkpoints(run.checkpoints), state.step], state.scores, keep_best),)

    return bool(run.team.ranks.first(is_among_best, 1)[0])


def _save(state: TrainState, run: Run, metrics: Journal, samples: Journal, saver: Saver) -> None:
    """Copy the state and have it written; the journal is on disk before a checkpoint that counts on it."""
    _stop_if_diverged(state, run, saver)
    metrics.force_to_disk()
    samples.force_to_disk()
    saver.save(take_snapshot(state, run.facts, run.team), state.scores)


def _saver(run: Run) -> Saver:
    keep_last, keep_best = _numbers_kept(run.training)
    ranks = run.team.ranks
    return Saver(
        run.checkpoints,
        every_steps=run.training.checkpoint.every_steps,
        keep_last=keep_last,
        keep_best=keep_best,
        report=run.observer.say,
        ranks=ranks.aside() if isinstance(ranks, GroupRanks) else ranks,
    )


def _numbers_kept(config: TrainingConfig) -> tuple[int, int]:
    """Return how many of the last and of the best stay; never fewer than the average at the end will want."""
    last = config.average.count if config.average.which == "last" else 1
    best = config.average.count if config.average.which == "best" else 0
    return max(config.checkpoint.keep_last, last), max(config.checkpoint.keep_best, best)


def _rank_facts(state: TrainState, team: Team, timing: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Gather how fast every rank is, and how much memory it has used at most; of one process alone, nothing."""
    if team.ranks.world == 1:
        return {}
    speed = cast(float, timing["tokens_per_second"]) * len(team.cut.own) / team.cut.parts
    everyone = team.ranks.gather([speed, _memory_used(state.device)])
    return {"ranks": [{"tokens_per_second": round(one, 1), "memory_bytes": int(used)} for one, used in everyone]}


def _memory_used(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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
