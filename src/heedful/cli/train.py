"""`heedful train`: from a run's TOML file to a run folder with a model in it."""

from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note
from heedful.errors import UserError

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
    processes: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Train with N processes of this machine, each on a GPU of its own."),
    ] = None,
    max_restarts: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="With --processes: how often all start again when one has died, or 3."),
    ] = None,
) -> None:
    """Train a model as CONFIG describes, into a run folder that is never overwritten.

    Interrupted by Ctrl-C or SIGTERM it saves and leaves; --resume goes on.
    On several machines: torchrun ... -m heedful train CONFIG

    Settings are overridden like this:
    heedful train CONFIG training.max_steps=500 name=short
    """
    from heedful.config.load import load_any

    run = load_any(config, overrides or [])
    from heedful.tasks.table import task_of_run

    task = task_of_run(run)
    if processes is not None:
        from heedful.tasks.group_runs import train_in_processes

        _refuse_to_distill(run)
        result = train_in_processes(
            config,
            list(overrides or []),
            num_processes=processes,
            resume=resume,
            device=device,
            max_restarts=3 if max_restarts is None else max_restarts,
        )
    elif max_restarts is not None:
        raise UserError("`--max-restarts` must go with --processes, which starts them.")
    else:
        result = _trained(_with_its_data(run, device), resume=resume, device=device)
    note(f"The model is in {result.model_folder}.")
    note(f"{task.advice} {result.run_folder}")
    if getattr(run.data, "test", None):
        note(f"Score it: heedful evaluate {result.run_folder}")


def _with_its_data(run: "AnyRun", device: str | None) -> "AnyRun":
    """Have the training text translated by a teacher where the run asks for it, and train that first if need be."""
    from heedful.config.translation import TranslationRun
    from heedful.tasks.translation.distilled_data import with_distilled_data
    from heedful.training.distribution.ranks import is_one_of_many

    if not isinstance(run, TranslationRun):
        return run
    if is_one_of_many():
        _refuse_to_distill(run)
    return with_distilled_data(
        run, train=lambda teacher: _trained(teacher, resume=True, device=device).run_folder, device=device, say=note
    )


def _refuse_to_distill(run: "AnyRun") -> None:
    kind = getattr(getattr(run.data, "distillation", None), "kind", "none")
    if kind != "none":
        raise UserError(
            f'`data.distillation` must be "none" with several processes, but is "{kind}". '
            "Let one process make the data first: heedful distill."
        )


def _trained(run: "AnyRun", *, resume: bool, device: str | None) -> "TrainingResult":
    from heedful.tasks.group_runs import train_as_one_of_many
    from heedful.tasks.runs import run_training
    from heedful.tasks.table import task_of_run
    from heedful.training.display import make_display
    from heedful.training.distribution.ranks import is_one_of_many

    if is_one_of_many():
        return train_as_one_of_many(run, resume=resume, device=device)
    with make_display(run.training.max_steps) as display:
        return run_training(run, task_of_run(run).prepare, display=display, resume=resume, device=device)
