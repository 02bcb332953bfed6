"""The folder of a run: made once, never overwritten, and gone on with only by the settings it was made with.

`config.toml` is written last when a folder is made and so marks it as begun. Knows files and settings, no tensors.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from heedful.config.load import AnyRun, changed_settings, dump_toml, load_any
from heedful.errors import UserError
from heedful.files import write_atomic
from heedful.training.durability.run_lock import is_locked

Say = Callable[[str], None]

CONFIG, TOKENIZER, ENVIRONMENT, MODEL = "config.toml", "tokenizer.json", "environment.json", "model"

_MAY_CHANGE = (
    "runs_folder",
    "training.max_steps",
    "training.patience",
    "training.log_every",
    "training.tensorboard",
    "training.checkpoint.",
    "training.distribution.kind",
    "training.recompute",
    "training.average.",
    "validation.",
    "decoding.",
    "data.test.",
    "model.naive_bayes.share",
)
"""Settings that do not decide the weights of the steps already done."""


@dataclass(frozen=True)
class TrainingResult:
    """What a finished run has made."""

    run_folder: Path
    model_folder: Path
    step: int
    scores: dict[int, float]
    """Validated steps with what `validation.metric` was (of a loss, its negative)."""


def run_folder_of(config: AnyRun) -> Path:
    """Return where the run of this name lives."""
    return Path(config.runs_folder) / config.name


def has_begun(folder: Path) -> bool:
    """Tell whether `folder` holds a run."""
    return (folder / CONFIG).exists()


def is_training(folder: Path) -> bool:
    """Tell whether a process trains the run in `folder` now."""
    return is_locked(folder)


def check_run_folder(folder: Path, config: AnyRun, *, resume: bool, say: Say) -> None:
    """Refuse to overwrite a run, or to go on with one that was something else."""
    if not resume:
        if folder.exists() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise UserError(
                f"The run folder {folder} must not exist yet, but does. "
                "Go on with it by --resume, or give the new run another name: name=..."
            )
        return
    if not has_begun(folder):
        say(f"There is no run in {folder} to go on with: beginning it.")
        return
    changed = changed_settings(load_any(folder / CONFIG), config)
    refused = [name for name in changed if not name.startswith(_MAY_CHANGE)]
    if refused:
        lines = [f"  - `{name}` was {_shown(changed[name][0])} and is {_shown(changed[name][1])}" for name in refused]
        raise UserError(
            "\n".join(
                [f"The run {folder} can only go on with the settings it began with, but these have changed:", *lines]
            )
        )
    for name, (before, after) in changed.items():
        say(f"Changed since the run began: `{name}` was {_shown(before)} and is {_shown(after)}.")


def write_run_folder(folder: Path, config: AnyRun, tokenizer_json: str, environment: Mapping[str, str]) -> None:
    """Write what a run begins with. On resume the settings may have changed where they are allowed to."""
    folder.mkdir(parents=True, exist_ok=True)
    if not has_begun(folder):  # what a kill before that left behind may be of other data
        write_atomic(folder / TOKENIZER, tokenizer_json.encode())
    facts = {**environment, "command": " ".join(sys.argv)}
    write_atomic(folder / ENVIRONMENT, json.dumps(facts, indent=2).encode() + b"\n")
    write_atomic(folder / CONFIG, dump_toml(config).encode())


def _shown(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
