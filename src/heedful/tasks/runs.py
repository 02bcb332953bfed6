"""`heedful train`, whatever is trained: one run folder, one process at a time, one loop, and a model folder at the end.

A task brings what differs as a `Trainee`. Everything that can be wrong with the input is found while that is prepared,
before the run folder is made, so a typing error leaves nothing behind.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import torch
from torch import Tensor, nn

from heedful import __version__
from heedful.config.load import AnyRun
from heedful.config.section import Section
from heedful.data.file_identity import FileIdentities
from heedful.errors import UserError
from heedful.files import JsonValue, advising, remove_folder, sweep_partial
from heedful.models.build import count_parameters
from heedful.storage.descriptions import Description
from heedful.storage.model_folder import ModelFolder, load_model_folder, save_model_folder
from heedful.tasks.device import choose_device
from heedful.tasks.environment import describe_environment
from heedful.tasks.run_data import check_run_data, identify_data, write_run_data
from heedful.tasks.run_folder import MODEL, Say, TrainingResult, check_run_folder, run_folder_of, write_run_folder
from heedful.training.compilation import compile_layers
from heedful.training.display import Display
from heedful.training.durability.averaging import average_checkpoints, checkpoints_to_average
from heedful.training.durability.journal import Listener, tensorboard_listener
from heedful.training.durability.run_lock import RunLock
from heedful.training.loop import Run, TrainingTask, start_state, train
from heedful.training.recorded_step import BatchT
from heedful.training.state import TrainState


@dataclass(frozen=True)
class Trainee(Generic[BatchT]):
    """What a task brings to a run."""

    model: nn.Module
    tokenizer_json: str
    identity: dict[str, JsonValue]
    """What a checkpoint must agree with to be gone on from."""

    compiled: tuple[type[nn.Module], ...]
    """The layers that `training.compile` compiles."""

    task: Callable[[TrainState], TrainingTask[BatchT]]
    """What the loop is given, once the model is where it will be trained."""

    facts: dict[str, JsonValue]
    """What it learns from, for the model folder; whole numbers are told on the model card, too."""

    describe: Callable[[dict[str, JsonValue]], Description]
    """What the model folder says of the model, given the facts of the run."""

    card: Callable[[Mapping[str, Tensor], Mapping[str, str]], str]
    """The model card, from the weights and what is to be told of the run."""


def run_training(
    config: AnyRun,
    prepare: Callable[[Path, torch.device, Say], Trainee[BatchT]],
    identities: FileIdentities,
    *,
    display: Display,
    resume: bool,
    device: str | None,
) -> TrainingResult:
    """Train as `config` says and return where the model is. `resume` goes on with the run of the same name.

    `identities` may be shared with `prepare`, so that no file is read twice to know what it is.
    """
    chosen = choose_device(device)
    folder = run_folder_of(config)
    check_run_folder(folder, config, resume=resume, say=display.say)
    data = identify_data(config, identities)
    check_run_data(folder, data, say=display.say)
    trainee = prepare(folder, chosen, display.say)  # the last thing that can be refused: no folder before it
    with RunLock(folder), advising("Free some space and start again with --resume."):
        check_run_folder(folder, config, resume=resume, say=lambda _: None)  # another process may have been quicker
        check_run_data(folder, data, say=lambda _: None)
        sweep_partial(folder)
        write_run_data(folder, data)
        write_run_folder(folder, config, trainee.tokenizer_json, describe_environment())
        display.say(f"Training {count_parameters(trainee.model):,} parameters on {chosen}, into {folder}.")
        if config.training.compile:
            compile_layers(trainee.model, trainee.compiled)
        state = start_state(trainee.model.to(chosen), config.training)
        train(state, trainee.task(state), _run(config, folder, trainee.identity, display))
        model_folder = _ship(config, folder, state, trainee)
    return TrainingResult(folder, model_folder, state.step, state.scores)


def check_same_shape(ours: Section, theirs: Section) -> None:
    """Refuse to pour the weights of `training.init_from` into a model of another shape; dropout may differ."""
    wanted, given = ours.model_dump(mode="json"), theirs.model_dump(mode="json")
    for name, value in wanted.items():
        if value != given.get(name) and not name.endswith("dropout"):
            raise UserError(
                f"`model.{name}` must be {given.get(name)!r} as in `training.init_from`, but is {value!r}. "
                "Copy the model's settings from the config.json of that folder."
            )


def _run(config: AnyRun, folder: Path, identity: dict[str, JsonValue], display: Display) -> Run:
    listeners: list[Listener] = [display.show]
    if config.training.tensorboard:
        listeners.append(tensorboard_listener(folder / "tensorboard"))
    return Run(
        folder=folder,
        training=config.training,
        validation=config.validation,
        seed=config.seed,
        dim=config.model.dim,
        facts=identity,
        listeners=listeners,
        report=display.say,
    )


def _ship(config: AnyRun, folder: Path, state: TrainState, trainee: Trainee[BatchT]) -> Path:
    """Average the checkpoints the config asks for and write the model folder, unless it is there already."""
    training, destination = config.training, folder / MODEL
    paths = checkpoints_to_average(
        folder / "checkpoints", training.average, every_steps=training.checkpoint.every_steps, scores=state.scores
    )
    facts: dict[str, JsonValue] = {
        "run": config.name,
        "seed": config.seed,
        "steps": state.step,
        **trainee.facts,
        "averaged checkpoints": [path.name for path in paths],
        "validation": {str(step): score for step, score in state.scores.items()},
    }
    description = trainee.describe(facts)
    if destination.exists():
        if load_model_folder(destination, type(description)).description == description:
            return destination
        remove_folder(destination)
    best = max(state.scores.values(), default=None)
    summary = {
        **{name: f"{value:,}" for name, value in trainee.facts.items() if isinstance(value, int)},
        "steps": f"{state.step:,}",
        "seed": str(config.seed),
        "averaged checkpoints": str(len(paths)),
        f"best validation {config.validation.metric}": "not measured" if best is None else f"{abs(best):.4g}",
        "Heedful": __version__,
    }
    averaged = average_checkpoints(paths)
    weights = {name: averaged[name] for name, _ in state.model.named_parameters()}
    card = trainee.card(weights, summary)
    save_model_folder(destination, ModelFolder(description, weights, trainee.tokenizer_json, card))
    return destination
