"""Options of the verbs that score a model, `evaluate` and `tune`: which models, on what, by which BLEU."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.options import CLASSIFICATION, LANGUAGE_MODELING, TRANSLATION


class Compared(StrEnum):
    """What a translation is compared with."""

    SINGLE = "single"
    ALL = "all"


Model = Annotated[
    Path | None,
    typer.Argument(metavar="MODEL", help="A run folder, a model folder, or bundled, the default."),
]
More = Annotated[
    list[Path] | None,
    typer.Option(
        "--model", "-m", metavar="DIR", help="A further model, searched together with MODEL; may be repeated."
    ),
]
Data = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--data", metavar="SOURCE REFERENCE", help="Two line-aligned files to score on, not of a language model."
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The config, or run folder, whose data count; by default MODEL's own run."
    ),
]
References = Annotated[
    Compared,
    typer.Option(help="single: each pair by itself. all: each source once, with all references it has in the set."),
]
Split = Annotated[
    str | None,
    typer.Option("--split", metavar="NAME", help="A test set of the run's `data.test`; by default all of them."),
]
WithoutSeen = Annotated[
    bool, typer.Option("--without-seen", help="Leave out pairs whose source or target is in the run's training text.")
]
Against = Annotated[
    Path | None, typer.Option("--against", metavar="DIR", help="Another model to compare with, by a paired test.")
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
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Also write the translations, or the labels, there, one a line."),
]
Text = Annotated[Path | None, typer.Option("--text", metavar="FILE", help="Of a language model: a text to score on.")]
Memory = Annotated[
    int | None,
    typer.Option(
        "--memory", metavar="N", min=0, help="Of a language model: positions to remember; by default as in training."
    ),
]
Segment = Annotated[
    int | None,
    typer.Option(
        "--segment", metavar="N", min=1, help="Of a language model: symbols read at once; by default as in training."
    ),
]
Clamp = Annotated[
    int | None,
    typer.Option("--clamp", metavar="N", min=1, help="Of a Transformer-XL: distances beyond N are taken for N."),
]
Dynamic = Annotated[
    str | None,
    typer.Option(
        "--dynamic",
        metavar="HOW",
        help="Of a language model: go on learning while reading; rms or sgd, or like rms,2e-5,1e-3 (rate, decay).",
    ),
]


@dataclass(frozen=True)
class ScoringRequest:
    """What the options of `evaluate` say; each task reads what says something to it."""

    models: Sequence[Path]
    """None at all is the bundled one."""

    data: tuple[Path, Path] | None
    config: Path | None
    split: str | None
    source_language: str | None
    target_language: str | None
    references: Compared
    without_seen: bool
    against: Path | None
    beam: int | None
    tokenize: str | None
    text: Path | None
    memory: int | None
    segment: int | None
    clamp: int | None
    dynamic: str | None
    lowercase: bool
    out: Path | None
    as_json: bool
    device: str | None
    quantize: str


def joined(model: Path | None, more: list[Path] | None) -> list[Path]:
    """Return MODEL and its further models; nothing at all means the bundled one."""
    return [*([] if model is None else [model]), *(more or [])]


_TRANSLATION, _LABELS, _TEXT = (TRANSLATION,), (TRANSLATION, CLASSIFICATION), (LANGUAGE_MODELING,)
UNDERSTOOD_BY = {
    "data": _LABELS,
    "out": _LABELS,
    "source_language": _TRANSLATION,
    "target_language": _TRANSLATION,
    "references": _TRANSLATION,
    "without_seen": _TRANSLATION,
    "beam": _TRANSLATION,
    "tokenize": _TRANSLATION,
    "lowercase": _TRANSLATION,
    "quantize": _TRANSLATION,
    "text": _TEXT,
    "memory": _TEXT,
    "segment": _TEXT,
    "clamp": _TEXT,
    "dynamic": _TEXT,
}
"""Which tasks the options of `evaluate` say something to, where these are not all."""
