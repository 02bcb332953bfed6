"""Options that several verbs share, described once."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.errors import UserError


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


def is_written(context: typer.Context, name: str) -> bool:
    """Tell whether a parameter stands on the command line, and is no default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def any_seed() -> int:
    """Make up a seed, for a user who gives none."""
    import secrets

    return secrets.randbits(32)
