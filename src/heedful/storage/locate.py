"""Which folder is meant: a model folder, the model of a run, the bundled one, or a new place. No torch.

`bundled` names the model that ships with the package wherever a model is asked for. A folder of that name wins, as a
path that exists always means itself.
"""

from importlib import resources
from pathlib import Path

from heedful.errors import UserError, nearest

BUNDLED = "bundled"


def find_model_folder(path: str | Path | None) -> Path:
    """Return the model folder meant by `path`: itself, or `model/` in it when it is a run folder; None: the bundled."""
    if path is None or means_bundled(path):
        return _bundled_or_refused()
    folder = Path(path)
    if not folder.is_dir():
        hint = f' Did you mean "{BUNDLED}", the model that ships?' if nearest(str(path), [BUNDLED]) else ""
        raise UserError(f"The model folder {folder} must exist, but does not.{hint}")
    if (folder / "model").is_dir():
        return folder / "model"
    if (folder / "checkpoints").is_dir():
        raise UserError(f"The run {folder} has no model yet. Let its training end: heedful train CONFIG --resume.")
    return folder


def means_bundled(path: str | Path) -> bool:
    """Tell whether `path` is the name of the model that ships, and no file or folder here."""
    return str(path) == BUNDLED and not Path(path).exists()


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
