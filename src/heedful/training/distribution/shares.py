"""What each rank does of a step: every batch is cut into the same parts, whoever takes them.

A part draws dropout from a seed of its own, a function of (seed, step, part). Whether one process takes all parts one
after the other or each has a process, the same rows meet the same dropout, and the loss curve is the same. This file
is arithmetic on rows.
"""

from collections.abc import Sequence
from typing import Generic, NamedTuple

from heedful.data.named_batch import BatchT
from heedful.errors import UserError


class Share(NamedTuple, Generic[BatchT]):
    """One pass of a step."""

    batch: BatchT
    seed: int | None = None
    """Seeds dropout anew before the pass; None goes on with what was drawn."""

    counts: bool = True
    """False for a pass that is only done because the other ranks do one: its gradient is zero."""


class Cut(NamedTuple):
    """How batches are cut, and which parts are whose."""

    parts: int = 1
    rank: int = 0
    world: int = 1

    @property
    def own(self) -> range:
        """The parts of this rank."""
        return range(self.rank * self.parts // self.world, (self.rank + 1) * self.parts // self.world)

    def own_rows(self, num_rows: int) -> tuple[int, int]:
        """Return the first row of this rank, and the one after its last, of a batch of so many."""
        bounds = _bounds(num_rows, self.parts)
        return bounds[self.own.start], bounds[self.own.stop]


def check_parts(parts: int, world: int) -> None:
    """Refuse a number of parts that the processes cannot share evenly."""
    if parts % world:
        raise UserError(
            f"`training.distribution.parts` must be a multiple of the number of processes, {world}, but is {parts}. "
            "Start another number of processes, or begin a run with more parts."
        )


def shares_of(batches: Sequence[BatchT], cut: Cut, num_pieces: int, seed: int) -> list[Share[BatchT]]:
    """Return the passes of this rank; `num_pieces` cuts each part once more, for the sake of memory.

    With one part the passes are those of a plain loop: dropout is seeded once and drawn on from batch to batch.
    """
    if cut.parts == cut.world == 1:
        pieces = [piece for batch in batches for piece in ([batch] if num_pieces == 1 else batch.split(num_pieces))]
        return [Share(piece, seed if number == 0 else None) for number, piece in enumerate(pieces)]
    found: list[Share[BatchT]] = []
    for number, batch in enumerate(batches):
        bounds = _bounds(len(batch), cut.parts)
        for part in cut.own:
            inner = _bounds(bounds[part + 1] - bounds[part], num_pieces)
            for piece in range(num_pieces):
                start, end = bounds[part] + inner[piece], bounds[part] + inner[piece + 1]
                part_seed = None if piece else (seed + number * cut.parts + part) % 2**63
                if start < end:
                    found.append(Share(batch.rows(start, end), part_seed))
                else:  # fewer rows than parts: the wrappers still wait for a pass of every rank
                    found.append(Share(batch.rows(0, 1), part_seed, counts=False))
    return found


def _bounds(num_rows: int, parts: int) -> list[int]:
    """Return where the parts of so many rows begin, and the end: as `NamedBatch.split` cuts, then empty ones."""
    filled = min(parts, num_rows)
    bounds = [round(part * num_rows / max(1, filled)) for part in range(filled)]
    return [*bounds, *[num_rows] * (parts + 1 - filled)]
