"""Better translations that clients suggest, kept as lines of JSON in a folder, within a bound.

Written by one thread, which is the caller's affair. Knows nothing of HTTP but the status LibreTranslate has for this.
"""

import json
from pathlib import Path

from heedful.files import append, make_private_folder, writing
from heedful.serving.bodies import BadRequestError


class Suggestions:
    """The file of suggestions."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """Take a folder, made if need be; raises where it cannot be written to."""
        self._path = folder / "suggestions.jsonl"
        self._max_bytes = max_bytes
        with writing(folder):
            make_private_folder(folder)
        append(self._path, b"")
        with writing(self._path):
            content = self._path.read_bytes()
        if content and not content.endswith(b"\n"):  # a line that a kill has torn must not spoil the next
            append(self._path, b"\n")

    def add(self, fields: dict[str, str]) -> None:
        """Keep one."""
        line = json.dumps(fields, ensure_ascii=False).encode() + b"\n"
        if self._path.stat().st_size + len(line) > self._max_bytes:
            raise BadRequestError("This server keeps no more suggestions: the file of them is full.", 403)
        append(self._path, line)
