"""What a job is made of, and what of it is done: pieces of the input, one output file each, and the manifest.

One process, the one that was started, reads the input, hands pieces to workers and writes what comes back. Where a
piece ends depends on the input and on `rows` alone; so the outputs are the same whoever makes them. A finished piece is
noted in `done.jsonl`, with a digest of what went in, and its file appears whole. Whoever starts the same job again goes
on with what is missing. At the end `manifest.json` takes the place of the notes. This file knows neither verbs nor
processes.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heedful.data.addresses import find_shards
from heedful.data.filters import SeenBefore
from heedful.data.processes import Message
from heedful.data.shards import Columns, read_rows
from heedful.errors import DataError, HeedfulError, UserError
from heedful.files import JsonValue, append, force_to_disk, sweep_partial, verify_sizes, write_atomic, write_manifest

_JOB, _DONE = "job.json", "done.jsonl"


@dataclass(frozen=True)
class Job:
    """Everything that decides what is written."""

    verb: str
    inputs: tuple[str, ...]
    """Patterns or addresses; several are read side by side, a column of each."""

    columns: Columns
    """Of one input: what is read of each row."""

    rows: int
    """In a piece."""

    ending: str
    """Of the names of outputs."""

    settings: dict[str, JsonValue]
    distinct: bool = False
    """Whether a row that has occurred before is left out."""

    def to_json(self) -> dict[str, Any]:
        """Return the job as it is written down."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]  # tuples become lists


@dataclass(frozen=True)
class Piece:
    """Some rows of a shard, as they are sent to a worker."""

    number: int
    shard: str
    first_row: int
    columns: tuple[list[str], ...]

    def message(self) -> Message:
        """Return the piece as it is sent."""
        facts: dict[str, JsonValue] = {"shard": self.shard, "first_row": self.first_row}
        return Message(facts, tuple(joined(texts) for texts in self.columns))


def joined(texts: list[str]) -> bytes:
    """Write texts as one row of bytes, whatever characters they have."""
    return json.dumps(texts, ensure_ascii=False).encode("utf-8", errors="surrogatepass")


def texts_of(part: bytes) -> list[str]:
    """Read what `joined` wrote."""
    texts: list[str] = json.loads(part.decode("utf-8", errors="surrogatepass"))
    return texts


def pieces_of(job: Job) -> Iterator[Piece]:
    """Read the input from its beginning. A piece never reaches over the end of a shard."""
    number, seen = 0, SeenBefore()
    sides = [find_shards(pattern) for pattern in job.inputs]
    if len({len(side) for side in sides}) > 1:
        counts = " and ".join(f"{len(side):,}" for side in sides)
        raise DataError(f"Inputs side by side must have equally many shards, but they have {counts}.")
    for together in zip(*sides, strict=True):
        for first_row, columns in _blocks(together, job):
            if job.distinct:
                columns = _new_rows(columns, seen)
            if columns[0]:
                yield Piece(number, together[0], first_row, columns)
                number += 1
    if not number:
        raise DataError(f"The input must have at least one row, but {' and '.join(job.inputs)} has none.")


def _blocks(together: tuple[str, ...], job: Job) -> Iterator[tuple[int, tuple[list[str], ...]]]:
    """Yield blocks of one shard, or of several whose rows belong together."""
    if len(together) == 1:
        for rows in read_rows(together[0], job.columns, job.rows):
            yield rows.first_row, rows.columns
        return
    readers = [read_rows(shard, (0,), job.rows) for shard in together]
    while True:
        found = [next(reader, None) for reader in readers]
        columns = tuple(one.columns[0] if one else [] for one in found)
        if len({len(texts) for texts in columns}) > 1:
            raise DataError(f"Shards side by side must have equally many rows, but {' and '.join(together)} have not.")
        if found[0] is None:
            return
        yield found[0].first_row, columns


