"""`heedful train`, whatever is trained: prepare, lock, train, publish.

A task brings one object, its job (`RunJob`). Everything that can be wrong with the input is found while the job is
prepared, before the run folder is made, so a typing error leaves nothing behind. Of several processes that train
together all prepare, and the first one does what is done once: locks, writes, publishes.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar, cast

import torch
from torch import Tensor, nn

from heedful import __version__
from heedful.config.load import AnyRun, load_any
from heedful.config.section import Section
from heedful.data.file_identity import FileIdentities
from heedful.data.named_batch import BatchT
from heedful.errors import UserError
from heedful.files import JsonValue, advising, remove_folder, sweep_partial
from heedful.models.build import count_parameters
from heedful.storage.descriptions import DESCRIPTIONS, Description
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import ModelFolder, describe_model_folder, load_model_folder, save_model_folder
from heedful.tasks.device import choose_device
from heedful.tasks.environment import describe_environment
from heedful.tasks.run_data import check_run_data, identify_data, write_run_data
from heedful.tasks.run_folder import (
    CONFIG,
    MODEL,
    Say,
    TrainingResult,
    check_run_folder,
    run_folder_of,
    write_run_folder,
)
from heedful.training.compilation import compile_layers, recompute_layers
from heedful.training.display import Display
from heedful.training.distribution.ranks import Ranks, local_rank
from heedful.training.distribution.shares import check_parts
from heedful.training.distribution.wrapping import Team, make_team
from heedful.training.durability.averaging import average_checkpoints, checkpoints_to_average
from heedful.training.durability.journal import Observer, TensorBoardObserver
from heedful.training.durability.run_lock import RunLock
from heedful.training.job import TrainingJob
from heedful.training.loop import Run, start_state, train
from heedful.training.state import TrainState

ConfigT = TypeVar("ConfigT", bound=AnyRun)


@dataclass(frozen=True)
class RunContext:
    """Where a job is prepared."""

    folder: Path
    """The run folder, which may not exist yet."""

    device: torch.device
    say: Say
    identities: FileIdentities
    """What the run's files are, so that none is read twice to know it."""


class RunJob(TrainingJob[BatchT], Protocol[BatchT]):
    """A job as a run sees it: what the loop is given, and what the run and model folders are to hold."""

    @property
    def tokenizer_json(self) -> str:
        """The tokenizer, as the run folder keeps it."""

    @property
    def identity(self) -> dict[str, JsonValue]:
        """What a checkpoint must agree with to be gone on from."""

    @property
    def facts(self) -> dict[str, JsonValue]:
        """What is learned from, for the model folder; whole numbers are told on the model card, too."""

    @property
    def compiled_layers(self) -> tuple[type[nn.Module], ...]:
        """The layers that `training.compile` compiles."""

    def describe(self, facts: dict[str, JsonValue], /) -> Description:
        """Return what the model folder says of the model, given the facts of the run."""

    def card(self, weights: Mapping[str, Tensor], summary: Mapping[str, str], /) -> str:
        """Return the model card, from the weights and what is to be told of the run."""


def run_training(
    config: ConfigT,
    prepare: Callable[[ConfigT, RunContext], RunJob[BatchT]],
    *,
    display: Display,
    resume: bool = False,
    device: str | None = None,
    ranks: Ranks | None = None,
) -> TrainingResult:
    """Train as `config` says and return where the model is. `resume` goes on with the run of the same name.

    With `ranks` this is one of several processes that call this together.
    """
    ranks = ranks or Ranks()
    config = _with_parts(shaped_like_its_start(config), ranks)
    context = RunContext(run_folder_of(config), choose_device(device), display.say, FileIdentities())
    folder = context.folder
    data = identify_data(config, context.identities)

    def check(say: Say) -> tuple[()]:
        check_run_folder(folder, config, resume=resume, say=say)
        check_run_data(folder, data, say=say)
        return ()

    def begin() -> tuple[()]:
        held.enter_context(RunLock(folder))
        check(lambda _: None)  # another process may have been quicker
        sweep_partial(folder)
        write_run_data(folder, data)
        write_run_folder(folder, config, job.tokenizer_json, describe_environment())
        return ()

    ranks.first(lambda: check(display.say), 0)
    job = _prepared_in_turn(
        lambda: prepare(config, context), ranks
    )  # the last thing that can be refused: no folder before
    with ExitStack() as held, advising("Free some space and start again with --resume."):
        ranks.first(begin, 0)
        model, where = job.loss.model, f"{context.device}" if ranks.world == 1 else f"{ranks.world} processes"
        display.say(f"Training {count_parameters(model):,} parameters on {where}, into {folder}.")
        team = make_team(ranks, job.loss, config.training.distribution, job.compiled_layers)
        if config.training.compile:
            compile_layers(model, job.compiled_layers)
        if config.training.recompute:
            recompute_layers(model, job.compiled_layers)
        state = start_state(model, config.training, job.loss.carried)
        train(state, job, _run(config, folder, job.identity, display, team))
        ranks.first(lambda: _publish(config, folder, state, job), 0)
    return TrainingResult(folder, folder / MODEL, state.step, state.scores)


