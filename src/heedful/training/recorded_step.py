"""Training steps as CUDA graphs: a step is recorded once for each shape of batch and replayed for every other batch.

A step of a small model is about a thousand kernels of a few microseconds; launched one by one from Python they take
ten times as long as they run. A replayed step costs the host a few calls. The kernels are those of `train_step`, in
the same order, with the same dropout: a recorded run ends in the same weights, and `tests` hold the two equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import torch
from torch import Tensor

from heedful.data.named_batch import BatchT
from heedful.training.distribution.shares import Share, shares_of
from heedful.training.optimizer import set_learning_rate
from heedful.training.state import TrainState
from heedful.training.step import Loss, StepSettings, gradients_of, seed_of_step, train_step, update_weights

_Shape = tuple[torch.Size, ...]

_MAX_RECORDINGS = 256
"""Shapes that are recorded. Their memory is shared; what each keeps is a list of launches, a few megabytes."""


@dataclass(frozen=True)
class _Recording(Generic[BatchT]):
    graph: torch.cuda.CUDAGraph
    batch: BatchT
    num_items: Tensor


class StepRecorder(Generic[BatchT]):
    """Does steps on a GPU. A shape is run plainly when it is first met, recorded at the second time, then replayed.

    Rare shapes (the remainder of an epoch) are so never recorded, and everything that kernels prepare at their first
    launch is prepared before the recording, where it would not be allowed.
    """

    def __init__(self, state: TrainState, loss: Loss[BatchT], settings: StepSettings) -> None:
        self._state, self._loss, self._settings = state, loss, settings
        self._recordings: dict[_Shape, _Recording[BatchT]] = {}
        self._met: set[_Shape] = set()
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, batches: Sequence[BatchT], *, learning_rate: float) -> None:
        """Do what `train_step` does."""
        seed = seed_of_step(self._settings.seed, self._state.step)
        shares = shares_of(batches, self._settings.team.cut, self._state.num_parts, seed)
        batch, shape = shares[0].batch, shares[0].batch.shape
        if len(shares) > 1 or not shares[0].counts or not self._is_recordable(shape):
            self._met.add(shape)
            train_step(self._state, self._loss, batches, self._settings, learning_rate=learning_rate)
            return
        if shape not in self._recordings:
            self._recordings[shape] = self._record(batch)
        recording = self._recordings[shape]
        recording.batch.copy_from(batch)
        recording.num_items.fill_(float(batches[0].num_items))
        set_learning_rate(self._state.optimizer, learning_rate)
        torch.manual_seed(seed if shares[0].seed is None else shares[0].seed)
        recording.graph.replay()
        self._state.step += 1

    def _is_recordable(self, shape: _Shape) -> bool:
        return shape in self._recordings or (shape in self._met and len(self._recordings) < _MAX_RECORDINGS)

    def _record(self, batch: BatchT) -> _Recording[BatchT]:
        """Record a step on a copy of the batch. Recording runs nothing: weights and sums stay as they are."""
        device = self._state.device
        own = batch.to(device)
        num_items = torch.full((), float(batch.num_items), device=device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            sums = gradients_of(self._loss, [Share(own)], num_items, self._settings)
            update_weights(self._state, sums, self._settings)
        return _Recording(graph, own, num_items)