def _new_rows(columns: tuple[list[str], ...], seen: SeenBefore) -> tuple[list[str], ...]:
    rows = ["\n".join(row).strip() for row in zip(*columns, strict=True)]
    digests = [hashlib.blake2b(row.encode("utf-8", "surrogatepass"), digest_size=8).digest() for row in rows]
    is_new = seen.are_new(np.frombuffer(b"".join(digests), dtype=np.uint64))
    kept = [place for place, row in enumerate(rows) if row and is_new[place]]
    return tuple([texts[place] for place in kept] for texts in columns)


class Outputs:
    """The folder of a job: which pieces are done, and where the next ones go."""

    def __init__(self, folder: Path, job: Job) -> None:
        self.folder, self._job = folder, job
        self.done: dict[int, dict[str, Any]] = {}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Take the folder for this process, and find out what is done in it; another job's folder is refused."""
        self.folder.mkdir(parents=True, exist_ok=True)
        holder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._check_job()
            sweep_partial(self.folder)
            self._read_done()
            yield
        except BlockingIOError:
            raise UserError(f"{self.folder} must belong to one process, but another one works in it.") from None
        finally:
            os.close(holder)

    def _check_job(self) -> None:
        path, wanted = self.folder / _JOB, self._job.to_json()
        if not path.exists():
            if any(not one.name.startswith(".") for one in self.folder.iterdir()):
                raise UserError(f"`--out` must be empty, or the folder of this job, but {self.folder} is neither.")
            write_atomic(path, json.dumps(wanted, indent=1, ensure_ascii=False).encode() + b"\n")
        elif (begun := json.loads(path.read_text(encoding="utf-8"))) != wanted:
            other = next(name for name in wanted if begun.get(name) != wanted[name])
            raise UserError(
                f"{self.folder} is the folder of a job with another `{other}`: {begun.get(other)} instead of "
                f"{wanted[other]}. Give the same again, or another --out."
            )

    @property
    def is_finished(self) -> bool:
        """Whether the manifest is written: then every file is there."""
        return (self.folder / "manifest.json").exists() and bool(verify_sizes(self.folder))

    def _read_done(self) -> None:
        path = self.folder / _DONE
        for line in path.read_bytes().split(b"\n")[:-1] if path.exists() else ():
            try:
                found = json.loads(line)
                size = (self.folder / found["file"]).stat().st_size
            except (ValueError, OSError):  # torn by a kill, or noted and not yet there
                continue
            if size == found["bytes"]:
                self.done[found["number"]] = found

    def missing(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Yield the pieces that are not done; of those that are, the input must be what it was."""
        for piece in pieces:
            known = self.done.get(piece.number)
            if known is None:
                yield piece
            elif known["input_sha256"] != _digest(piece):
                raise DataError(
                    f"{piece.shard} must be what it was when the job began, but has changed near row "
                    f"{piece.first_row:,}. Put it back, or begin with another --out."
                )

    def write(self, piece: Piece, answer: Message) -> None:
        """Note what was made of a piece, and let its file appear."""
        data = answer.parts[0]
        name = f"part-{piece.number:06d}.{self._job.ending}"
        note: dict[str, Any] = {
            "number": piece.number,
            "file": name,
            "shard": piece.shard,
            "first_row": piece.first_row,
            "rows": len(piece.columns[0]),
            "input_sha256": _digest(piece),
            "bytes": len(data),
            "facts": answer.facts,
        }
        append(self.folder / _DONE, json.dumps(note, ensure_ascii=False).encode() + b"\n")
        force_to_disk(self.folder / _DONE)
        write_atomic(self.folder / name, data)
        self.done[piece.number] = note

    def finish(self, num_pieces: int) -> None:
        """Close the folder with its manifest, every piece in order."""
        if sorted(self.done) != list(range(num_pieces)):
            raise HeedfulError(f"{self.folder} must have all {num_pieces:,} pieces, but has {len(self.done):,}.")
        (self.folder / _DONE).unlink(missing_ok=True)
        write_manifest(self.folder, {"pieces": [self.done[number] for number in range(num_pieces)]})


def _digest(piece: Piece) -> str:
    digest = hashlib.sha256()
    for part in piece.message().parts:
        digest.update(part)
    return digest.hexdigest()
