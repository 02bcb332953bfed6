"""Which folder is meant: a model folder, the model of a run, or a place where a new folder may be made. No torch."""

from pathlib import Path

from heedful.errors import UserError


def find_model_folder(path: str | Path | None) -> Path:
    """Return the model folder meant by `path`: itself, or `model/` in it when it is a run folder."""
    if path is None:
        raise UserError("A model must be named with --model, because none ships with Heedful yet. Try `heedful demo`.")
    folder = Path(path)
    if not folder.is_dir():
        raise UserError(f"The model folder {folder} must exist, but does not.")
    if (folder / "model").is_dir():
        return folder / "model"
    if (folder / "checkpoints").is_dir():
        raise UserError(f"The run {folder} has no model yet. Let its training end: heedful train CONFIG --resume.")
    return folder


def refuse_existing(path: Path) -> None:
    """Raise unless nothing is at `path`: what exists is never overwritten."""
    if path.exists():
        raise UserError(f"The folder {path} must not exist yet, but does. Choose another, or remove it.")
