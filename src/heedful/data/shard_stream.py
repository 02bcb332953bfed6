"""Training batches of a corpus that is never whole anywhere: a few shards at a time, each batch still a function.

An epoch is all shards in an order drawn for it, a few side by side (a group); the batches of a group are mixed. Which
batch stands at a position follows from the seed, the position and how many batches each shard has, which is noted in
the cache when a shard is first prepared. So a run that resumes opens the shards of its group and nothing else. The next
group is prepared while this one is trained on. This file knows stores; where they come from it is told.
"""

import json
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.data.batch import Batch
from heedful.data.packing import repetitions
from heedful.data.store import TokenStore
from heedful.data.stream import BatchStream
from heedful.files import remove_folder, write_atomic

_SIDE_BY_SIDE = 2
_MOST_REPETITIONS = 1 << 16
"""Of a shard within an epoch: each has an order of its own."""


@dataclass(frozen=True)
class Shard:
    """One file of a corpus: what prepares its tokens, where what is known of it is noted, how often it is read."""

    open: Callable[[], TokenStore]
    notes: Callable[[], Path]
    weight: float = 1.0
    keeps_tokens: bool = True


@dataclass(frozen=True)
class Reading:
    """A shard as one group reads it: `order` is the number of its own shuffle."""

    shard: int
    order: int


class ShardStream:
    """All batches of a training run over shards, each a function of its position."""

    def __init__(
        self, shards: Sequence[Shard], *, batch_tokens: int, seed: int, bos_id: int, pad_id: int, max_tokens: int
    ) -> None:
        self.batch_tokens, self.seed = batch_tokens, seed
        self._shards, self._ids, self._max_tokens = shards, (bos_id, pad_id), max_tokens
        self._facts: dict[int, dict[str, int]] = {}
        self._firsts, self._groups = [0], list[tuple[int, tuple[Reading, ...]]]()
        self._epochs = 0
        self._opened: dict[int, Future[BatchStream]] = {}
        self._current: tuple[int, NDArray[np.int64]] = (-1, np.zeros(0, dtype=np.int64))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="heedful-shards")
        self._lock = threading.Lock()

    @property
    def num_pairs(self) -> int:
        """Pairs of the shards that have been prepared so far, here or by an earlier run."""
        return sum(self._facts_of(number)["pairs"] for number in range(len(self._shards)) if self._is_known(number))

    def batch_at(self, position: int) -> Batch:
        """Return the batch at a position, from 0 without end."""
        with self._lock:
            group = self._group_of(position)
            readings = self._groups[group][1]
            sizes = [self._facts_of(reading.shard)["batches"] for reading in readings]
            if self._current[0] != group:
                chance = np.random.default_rng((self.seed, group, 5))
                self._current = group, chance.permutation(sum(sizes))
                self._keep_open(group)
            place = int(self._current[1][position - self._firsts[group]])
            for reading, size in zip(readings, sizes, strict=True):
                if place < size:
                    return self._stream_of(reading.shard).batch_at(reading.order * size + place)
                place -= size
        raise AssertionError("a place beyond its group")

    def epoch_of(self, position: int) -> int:
        """Return the number of the epoch a position belongs to, from 0."""
        return self._groups[self._group_of(position)][0]

    def _group_of(self, position: int) -> int:
        if position < 0:
            raise ValueError(f"A position must be at least 0, but is {position}.")
        while self._firsts[-1] <= position:
            number = len(self._firsts) - 1
            readings = self._group(number)[1]
            self._firsts.append(self._firsts[-1] + sum(self._facts_of(one.shard)["batches"] for one in readings))
        return bisect_right(self._firsts, position) - 1

    def _group(self, number: int) -> tuple[int, tuple[Reading, ...]]:
        while number >= len(self._groups):
            readings = self._readings(self._epochs)
            starts = range(0, len(readings), _SIDE_BY_SIDE)
            self._groups += [(self._epochs, tuple(readings[start : start + _SIDE_BY_SIDE])) for start in starts]
            self._epochs += 1
        return self._groups[number]

    def _readings(self, epoch: int) -> list[Reading]:
        """Return the shards of an epoch in their order, each as often as its weight says."""
        weights = np.array([shard.weight for shard in self._shards])
        counts = repetitions(weights, self.seed, epoch)
        readings = [
            Reading(shard, epoch * _MOST_REPETITIONS + time)
            for shard, count in enumerate(counts.tolist())
            for time in range(count)
        ]
        order = np.random.default_rng((self.seed, epoch, 4)).permutation(len(readings))
        return [readings[place] for place in order]

    def _keep_open(self, group: int) -> None:
        """Open this group and the next, ahead of need, and let go of all others."""
        wanted = list(dict.fromkeys(one.shard for near in (group, group + 1) for one in self._group(near)[1]))
        for shard in [one for one in self._opened if one not in wanted]:
            stream = self._opened.pop(shard).result()
            if not self._shards[shard].keeps_tokens:
                remove_folder(stream.store.folder)
        for shard in wanted:
            self._opening(shard)
        for reading in self._group(group + 1)[1]:
            self._thread.submit(self._plan_ahead, self._opened[reading.shard], reading.order)

    def _plan_ahead(self, opened: "Future[BatchStream]", order: int) -> None:
        opened.result().num_batches(order)

    def _opening(self, shard: int) -> "Future[BatchStream]":
        if shard not in self._opened:
            self._opened[shard] = self._thread.submit(self._open, shard)
        return self._opened[shard]

    def _stream_of(self, shard: int) -> BatchStream:
        return self._opening(shard).result()

    def _open(self, shard: int) -> BatchStream:
        store = self._shards[shard].open()
        bos_id, pad_id = self._ids
        stream = BatchStream(
            store,
            batch_tokens=self.batch_tokens,
            seed=self.seed,
            bos_id=bos_id,
            pad_id=pad_id,
            max_tokens=self._max_tokens,
        )
        if not self._is_known(shard):
            facts = {"pairs": len(store), "batches": stream.num_batches(0)}
            write_atomic(self._notes(shard), json.dumps(facts).encode())
        return stream

    def _notes(self, shard: int) -> Path:
        path = self._shards[shard].notes()
        return path.with_name(f"{path.name}.{self.batch_tokens}.json")

    def _is_known(self, shard: int) -> bool:
        return shard in self._facts or self._notes(shard).exists()

    def _facts_of(self, shard: int) -> dict[str, int]:
        """Return how many pairs and batches a shard has; one that nobody has prepared yet is prepared for it."""
        if shard not in self._facts:
            if not self._notes(shard).exists():
                self._stream_of(shard)
            self._facts[shard] = json.loads(self._notes(shard).read_bytes())
        return self._facts[shard]
