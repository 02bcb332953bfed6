"""Which folder is meant: a model folder, the model of a run, the bundled one, or a new place. No torch.

Wherever a model is asked for, `bundled` names the one that ships with the package, and `OWNER/NAME` one that `heedful
get` has fetched; a NAME alone is one of OPUS-MT's. A folder of such a name wins, as a path that exists always means
itself.
"""

import re
from importlib import resources
from pathlib import Path

from heedful.errors import UserError, nearest
from heedful.files import cache_folder

BUNDLED = "bundled"
OPUS_MT = "Helsinki-NLP"
"""Who publishes the models of OPUS-MT."""
_HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)


def find_model_folder(path: str | Path | None) -> Path:
    """Return the model folder meant by `path`: itself, or `model/` in it when it is a run folder; None: the bundled."""
    if path is None or means_bundled(path):
        return _bundled_or_refused()
    folder = Path(path)
    if not folder.exists() and (fetched := fetched_folder(str(path))) is not None and fetched.is_dir():
        return fetched
    if not folder.is_dir():
        hint = f' Did you mean "{BUNDLED}", the model that ships?' if nearest(str(path), [BUNDLED]) else ""
        if not folder.parent.exists() and hub_name(str(path)) == str(path):
            hint = f" If it is the name of a model on a hub, fetch it first: heedful get {path}"
        raise UserError(f"The model folder {folder} must exist, but does not.{hint}")
    if (folder / "model").is_dir():
        return folder / "model"
    if (folder / "checkpoints").is_dir():
        raise UserError(f"The run {folder} has no model yet. Let its training end: heedful train CONFIG --resume.")
    return folder


def means_bundled(path: str | Path) -> bool:
    """Tell whether `path` is the name of the model that ships, and no file or folder here."""
    return str(path) == BUNDLED and not Path(path).exists()


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


def bundled_folder() -> Path | None:
    """Return the model folder that ships with the package, None when this installation has none."""
    folder = Path(str(resources.files("heedful") / "assets" / "translator"))
    return folder if folder.is_dir() else None


def refuse_existing(path: Path) -> None:
    """Raise unless nothing is at `path`: what exists is never overwritten."""
    if path.exists():
        raise UserError(f"The folder {path} must not exist yet, but does. Choose another, or remove it.")


def _bundled_or_refused() -> Path:
    folder = bundled_folder()
    if folder is None:
        raise UserError(
            "A model must be named with --model DIR, because this installation has no bundled one. "
            "Train one with heedful train CONFIG, or try `heedful demo --train`."
        )
    return folder
