"""Which folder is meant: a model folder, the model of a run, the bundled one, or a new place. No torch.

Wherever a model is asked for, `bundled` names the one that ships with the package for the task at hand, which is
translation where nothing says otherwise; `bundled-classifier` and `bundled-writer` name the other two everywhere, and
`lesson-vector`, `lesson-attention`, `lesson-transformer` and `lesson-ctc` the small translators of the page's chapters.
`OWNER/NAME` is one that `heedful get` has fetched; a NAME alone is one of OPUS-MT's. A folder of such a name wins, as
a path that exists always means itself.
"""

import re
from importlib import resources
from pathlib import Path

from heedful.errors import UserError, nearest
from heedful.files import cache_folder

BUNDLED = "bundled"
BUNDLED_NAMES = {"translation": BUNDLED, "classification": "bundled-classifier", "language_modeling": "bundled-writer"}
"""What the model that ships for a task is called where nothing says which task is meant."""

LESSONS = {f"lesson-{name}": f"lessons/{name}" for name in ("vector", "attention", "transformer", "ctc")}
"""The small translators that ship for the page's chapters, by their names."""

_ASSETS = {"translation": "translator", "classification": "classifier", "language_modeling": "writer"}
OPUS_MT = "Helsinki-NLP"
"""Who publishes the models of OPUS-MT."""
_HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)


def find_model_folder(path: str | Path | None, task: str = "translation") -> Path:
    """Return the model folder meant by `path`: itself, or `model/` in it when it is a run folder.

    None, or `bundled`, is the one that ships for `task`.
    """
    if path is not None and means_bundled(path) and (lesson := lesson_models().get(str(path))) is not None:
        return lesson
    if path is None or means_bundled(path):
        return _bundled_or_refused(_task_meant(path, task))
    folder = Path(path)
    if not folder.exists() and (fetched := fetched_folder(str(path))) is not None and fetched.is_dir():
        return fetched
    if not folder.is_dir():
        close = nearest(str(path), list(BUNDLED_NAMES.values()))
        hint = f' Did you mean "{close}", the model that ships?' if close else ""
        if not folder.parent.exists() and hub_name(str(path)) == str(path):
            hint = f" If it is the name of a model on a hub, fetch it first: heedful get {path}"
        raise UserError(f"The model folder {folder} must exist, but does not.{hint}")
    if (folder / "model").is_dir():
        return folder / "model"
    if (folder / "checkpoints").is_dir():
        raise UserError(f"The run {folder} has no model yet. Let its training end: heedful train CONFIG --resume.")
    return folder


def means_bundled(path: str | Path) -> bool:
    """Tell whether `path` is the name of a model that ships, and no file or folder here."""
    return str(path) in (*BUNDLED_NAMES.values(), *lesson_models()) and not Path(path).exists()


def models_folder() -> Path:
    """Return where `heedful get` puts the models it fetches."""
    return cache_folder() / "models"


def hub_name(name: str) -> str | None:
    """Return OWNER/NAME for what can be the name of a model on a hub, OPUS-MT's without an owner; None if it cannot."""
    if _HUB_NAME.fullmatch(name) is None:
        return None
    return name if "/" in name else f"{OPUS_MT}/{name}"


def fetched_folder(name: str) -> Path | None:
    """Return where the model of that name on a hub is, once it is fetched; None when there can be none."""
    full = hub_name(name)
    return None if full is None else models_folder().joinpath(*full.split("/"))


def bundled_folder(task: str = "translation") -> Path | None:
    """Return the model folder that ships with the package for a task, None when this installation has none."""
    folder = Path(str(resources.files("heedful") / "assets" / _ASSETS[task]))
    return folder if folder.is_dir() else None


def bundled_models() -> dict[str, Path]:
    """Return the models that ship with the package by their names, the translator first."""
    others = {name: folder for task, name in BUNDLED_NAMES.items() if (folder := bundled_folder(task)) is not None}
    return {BUNDLED: _bundled_or_refused("translation"), **others}


def lesson_models() -> dict[str, Path]:
    """Return the small translators that ship for the page's chapters by their names, as far as they are there."""
    assets = Path(str(resources.files("heedful") / "assets"))
    return {name: assets / place for name, place in LESSONS.items() if (assets / place).is_dir()}


def refuse_existing(path: Path) -> None:
    """Raise unless nothing is at `path`: what exists is never overwritten."""
    if path.exists():
        raise UserError(f"The folder {path} must not exist yet, but does. Choose another, or remove it.")


def _task_meant(path: str | Path | None, task: str) -> str:
    """Return the task of a bundled model: what its full name says, else the one at hand."""
    named = [its_task for its_task, name in BUNDLED_NAMES.items() if name == str(path) != BUNDLED]
    return named[0] if named else task


def _bundled_or_refused(task: str) -> Path:
    folder = bundled_folder(task)
    if folder is None:
        raise UserError(
            "A model must be named with --model DIR, because this installation has no bundled one. "
            "Train one with heedful train CONFIG, or try `heedful demo --train`."
        )
    return folder
