"""How many target tokens each source token of a training set stands for, from the pairs themselves.

The alignment model (alignment/model.py) learns from the tokens of the store which belong together; every target token
counts for the source token it is most probably written for, and the end symbol for the end symbol, so that the
fertilities of a pair sum to its target's length. They are a function of the store, are computed once, and kept in the
cache beside it: a run that is resumed reads what it has begun with. This file knows tokens; it knows no model.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.data.alignment.model import NUM_ROUNDS, AlignmentModel, Corpus
from heedful.data.batch import Batch, FertilityBatch
from heedful.data.store import TokenStore
from heedful.data.stream import BatchStream
from heedful.errors import HeedfulError
from heedful.files import publish_folder, remove_folder
from heedful.text.ragged import Ragged, ragged_from_lengths

_FILE = "fertilities.npy"
_FORMAT_VERSION = 1


@dataclass(frozen=True)
class FertilityStream:
    """The batches of a stream with the fertilities of their sources; as there, a function of the position alone."""

    stream: BatchStream
    fertilities: Ragged

    def batch_at(self, position: int) -> FertilityBatch:
        """Return the batch at a position, from 0 without end."""
        return self._with_fertilities(self.stream.batch_at(position))

    def num_batches(self, epoch: int) -> int:
        """Return how many batches an epoch has."""
        return self.stream.num_batches(epoch)

    def _with_fertilities(self, batch: Batch) -> FertilityBatch:
        values, lengths = self.fertilities.gather(batch.example_ids)
        padded = np.zeros(tuple(batch.source_ids.shape), dtype=np.int64)
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = values
        columns = {field.name: getattr(batch, field.name) for field in fields(batch)}
        return FertilityBatch(**columns, fertilities=torch.from_numpy(padded))


def prepare_fertilities(store: TokenStore, *, say: Callable[[str], None] = lambda _: None) -> Ragged:
    """Return the fertilities of every source of a store, from the cache where they are known."""
    folder = store.folder.with_name(f"fertilities-{_FORMAT_VERSION}-{store.folder.name.removeprefix('tokens-')}")
    found = _read(folder, store)
    if found is None:
        say(f"Aligning {len(store):,} pairs for the fertilities of their tokens.")
        if folder.exists():
            remove_folder(folder)
        values = fertilities_of(store.sources, store.targets)
        try:
            publish_folder(folder, lambda partial: np.save(partial / _FILE, values))
        except HeedfulError:
            if not folder.exists():  # otherwise another run has just made the same
                raise
        found = values
    return ragged_from_lengths(found, store.source_lengths)


def fertilities_of(sources: Ragged, targets: Ragged, *, num_rounds: int = NUM_ROUNDS) -> NDArray[np.int32]:
    """Align tokens of sources and targets, which end with the end symbol, and count: a number for each source token."""
    words, written = _without_end(sources), _without_end(targets)
    corpus = Corpus(words, written, _vocab(words), _vocab(written))
    model = AlignmentModel(corpus)
    model.learn(num_rounds)
    starts = np.cumsum(sources.lengths, dtype=np.int64) - sources.lengths
    counts = np.zeros(int(sources.lengths.sum(dtype=np.int64)), dtype=np.int32)
    counts[starts + sources.lengths - 1] = 1  # the end symbol
    is_aligned = np.zeros(len(sources), dtype=bool)
    for group in corpus.groups():
        places = starts[group.numbers][:, None] + model.owners(group)
        np.add.at(counts, places.ravel(), 1)
        is_aligned[group.numbers] = True
    for number in np.flatnonzero(~is_aligned & (targets.lengths > 1)).tolist():
        _spread(counts, int(starts[number]), int(sources.lengths[number]), int(targets.lengths[number]) - 1)
    return counts


def _spread(counts: NDArray[np.int32], start: int, source_len: int, target_len: int) -> None:
    """Give the tokens of a pair that is too long to be aligned, or empty on one side, to the source in order."""
    owners = np.arange(target_len) * max(source_len - 1, 1) // target_len
    np.add.at(counts, start + owners, 1)


def _without_end(side: Ragged) -> Ragged:
    """Copy a side out of its file, without end symbols."""
    shorter = Ragged(side.values, side.starts, np.maximum(side.lengths - 1, 0))
    return ragged_from_lengths(*shorter.gather(np.arange(len(side))))


def _vocab(side: Ragged) -> int:
    return int(side.values.max(initial=0)) + 1


def _read(folder: Path, store: TokenStore) -> NDArray[np.int32] | None:
    """Read what was kept, unless it is damaged: the fertilities of a store have a sum that is known."""
    try:
        values: NDArray[np.int32] = np.load(folder / _FILE)
    except (OSError, ValueError, EOFError):
        return None
    fits = len(values) == store.source_lengths.sum(dtype=np.int64)
    return values if fits and values.sum(dtype=np.int64) == store.target_lengths.sum(dtype=np.int64) else None
