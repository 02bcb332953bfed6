"""The folder of a study: what was asked, and every measurement as soon as it is made, so that a study can go on.

`settings.json` says what is studied; `measurements.jsonl` has a line for each measurement. An interrupted study goes on
with the settings it began with and measures nothing twice. Knows files, nothing of what is measured.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from heedful.errors import UserError
from heedful.files import JsonValue, append, write_atomic

SETTINGS, MEASUREMENTS = "settings.json", "measurements.jsonl"
Measurement = dict[str, JsonValue]


class StudyFolder:
    """The measurements of a study, by a key that says what was measured."""

    def __init__(self, folder: Path, done: dict[str, Measurement]) -> None:
        self.folder = folder
        self.done = done

    @classmethod
    def begin(cls, folder: Path, settings: Mapping[str, JsonValue], *, resume: bool) -> Self:
        """Begin a study in `folder`, or go on with the one that is there."""
        asked = json.loads(json.dumps(settings))
        if not (folder / SETTINGS).exists():
            if folder.exists() and any(folder.iterdir()):
                raise UserError(
                    f"{folder} must be a study or empty, but holds something else. Name another: --out DIR."
                )
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / SETTINGS, json.dumps(asked, indent=1).encode() + b"\n")
            return cls(folder, {})
        if not resume:
            raise UserError(
                f"There is a study in {folder} already. Go on with it by --resume, or name another: --out DIR."
            )
        before = json.loads((folder / SETTINGS).read_bytes())
        changed = sorted(name for name in before.keys() | asked.keys() if before.get(name) != asked.get(name))
        if changed:
            told = ", ".join(f"`{name}` was {before.get(name)} and is {asked.get(name)}" for name in changed)
            raise UserError(f"The study in {folder} can only go on with the settings it began with, but {told}.")
        return cls(folder, _read(folder / MEASUREMENTS))

    def record(self, key: str, measurement: Measurement) -> None:
        """Keep what was measured."""
        self.done[key] = measurement
        append(self.folder / MEASUREMENTS, json.dumps({"key": key, **measurement}).encode() + b"\n")


def _read(path: Path) -> dict[str, Measurement]:
    """Read the measurements; a line that a kill has torn is dropped, here and in the file."""
    if not path.exists():
        return {}
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        write_atomic(path, whole)
    measurements = [json.loads(line) for line in whole.splitlines()]
    return {measurement.pop("key"): measurement for measurement in measurements}
