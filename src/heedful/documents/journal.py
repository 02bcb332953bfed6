"""The journal of a file that is being translated: what is done stands beside the output, so that a killed run goes on.

Its first line says of which file, into what and how; each other line is a finished passage. A line that a kill has torn
is not read. Knows nothing of formats and of models.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from heedful.documents.document import Segments
from heedful.errors import UserError
from heedful.files import JsonValue, append

_VERSION = 1


def journal_path(output: Path) -> Path:
    """Return where the journal of an output is."""
    return output.with_name(f".{output.name}.journal")


class Journal:
    """Finished passages, by their number."""

    def __init__(self, path: Path, about: Mapping[str, JsonValue], *, resume: bool) -> None:
        """Open a journal for what is described by `about`; one that is there is gone on with only if asked for."""
        self.path = path
        self.done: dict[int, Segments] = {}
        header = {"journal": _VERSION, **about}
        if not path.exists():
            append(path, _line(header))
            return
        if not resume:
            remedy = "Add --resume to go on with it, or remove that file."
            raise UserError(f"{path} must not exist yet, but does: an earlier run was not finished. {remedy}")
        lines = [_parsed(line) for line in path.read_bytes().split(b"\n")[:-1]]
        if not lines or lines[0] != header:
            remedy = "Remove it to begin again."
            raise UserError(f"{path} must be of the same file, model and languages, but is of others. {remedy}")
        for line in lines[1:]:
            match line:
                case {"passage": int(number), "segments": [*segments]} if all(isinstance(s, str) for s in segments):
                    self.done[number] = tuple(str(segment) for segment in segments)
        append(path, b"\n")  # a torn line must not swallow the next

    def add(self, finished: Mapping[int, Sequence[str]]) -> None:
        """Write down finished passages."""
        lines = [_line({"passage": number, "segments": list(segments)}) for number, segments in finished.items()]
        append(self.path, b"".join(lines))

    def remove(self) -> None:
        """Remove the journal: the file is written."""
        self.path.unlink(missing_ok=True)


def _line(content: Mapping[str, JsonValue]) -> bytes:
    return json.dumps(content, sort_keys=True).encode() + b"\n"


def _parsed(line: bytes) -> JsonValue:
    try:
        content: JsonValue = json.loads(line) if line.strip() else None
    except (ValueError, RecursionError):
        return None
    return content
