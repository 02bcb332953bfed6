"""Runs of training that a server can show: which there are, how far each is, and what its journals say.

Runs are found when somebody asks, so that one which begins later shows, too. A client names a run by its id, which is
looked up among those that were found and never becomes a path. Nothing is written into a run's folder. Knows files
and settings; it knows no HTTP and loads no model.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from heedful.config.load import AnyRun, load_any
from heedful.config.translation import TranslationRun
from heedful.errors import HeedfulError
from heedful.insight.checkpoint_traces import checkpoint_steps
from heedful.insight.wire import to_json
from heedful.serving.bodies import BadRequestError
from heedful.serving.engines import id_of, ids_of
from heedful.serving.limits import Limits
from heedful.tasks.run_folder import CONFIG, has_begun, is_training

EXAMPLE_ID = "example"
METRICS, SAMPLES = "metrics.jsonl", "samples.jsonl"
_TAIL = 1 << 16  # bytes in which the last whole record of a journal surely is


@dataclass(frozen=True)
class Run:
    """One run folder."""

    id: str
    folder: Path
    config: AnyRun

    @property
    def checkpoints(self) -> list[int]:
        """The steps it can be looked at, ascending."""
        return checkpoint_steps(self.folder)

    @property
    def is_running(self) -> bool:
        """Say whether a process trains it now: it holds the lock of the folder."""
        return is_training(self.folder)

    @property
    def is_traceable(self) -> bool:
        """Say whether its checkpoints are translators."""
        return isinstance(self.config, TranslationRun)

    def facts(self) -> Any:
        """Describe it for a list of runs."""
        data = self.config.data if isinstance(self.config, TranslationRun) else None
        facts = SimpleNamespace(
            id=self.id,
            name=self.config.name,
            task=self.config.task,
            steps=_last_step(self.folder / METRICS),
            max_steps=self.config.training.max_steps,
            is_running=self.is_running,
            checkpoints=self.checkpoints,
            source=data.source_language if data else None,
            target=data.target_language if data else None,
        )
        return to_json(facts)


class Runs:
    """The runs a server knows: the example of the package, those of its models, and all in one folder."""

    def __init__(
        self, models: Sequence[Path], parent: Path | None, limits: Limits, example: Path | None = None
    ) -> None:
        self._of_models = {
            id_: folder if has_begun(folder) else folder.resolve().parent
            for id_, folder in zip(ids_of(models), models, strict=True)
        }
        self._parent = parent
        self._limits = limits
        self._example = example if example is not None else _packaged_example()

    def all(self) -> list[Run]:
        """Find the runs there are now, the example first."""
        return list(self._found())

    def find(self, run_id: str) -> Run:
        """Return the run of that id."""
        run = next((run for run in self._found() if run.id == run_id), None)
        if run is None:
            raise BadRequestError("There is no run of that id; `GET /api/runs` lists them.", 404)
        return run

    def of_model(self, model_id: str) -> str | None:
        """Return the id of the run a model came from, None when its folder is in none."""
        folder = self._of_models.get(model_id)
        if folder is None:
            return None
        return next((run.id for run in self._found() if run.folder == folder.resolve()), None)

    def _found(self) -> Iterator[Run]:
        ids: list[str] = []
        folders: set[Path] = set()
        for name, folder in self._candidates():
            path = folder.resolve()
            if path in folders or not has_begun(path):
                continue
            try:
                config = _config_of(path / CONFIG, (path / CONFIG).stat().st_mtime_ns)
            except (HeedfulError, OSError):
                continue  # of another version of ours, or being made or removed at this moment
            folders.add(path)
            ids.append(id_of(name, ids))
            yield Run(ids[-1], path, config)
            if len(ids) == self._limits.max_runs:
                return

    def _candidates(self) -> Iterator[tuple[str, Path]]:
        if self._example is not None:
            yield EXAMPLE_ID, self._example
        yield from self._of_models.items()
        if self._parent is not None and self._parent.is_dir():
            yield from ((folder.name, folder) for folder in sorted(self._parent.iterdir()) if folder.is_dir())


class JournalReader:
    """Reads the journals of a run as they grow, from some line on."""

    def __init__(self, run: Run, after: int, after_samples: int, limits: Limits) -> None:
        self._run = run
        self._metrics = _Lines(run.folder / METRICS, after)
        self._samples = _Lines(run.folder / SAMPLES, after_samples)
        self._limit = limits.max_journal_rows
        self._told: tuple[list[int], bool] | None = None

    def read(self) -> dict[str, Any]:
        """Return what is new; `next` and `nextSamples` say where to go on.

        `from` is the line the metrics begin with. It is 0 again where a resumed run has cut its journal back, and
        whoever keeps rows begins anew. Rows are as the files have them.
        """
        first, metrics = self._metrics.read(self._limit)
        _, samples = self._samples.read(self._limit)
        state = SimpleNamespace(
            from_=first,
            checkpoints=self._run.checkpoints,
            next=self._metrics.number,
            next_samples=self._samples.number,
            is_running=self._run.is_running,
        )
        return {**to_json(state), "metrics": metrics, "samples": samples}

    def read_news(self) -> dict[str, Any] | None:
        """Return what is new, None when nothing has happened since."""
        news = self.read()
        state = news["checkpoints"], news["isRunning"]
        is_new = bool(news["metrics"] or news["samples"]) or state != self._told
        self._told = state
        return news if is_new else None


class _Lines:
    """A file of JSON objects, one a line, that is read again and again."""

    def __init__(self, path: Path, after: int) -> None:
        self._path = path
        self._after = after
        self._offset = 0
        self._file = 0
        self.number = 0
        """Of the line that is read next."""

    def read(self, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """Return the number of the first line and at most `limit` objects; half a line waits for its other half."""
        if not self._path.exists():
            self._restart()
            return 0, []
        with self._path.open("rb") as stream:
            facts = self._path.stat()
            if facts.st_size < self._offset or facts.st_ino != self._file:
                self._restart(0 if self._offset else self._after)
            self._file = facts.st_ino
            stream.seek(self._offset)
            first, rows = self._rows(stream, limit)
            if self.number < self._after:  # there are not so many lines: the client knows another journal
                self._restart()
                stream.seek(0)
                first, rows = self._rows(stream, limit)
        return first, rows

    def _rows(self, stream: Any, limit: int) -> tuple[int, list[dict[str, Any]]]:
        first = max(self.number, self._after)
        rows: list[dict[str, Any]] = []
        while len(rows) < limit and (line := stream.readline()).endswith(b"\n"):
            self._offset += len(line)
            self.number += 1
            if self.number > self._after and (row := _object(line)) is not None:
                rows.append(row)
        return first, rows

    def _restart(self, after: int = 0) -> None:
        self._offset, self.number, self._after = 0, 0, after


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line, parse_constant=lambda _: None)  # browsers read no NaN
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _last_step(path: Path) -> int:
    """Return the step of the last whole record of a journal, 0 when there is none."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL))
            lines = stream.read().split(b"\n")
    except OSError:
        return 0
    steps = (row.get("step") for line in reversed(lines[:-1]) if (row := _object(line)) is not None)
    return next((step for step in steps if isinstance(step, int)), 0)


@lru_cache(maxsize=512)
def _config_of(path: Path, changed: int) -> AnyRun:  # noqa: ARG001 - a file that has changed is read again
    return load_any(path)


def _packaged_example() -> Path | None:
    folder = Path(str(resources.files("heedful") / "assets" / "example_run"))
    return folder if folder.is_dir() else None
