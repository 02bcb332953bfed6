"""`heedful train`: from a run's TOML file to a run folder with a model in it."""

from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note

if TYPE_CHECKING:
    from heedful.config.load import AnyRun
    from heedful.tasks.run_folder import TrainingResult


def train(
    config: options.Config,
    overrides: options.Overrides = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the run of this name stopped, bit for bit.")
    ] = False,
    device: options.Device = None,
) -> None:
    """Train a model as CONFIG describes, into a run folder that is never overwritten.

    Interrupted by Ctrl-C or SIGTERM it saves and leaves; --resume goes on.

    Settings are overridden like this:
    heedful train CONFIG training.max_steps=500 name=short
    """
    from heedful.config.load import load_any

    run = load_any(config, overrides or [])
    from heedful.config.translation import TranslationRun
    from heedful.tasks.table import task_of_run
    from heedful.tasks.translation.distilled_data import with_distilled_data

    task = task_of_run(run)
    if isinstance(run, TranslationRun):
        run = with_distilled_data(
            run, train=lambda teacher: _trained(teacher, resume=True, device=device).run_folder, device=device, say=note
        )
    result = _trained(run, resume=resume, device=device)
    note(f"The model is in {result.model_folder}.")
    note(f"{task.advice} {result.run_folder}")
    if getattr(run.data, "test", None):
        note(f"Score it: heedful evaluate {result.run_folder}")


def _trained(run: "AnyRun", *, resume: bool, device: str | None) -> "TrainingResult":
    from heedful.tasks.runs import run_training
    from heedful.tasks.table import task_of_run
    from heedful.training.display import make_display

    with make_display(run.training.max_steps) as display:
        return run_training(run, task_of_run(run).prepare, display=display, resume=resume, device=device)
