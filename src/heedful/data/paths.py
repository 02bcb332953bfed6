"""Where a path of a configuration points to on this machine."""

import os
from pathlib import Path


def resolve_data_path(path: str) -> Path:
    """Return the path itself, or, for a leading `data/`, the place below the folder named in HEEDFUL_DATA."""
    folder = os.environ.get("HEEDFUL_DATA")
    if folder and path.startswith("data/"):
        return Path(folder) / path.removeprefix("data/")
    return Path(path).expanduser()
