"""Options that several verbs share, described once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from heedful.errors import UserError

TRANSLATION, CLASSIFICATION, LANGUAGE_MODELING = "translation", "classification", "language_modeling"
"""The tasks, as a model folder names them."""


def _check_beam(beam: int | None) -> int | None:
    from heedful.config.training import MAX_BEAM_SIZE  # only here: help must not wait for the schema

    if beam is not None and beam > MAX_BEAM_SIZE:
        raise UserError(f"`--beam` must be at most {MAX_BEAM_SIZE}, but is {beam}.")
    return beam


Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's TOML file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="SECTION.KEY=VALUE", help="Settings that win over the file.", show_default=False),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        metavar="M", min=0.0, help="Begin nothing more after so long; the same command goes on.", show_default=False
    ),
]
Device = Annotated[
    str | None, typer.Option(metavar="D", help="cpu, cuda or cuda:N; by default a GPU when there is one.")
]
Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="A model folder, a run folder, or bundled, the default. Several decide together.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Beam = Annotated[
    int | None,
    typer.Option("--beam", metavar="N", min=1, callback=_check_beam, help="Hypotheses kept per sentence; 1 is greedy."),
]
Quantize = Annotated[str, typer.Option(metavar="HOW", help="int8, none, or auto: int8 on a CPU that is fast with it.")]

Fast = Annotated[
    bool, typer.Option("--fast", help="Guess tokens and check several at once: fewer passes, the same result.")
]


def is_written(context: typer.Context, name: str) -> bool:
    """Tell whether a parameter stands on the command line, and is no default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def task_understood(context: typer.Context, models: Sequence[Path], understood_by: Mapping[str, Sequence[str]]) -> str:
    """Return what the first of the models is for; an option that says nothing to such a model is refused.

    `understood_by` has the tasks that a parameter says something to, where these are not all.
    """
    from heedful.tasks.table import TASKS, task_name_of

    task = task_name_of(models[0]) if models else TRANSLATION
    shown = f"{models[0] if models else 'the bundled model'} is {TASKS[task].description.holder}"
    for parameter in context.command.params:
        tasks = understood_by.get(str(parameter.name), tuple(TASKS))
        if task not in tasks and is_written(context, str(parameter.name)):
            kinds = " or ".join(TASKS[name].description.holder for name in tasks)
            remedy = " Name a text with --text FILE." if parameter.name == "data" else ""
            raise UserError(f"`{parameter.opts[0]}` must be used with {kinds}, but {shown}.{remedy}")
    if task != TRANSLATION and len(models) > 1:
        raise UserError(f"Only translators decide together, but {shown}. Give one model.")
    return task


def any_seed() -> int:
    """Make up a seed, for a user who gives none."""
    import secrets

    return secrets.randbits(32)
