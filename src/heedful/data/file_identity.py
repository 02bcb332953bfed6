"""What a file is, whatever its name and place: its size and the sha256 of its bytes.

Corpora are large, and several parts of a run want to know this of the same files: here each file is read once.
"""

from dataclasses import dataclass
from pathlib import Path

from heedful.data.opening import open_bytes
from heedful.files import sha256_file


@dataclass(frozen=True)
class FileIdentity:
    """Two files with the same identity hold the same."""

    num_bytes: int
    sha256: str


class FileIdentities:
    """The identity of any file, found when it is first asked for and then known."""

    def __init__(self) -> None:
        self._known: dict[Path, FileIdentity] = {}

    def of(self, path: Path) -> FileIdentity:
        """Return what the file at `path` is; one that cannot be read is a `DataError`."""
        if path not in self._known:
            with open_bytes(path):  # for its sentences when the file cannot be read
                self._known[path] = FileIdentity(path.stat().st_size, sha256_file(path))
        return self._known[path]
