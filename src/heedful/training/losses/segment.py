"""From a segment of several texts to the loss of a language model, and the memory of having read it.

The memory is the run's: its tensors are part of `TrainState.carried`, are written in place and so survive recording,
checkpoints and a step that starts over. A model is known by what `SegmentModel` says of it.
"""

from functools import partial
from typing import cast

import torch
from torch import nn

from heedful.data.batch import SegmentBatch
from heedful.models.segment_memory import SegmentMemory, SegmentModel
from heedful.training.losses.loss_module import LossModule, LossSum
from heedful.training.losses.projected import projected_cross_entropy


class SegmentLoss(LossModule[SegmentBatch]):
    """Cross-entropy of a language model that hands `memory` on from batch to batch."""

    def __init__(self, model: nn.Module, memory: SegmentMemory, *, label_smoothing: float = 0.0) -> None:
        super().__init__(model)
        self.memory, self._smoothing = memory, label_smoothing
        self.carried = {"memory/states": memory.states, "memory/filled": memory.filled}
        self.carried_rows = {"memory/states": 1}

    def forward(self, batch: SegmentBatch) -> LossSum:
        """Sum the loss over the batch's symbols, whose texts go on where the memory stands."""
        model = cast(SegmentModel, self.model)
        rows = self.memory.rows(batch.first_row, batch.first_row + len(batch))
        hidden, after = model(batch.input_ids, rows.forgotten_where(batch.fresh))
        loss_sum, nll = projected_cross_entropy(
            hidden,
            model.output_projection.weight,
            model.output_projection.bias,
            batch.target_ids,
            torch.ones_like(batch.target_ids, dtype=torch.bool),
            smoothing=self._smoothing,
        )
        # Gradients may need the memory as it was read, so it is not written to before they are taken.
        return LossSum(loss_sum, batch.num_items, {"nll": nll}, partial(rows.copy_from, after))
