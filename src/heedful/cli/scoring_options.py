"""Options of the verbs that score a model, `evaluate` and `tune`: which models, on what, by which BLEU."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    Path | None,
    typer.Argument(metavar="MODEL", help="A run folder or a model folder; by default the bundled model."),
]
More = Annotated[
    list[Path] | None,
    typer.Option(
        "--model", "-m", metavar="DIR", help="A further model, searched together with MODEL; may be repeated."
    ),
]
Data = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--data", metavar="SOURCE REFERENCE", help="Two line-aligned files to score on."),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The config, or run folder, whose data count; by default MODEL's own run."
    ),
]
From = Annotated[
    str | None, typer.Option("--from", metavar="LANG", help="Only this source language; with --data, what it is.")
]
To = Annotated[
    str | None, typer.Option("--to", metavar="LANG", help="Only this target language; with --data, what it is.")
]
Tokenize = Annotated[
    str | None,
    typer.Option(
        "--tokenize",
        metavar="T",
        help="sacreBLEU's tokenizer: 13a, none, zh, char or intl; by default the run's, and zh for Chinese.",
    ),
]


def joined(model: Path | None, more: list[Path] | None) -> list[Path]:
    """Return MODEL and its further models; nothing at all means the bundled one."""
    return [*([] if model is None else [model]), *(more or [])]
