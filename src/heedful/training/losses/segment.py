"""From a segment of several texts to the loss of a language model, and the memory of having read it.

The memory is the run's: its tensors are part of `TrainState.carried`, are written in place and so survive recording,
checkpoints and a step that starts over. A model is known by what `SegmentModel` says of it.
"""

from functools import partial
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from heedful.models.segment_memory import SegmentMemory
from heedful.training.losses.cross_entropy import LossSum
from heedful.training.losses.projected import projected_cross_entropy
from heedful.training.losses.sequence import Projection
from heedful.training.step import LossFunction, TrainBatch


class SegmentModel(Protocol):
    """A language model whose last projection can be done elsewhere."""

    output_projection: Projection

    def __call__(self, token_ids: Tensor, memory: SegmentMemory) -> tuple[Tensor, SegmentMemory]:
        """Read [batch, length]; return states [batch, length, dim] and the memory of the next segment."""


class Segments(TrainBatch, Protocol):
    """Segments of several texts, all tensors [batch, length] but fresh."""

    @property
    def input_ids(self) -> Tensor:
        """What the model reads."""

    @property
    def target_ids(self) -> Tensor:
        """What follows each of it."""

    @property
    def fresh(self) -> Tensor:
        """Where a text begins anew, [batch]."""

    @property
    def first_row(self) -> int:
        """Whose memory the first row goes on with."""


def segment_loss(memory: SegmentMemory, *, label_smoothing: float = 0.0) -> LossFunction[Segments]:
    """Make the loss function of a run that hands `memory` on from batch to batch."""

    def loss(model: nn.Module, batch: Segments) -> LossSum:
        segment_model = cast(SegmentModel, model)
        rows = memory.rows(batch.first_row, batch.first_row + len(batch.fresh))
        hidden, after = segment_model(batch.input_ids, rows.forgotten_where(batch.fresh))
        projection = segment_model.output_projection
        loss_sum, nll = projected_cross_entropy(
            hidden,
            projection.weight,
            projection.bias,
            batch.target_ids,
            torch.ones_like(batch.target_ids, dtype=torch.bool),
            smoothing=label_smoothing,
        )
        # Gradients may need the memory as it was read, so it is not written to before they are taken.
        return LossSum(loss_sum, batch.num_target_tokens, {"nll": nll}, partial(rows.copy_from, after))

    return loss


def carried_tensors(memory: SegmentMemory) -> dict[str, Tensor]:
    """Return the tensors of a memory, [layers, batch, memory_len, dim] and [batch], by the names a checkpoint has."""
    return {"memory/states": memory.states, "memory/filled": memory.filled}
