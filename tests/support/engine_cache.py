"""A cache of a test's own that has the compiled engine: to compile it anew takes ten seconds of processor time."""

import shutil
from pathlib import Path

from heedful.engines.int8 import library
from heedful.files import make_private_folder


def cache_with_engine(folder: Path) -> Path:
    """Make `folder` such a cache and return it; where there is no compiler it stays empty."""
    make_private_folder(folder / "native")
    if library.is_available():
        engine = Path(library.open_library()._name)
        shutil.copy2(engine, folder / "native" / engine.name)
    return folder
