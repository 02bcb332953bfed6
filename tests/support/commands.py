"""The environment in which tests start the real command, and the shape of a function that does."""

import os
import subprocess
from pathlib import Path
from typing import Protocol


class Command(Protocol):
    """Runs `heedful` with arguments."""

    def __call__(
        self, *arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[bytes]": ...


def environment_of(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "120", **more}
