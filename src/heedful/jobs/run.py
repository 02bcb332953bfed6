"""A job from its beginning, or from where it was stopped, to its manifest; and how far it is, and how fast."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.data.addresses import find_shards
from heedful.data.processes import Message
from heedful.errors import count_of
from heedful.jobs.plan import Job, Outputs, Piece, pieces_of
from heedful.jobs.processes import on_this_machine
from heedful.jobs.ray_cluster import on_cluster

Say = Callable[[str], None]
_SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True)
class Where:
    """Who does the work: processes of this machine, or a cluster of Ray's."""

    workers: int | None = None
    """At a time; None takes one for each core."""

    ray: str | None = None
    """The address of a cluster; None is this machine."""


@dataclass(frozen=True)
class Done:
    """What a job has written."""

    folder: Path
    num_pieces: int
    num_rows: int
    num_before: int
    """Pieces that were there already."""


def run_job(job: Job, out: Path, where: Where, say: Say) -> Done:
    """Do what is missing of a job; the same job in a folder that is finished has nothing to do."""
    for pattern in job.inputs:
        find_shards(pattern)  # what is not there is said before anything is written
    outputs = Outputs(out, job)
    with outputs.opened():
        if outputs.is_finished:
            say(f"{out} is finished already.")
            return Done(out, 0, 0, 0)
        num_before = len(outputs.done)
        if num_before:
            say(f"Going on: {count_of(num_before, 'piece')} of {out} done before.")
        progress = _Progress(say, num_before)
        under_way: dict[int, Piece] = {}
        counted = _Counted(pieces_of(job))
        setup = Message({"verb": job.verb, "settings": job.settings})
        pieces = _sent(outputs.missing(iter(counted)), under_way)
        if where.ray is None:
            results = on_this_machine(setup, pieces, where.workers)
        else:
            on_gpu = str(job.settings.get("device") or "").startswith("cuda")
            results = on_cluster(where.ray, setup, pieces, where.workers, on_gpu=on_gpu)
        for number, answer in results:
            piece = under_way.pop(number)
            outputs.write(piece, answer)
            progress.tell(piece)
        num_rows = sum(note["rows"] for note in outputs.done.values())
        outputs.finish(counted.number)
        progress.end()
    return Done(out, counted.number, num_rows, num_before)


class _Counted:
    """Pieces, and how many there were."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces, self.number = pieces, 0

    def __iter__(self) -> Iterator[Piece]:
        for piece in self._pieces:
            self.number += 1
            yield piece


def _sent(pieces: Iterator[Piece], under_way: dict[int, Piece]) -> Iterator[tuple[int, Message]]:
    for piece in pieces:
        under_way[piece.number] = piece
        yield piece.number, piece.message()


class _Progress:
    """A line now and then: how much is done, and how fast."""

    def __init__(self, say: Say, num_before: int) -> None:
        self._say, self._num_pieces, self._num_rows = say, num_before, 0
        self._start = self._told = time.monotonic()

    def tell(self, piece: Piece) -> None:
        self._num_pieces += 1
        self._num_rows += len(piece.columns[0])
        if time.monotonic() - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = time.monotonic()
            self._say(f"{count_of(self._num_pieces, 'piece')} done, the last of {piece.shard}; {self._speed()}.")

    def end(self) -> None:
        self._say(f"{count_of(self._num_rows, 'row')} now, {self._speed()}.")

    def _speed(self) -> str:
        return f"{self._num_rows / max(time.monotonic() - self._start, 1e-9):,.0f} rows a second"
