"""Training steps as CUDA graphs: a step is recorded once for each shape of batch and replayed for every other batch.

A step of a small model is about a thousand kernels of a few microseconds; launched one by one from Python they take
ten times as long as they run. A replayed step costs the host a few calls. The kernels are those of `train_step`, in
the same order, with the same dropout: a recorded run ends in the same weights, and `tests` hold the two equal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor

from heedful.training.optimizer import set_learning_rate
from heedful.training.state import TrainState
from heedful.training.step import LossFunction, TrainBatch, gradients_of, seed_of_step, train_step, update_weights

_MAX_RECORDINGS = 256
"""Shapes that are recorded. Their memory is shared; what each keeps is a list of launches, a few megabytes."""


class RecordableBatch(TrainBatch, Protocol):
    """What must be known of a batch beyond `TrainBatch`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches of equal shape run the same kernels."""

    def copy_from(self, other: Self) -> None:
        """Take over the contents of a batch of the same shape without waiting for the copy."""


BatchT = TypeVar("BatchT", bound=RecordableBatch)


@dataclass(frozen=True)
class _Recording(Generic[BatchT]):
    graph: torch.cuda.CUDAGraph
    batch: BatchT
    num_tokens: Tensor


class StepRecorder(Generic[BatchT]):
    """Does steps on a GPU. A shape is run plainly when it is first met, recorded at the second time, then replayed.

    Rare shapes (the remainder of an epoch) are so never recorded, and everything that kernels prepare at their first
    launch is prepared before the recording, where it would not be allowed.
    """

    def __init__(
        self,
        state: TrainState,
        loss_function: LossFunction[BatchT],
        *,
        clip_norm: float | None,
        bf16: bool,
        seed: int,
        report: Callable[[str], None],
    ) -> None:
        self._state, self._loss_function = state, loss_function
        self._clip_norm, self._bf16, self._seed, self._report = clip_norm, bf16, seed, report
        self._recordings: dict[tuple[int, ...], _Recording[BatchT]] = {}
        self._met: set[tuple[int, ...]] = set()
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, batches: Sequence[BatchT], *, learning_rate: float) -> None:
        """Do what `train_step` does."""
        batch = batches[0]
        if len(batches) > 1 or self._state.num_parts > 1 or not self._is_recordable(batch.shape):
            self._met.add(batch.shape)
            train_step(
                self._state,
                self._loss_function,
                batches,
                learning_rate=learning_rate,
                clip_norm=self._clip_norm,
                bf16=self._bf16,
                seed=self._seed,
                report=self._report,
            )
            return
        if batch.shape not in self._recordings:
            self._recordings[batch.shape] = self._record(batch)
        recording = self._recordings[batch.shape]
        recording.batch.copy_from(batch)
        recording.num_tokens.fill_(float(batch.num_target_tokens))
        set_learning_rate(self._state.optimizer, learning_rate)
        torch.manual_seed(seed_of_step(self._seed, self._state.step))
        recording.graph.replay()
        self._state.step += 1

    def _is_recordable(self, shape: tuple[int, ...]) -> bool:
        return shape in self._recordings or (shape in self._met and len(self._recordings) < _MAX_RECORDINGS)

    def _record(self, batch: BatchT) -> _Recording[BatchT]:
        """Record a step on a copy of the batch. Recording runs nothing: weights and sums stay as they are."""
        device = self._state.device
        own = batch.to(device)
        num_tokens = torch.full((), float(batch.num_target_tokens), device=device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            sums = gradients_of(self._state.model, self._loss_function, [own], num_tokens, bf16=self._bf16)
            update_weights(self._state, sums, clip_norm=self._clip_norm)
        return _Recording(graph, own, num_tokens)
