"""The files of a trial beside its run folder: the resolved config it is trained by, its log, and what it scored.

Scores belong to one model: they are taken for known only while the manifest of the model folder is the one they were
made with. Knows files; it trains and scores nothing.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.comparisons.judging import SetScores
from heedful.files import MANIFEST, sha256_file, write_atomic

RUNS = "runs"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")


@dataclass(frozen=True)
class TrialFiles:
    """Where everything about one trial is."""

    run_folder: Path
    config: Path
    scores: Path
    log: Path

    @classmethod
    def under(cls, folder: Path, name: str, run_folder: Path | None = None) -> "TrialFiles":
        """Return the files of the trial called `name`; a finished run has its folder already."""
        return cls(
            run_folder or folder / RUNS / name,
            folder / "trials" / f"{name}.toml",
            folder / "trials" / f"{name}.json",
            folder / "trials" / f"{name}.log",
        )


def name_of(label: str, seed: int) -> str:
    """Return what the run of a trial is called: its label as a name, and its seed."""
    name = _NOT_IN_A_NAME.sub("-", label).strip("-._")
    return f"{name or 'trial'}-seed{seed}"


def write_scores(path: Path, model: Path, scores: Sequence[SetScores]) -> None:
    """Write what the model in the folder `model` scored."""
    told = {"model": sha256_file(model / MANIFEST), "sets": [it.to_json() for it in scores]}
    write_atomic(path, json.dumps(told, separators=(",", ":")).encode() + b"\n")


def read_scores(path: Path, model: Path) -> tuple[SetScores, ...] | None:
    """Return what the model in the folder `model` scored; None when that is not known, or of another model."""
    if not path.is_file() or not (model / MANIFEST).is_file():
        return None
    try:
        told = json.loads(path.read_bytes())
        if told["model"] != sha256_file(model / MANIFEST):
            return None
        return tuple(SetScores.from_json(fields) for fields in told["sets"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
