"""The endless stream of training batches: batch number n is a function of the seed and n, and of nothing else.

Joins the token store, the order of packing.py and subword dropout. A run that resumes asks for the next position and
gets the batch it would have got (decision 002). This file knows nothing of models or devices.
"""

import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from heedful.data.batch import Batch, Joined, assemble
from heedful.data.named_batch import BatchT, NamedBatch
from heedful.data.packing import EpochPlan, PlannedBatch, epoch_plan
from heedful.data.store import TokenStore, WordTable
from heedful.text.ragged import Ragged, sums_of_runs
from heedful.text.subword_dropout import draw_choices

_READ_AHEAD = 8
_EXAMPLES_AT_ONCE = 1 << 16
"""For how many examples at once subword dropout draws the lengths of an epoch: bounds the memory this takes."""


@dataclass(frozen=True)
class Place:
    """Where a position is: the epoch, and the number of the batch in it, both from 0."""

    epoch: int
    index: int


class BatchStream:
    """All batches of a training run, each a pure function of its position.

    `weights` has a number for every corpus of the store: how often its pairs occur in an epoch. With subword dropout
    (a store that has words) a sentence that would grow beyond `max_tokens` is cut plainly in that epoch.
    """

    def __init__(
        self,
        store: TokenStore,
        *,
        batch_tokens: int,
        seed: int,
        bos_id: int,
        pad_id: int,
        weights: Sequence[float] | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self.store = store
        self.batch_tokens = batch_tokens
        self.seed = seed
        self._bos_id, self._pad_id = bos_id, pad_id
        self._weights = None if weights is None or set(weights) == {1.0} else np.array(weights)[store.corpus_ids]
        self._sides: list[_PlainSide | _DroppingSide]
        if store.source_words is None or store.target_words is None:
            self._sides = [_PlainSide(store.sources), _PlainSide(store.targets)]
        else:
            sides = enumerate([store.source_words, store.target_words])
            self._sides = [_DroppingSide(words, seed, number, max_tokens) for number, words in sides]
        self._is_constant = self._weights is None and store.source_words is None
        self._first_positions = [0]
        self._plan = lru_cache(maxsize=2)(self._plan_epoch)

    def batch_at(self, position: int) -> Batch:
        """Return the batch at a position, from 0 without end."""
        place = self.place_of(position)
        return self._assemble(place.epoch, self._plan(place.epoch)[place.index])

    def place_of(self, position: int) -> Place:
        """Return the epoch of a position and its place in it."""
        if position < 0:
            raise ValueError(f"A position must be at least 0, but is {position}.")
        if self._is_constant:
            return Place(*divmod(position, len(self._plan(0))))
        while self._first_positions[-1] <= position:  # epochs differ in length: count from the first one on
            self._first_positions.append(self._first_positions[-1] + len(self._plan(len(self._first_positions) - 1)))
        epoch = int(np.searchsorted(self._first_positions, position, side="right")) - 1
        return Place(epoch, position - self._first_positions[epoch])

    def epoch_of(self, position: int) -> int:
        """Return the number of the epoch a position belongs to, from 0."""
        return self.place_of(position).epoch

    def num_batches(self, epoch: int) -> int:
        """Return how many batches an epoch has."""
        return len(self._plan(epoch))

    def _plan_epoch(self, epoch: int) -> EpochPlan:
        sources, targets = (side.lengths(epoch) for side in self._sides)
        return epoch_plan(
            sources, targets, batch_tokens=self.batch_tokens, seed=self.seed, epoch=epoch, weights=self._weights
        )

    def _assemble(self, epoch: int, planned: PlannedBatch) -> Batch:
        sources, targets = (side.gather(planned.example_ids, epoch) for side in self._sides)
        return assemble(
            sources,
            targets,
            bos_id=self._bos_id,
            pad_id=self._pad_id,
            source_len=planned.source_len,
            target_len=planned.target_len,
            example_ids=planned.example_ids,
        )


class _PlainSide:
    """One side of the corpus, always cut in the same way."""

    def __init__(self, ids: Ragged) -> None:
        self._ids = ids

    def lengths(self, epoch: int) -> NDArray[np.integer]:  # noqa: ARG002 - every epoch is the same
        return self._ids.lengths

    def gather(self, example_ids: NDArray[np.int64], epoch: int) -> Joined:  # noqa: ARG002
        return self._ids.gather(example_ids)


class _DroppingSide:
    """One side of the corpus, cut anew in each epoch."""

    def __init__(self, side: WordTable, seed: int, stream: int, max_tokens: int | None) -> None:
        self._words, self._table = side.words, side.table
        self._seed, self._stream = seed, stream
        self._max_tokens = np.iinfo(np.int32).max if max_tokens is None else max_tokens

    def lengths(self, epoch: int) -> NDArray[np.integer]:
        starts = range(0, len(self._words), _EXAMPLES_AT_ONCE)
        parts = [np.arange(start, min(start + _EXAMPLES_AT_ONCE, len(self._words))) for start in starts]
        return np.concatenate([np.zeros(0, dtype=np.int64), *(self._cut(part, epoch)[2] for part in parts)])

    def gather(self, example_ids: NDArray[np.int64], epoch: int) -> Joined:
        words, choices, lengths = self._cut(example_ids, epoch)
        return self._table.segment(words, choices), lengths

    def _cut(
        self, example_ids: NDArray[np.int64], epoch: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Return the words of examples, how each is cut in this epoch, and how many ids each example then has."""
        positions = self._words.positions(example_ids)
        num_words = self._words.lengths[example_ids]
        words = self._words.values[positions]
        choices = draw_choices(positions, seed=self._seed, epoch=epoch, stream=self._stream)
        lengths = sums_of_runs(self._table.lengths(words, choices), num_words)
        if (lengths > self._max_tokens).any():
            choices[np.repeat(lengths > self._max_tokens, num_words)] = 0
            lengths = sums_of_runs(self._table.lengths(words, choices), num_words)
        return words, choices, lengths


BatchCo = TypeVar("BatchCo", bound=NamedBatch, covariant=True)


class Positioned(Protocol[BatchCo]):
    """A stream whose batches are functions of their position."""

    def batch_at(self, position: int, /) -> BatchCo:
        """Return the batch at a position, from 0 without end."""


def prefetch(stream: Positioned[BatchT], start: int, *, pin_memory: bool = False) -> Iterator[BatchT]:
    """Yield the batches of a stream from position `start` on, made ahead by one thread.

    What goes wrong in the thread is raised here. The thread ends when the iterator is closed or forgotten.
    """
    ready: queue.Queue[BatchT | BaseException] = queue.Queue(_READ_AHEAD)
    stopped = threading.Event()
    thread = threading.Thread(target=_produce, args=(stream, start, pin_memory, ready, stopped), daemon=True)
    thread.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()


def _produce(
    stream: Positioned[BatchT],
    position: int,
    pin_memory: bool,
    ready: "queue.Queue[BatchT | BaseException]",
    stopped: threading.Event,
) -> None:
    while not stopped.is_set():
        item: BatchT | BaseException
        try:
            batch = stream.batch_at(position)
            item = batch.pin_memory() if pin_memory else batch
        except BaseException as error:  # it belongs to the consumer, who raises it
            item = error
        position += 1
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
                break
            except queue.Full:
                continue
        if isinstance(item, BaseException):
            return
