"""The journal of a run: one JSON object a line, appended as training goes on.

Numbers that a resumed run must reproduce bit for bit stand at the top of a record; what depends on the clock stands
under "timing". On resume the journal is cut back to the checkpoint, so that no step is told twice.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from heedful.errors import UserError
from heedful.files import JsonValue, append, force_to_disk, write_atomic

Record = Mapping[str, JsonValue]


class Observer(Protocol):
    """Follows a run."""

    def show(self, record: Record) -> None:
        """Be shown a record of the journal."""

    def say(self, sentence: str) -> None:
        """Be told something that happened."""


class Silent:
    """Shows nothing to nobody."""

    def show(self, record: Record) -> None:
        """Show nothing."""

    def say(self, sentence: str) -> None:
        """Say nothing."""


class Journal:
    """A file of records, each with the step it belongs to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, record: Record) -> None:
        """Append one record as a line."""
        append(self.path, json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")

    def rewind(self, step: int) -> None:
        """Drop all records after `step`, and whatever a kill left unfinished at the end."""
        if self.path.exists():
            kept = [line for line, record in self._lines() if _step_of(record) <= step]
            write_atomic(self.path, b"".join(kept))

    def force_to_disk(self) -> None:
        """Make sure that the journal is not behind the checkpoint that is about to be written."""
        if self.path.exists():
            force_to_disk(self.path)

    def records(self) -> list[dict[str, JsonValue]]:
        """Return every whole record."""
        return [record for _, record in self._lines()] if self.path.exists() else []

    def _lines(self) -> Iterator[tuple[bytes, dict[str, JsonValue]]]:
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if line.endswith(b"\n") and isinstance(record, dict):
                yield line, record


class Unwritten(Journal):
    """The journal of a process that leaves telling to another."""

    def write(self, record: Record) -> None:
        """Write nothing."""

    def rewind(self, step: int) -> None:
        """Drop nothing."""

    def force_to_disk(self) -> None:
        """Force nothing."""


def finite(value: float) -> float | None:
    """Return the number, or None where JSON has no word for it."""
    return value if math.isfinite(value) else None


class TensorBoardObserver:
    """Writes TensorBoard events, too, and hands everything on."""

    def __init__(self, folder: Path, beside: Observer) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError(
                "`training.tensorboard` needs the package tensorboard, but it is not installed. "
                "Install it with `pip install tensorboard`, or set `training.tensorboard` to false."
            ) from None
        self._writer, self._beside = SummaryWriter(str(folder)), beside

    def show(self, record: Record) -> None:
        """Write the record's numbers as scalars, and hand it on."""
        self._beside.show(record)
        for name, value in record.items():
            if isinstance(value, int | float) and name != "step":
                self._writer.add_scalar(f"{record['kind']}/{name}", value, _step_of(record))
        self._writer.flush()

    def say(self, sentence: str) -> None:
        """Hand the sentence on."""
        self._beside.say(sentence)


def _step_of(record: Record) -> int:
    step = record.get("step")
    return step if isinstance(step, int) else 0