def _prepared_in_turn(prepare: Callable[[], RunJob[BatchT]], ranks: Ranks) -> RunJob[BatchT]:
    """Prepare on one process of each machine, then on the others, which find its tokens in the cache."""
    made: list[RunJob[BatchT]] = []

    def take_turn(is_first_on_machine: bool) -> None:
        if not ranks.is_group or is_first_on_machine == (local_rank() == 0):
            made.append(prepare())

    for turn in (True, False) if ranks.is_group else (True,):
        ranks.all_or_none(partial(take_turn, turn))
    return made[0]


def _with_parts(config: ConfigT, ranks: Ranks) -> ConfigT:
    """Settle how many parts batches are cut into: as the config says, as the run began, or as there are processes."""
    parts, stored = config.training.distribution.parts, run_folder_of(config) / CONFIG
    if parts is None and stored.exists():
        parts = load_any(stored).training.distribution.parts or (1 if ranks.is_group else None)
    if parts is None and ranks.is_group:
        parts = ranks.world
    check_parts(parts or 1, ranks.world)
    distribution = config.training.distribution.model_copy(update={"parts": parts})
    training = config.training.model_copy(update={"distribution": distribution})
    return cast(ConfigT, config.model_copy(update={"training": training}))


def shaped_like_its_start(config: ConfigT) -> ConfigT:
    """Return a config whose model has the shape of `training.init_from` wherever the config does not say another."""
    if config.training.init_from is None:
        return config
    given = describe_model_folder(find_model_folder(config.training.init_from, config.task), DESCRIPTIONS[config.task])
    shape = getattr(given, "model")  # noqa: B009 - every description has one, each of its own type
    written = {name: value for name, value in dict(config.model).items() if name in config.model.model_fields_set}
    if written.get("kind", getattr(shape, "kind", None)) != getattr(shape, "kind", None) and len(written) > 1:
        return config  # another kind was asked for, which will be refused
    written.pop("kind", None)
    shaped = config.model_copy(update={"model": type(shape).model_validate({**dict(shape), **written})})
    return cast(ConfigT, shaped)


def check_same_shape(ours: Section, theirs: Section) -> None:
    """Refuse to pour the weights of `training.init_from` into a model of another shape; dropout may differ."""
    wanted, given = ours.model_dump(mode="json"), theirs.model_dump(mode="json")
    for name, value in wanted.items():
        if value != given.get(name) and not name.endswith("dropout"):
            raise UserError(
                f"`model.{name}` must be {given.get(name)!r} as in `training.init_from`, but is {value!r}. "
                "Leave it out to take what that model has."
            )


def _run(config: AnyRun, folder: Path, identity: dict[str, JsonValue], display: Display, team: Team) -> Run:
    observer: Observer = display
    if config.training.tensorboard and team.ranks.is_first:
        observer = TensorBoardObserver(folder / "tensorboard", beside=display)
    return Run(
        folder=folder,
        training=config.training,
        validation=config.validation,
        seed=config.seed,
        dim=config.model.dim,
        facts=identity,
        observer=observer,
        team=team,
    )


def _publish(config: AnyRun, folder: Path, state: TrainState, job: RunJob[BatchT]) -> tuple[()]:
    """Average the checkpoints the config asks for and write the model folder, unless it is there already."""
    training, destination = config.training, folder / MODEL
    paths = checkpoints_to_average(
        folder / "checkpoints", training.average, every_steps=training.checkpoint.every_steps, scores=state.scores
    )
    facts: dict[str, JsonValue] = {
        "run": config.name,
        "seed": config.seed,
        "steps": state.step,
        **job.facts,
        "averaged checkpoints": [path.name for path in paths],
        "validation": {str(step): score for step, score in state.scores.items()},
    }
    description = job.describe(facts)
    if destination.exists():
        if load_model_folder(destination, type(description)).description == description:
            return ()
        remove_folder(destination)
    best = max(state.scores.values(), default=None)
    summary = {
        **{name: f"{value:,}" for name, value in job.facts.items() if isinstance(value, int)},
        "steps": f"{state.step:,}",
        "seed": str(config.seed),
        "averaged checkpoints": str(len(paths)),
        f"best validation {config.validation.metric}": "not measured" if best is None else f"{abs(best):.4g}",
        "Heedful": __version__,
    }
    averaged = average_checkpoints(paths)
    weights = {name: averaged[name] for name, _ in state.model.named_parameters()}
    card = job.card(weights, summary)
    save_model_folder(destination, ModelFolder(description, weights, job.tokenizer_json, card))
    return ()
