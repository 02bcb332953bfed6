"""From a batch of pairs to the loss of an encoder-decoder, with or without a second, regularising pass.

Both regularisers run their two passes as one of twice the rows: the kernels are fuller and dropout differs between the
rows anyway. This file knows models as `EncoderDecoder`; it knows nothing of optimisers or steps.
"""

from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.training import AgreementRegularizer, NoRegularizer, RDrop, SimCut
from heedful.data.batch import Batch
from heedful.models.interfaces import EncoderDecoder
from heedful.training.losses.loss_module import LossModule, LossSum
from heedful.training.losses.projected import Agreement, projected_agreement, projected_cross_entropy


class SequenceLoss(LossModule[Batch]):
    """Label-smoothed cross-entropy of an encoder-decoder, and from `regularizer.after_steps` on its regulariser."""

    def __init__(self, model: nn.Module, *, label_smoothing: float, regularizer: AgreementRegularizer) -> None:
        super().__init__(model, early_steps=regularizer.after_steps)
        self._smoothing, self._regularizer = label_smoothing, regularizer

    def forward(self, batch: Batch) -> LossSum:
        """Sum the loss over the batch's target tokens."""
        match NoRegularizer() if self.is_early else self._regularizer:
            case NoRegularizer():
                return self._cross_entropy(batch)
            case RDrop() as r_drop:
                return self._r_drop(batch, r_drop)
            case SimCut() as simcut:
                return self._simcut(batch, simcut)

    def _cross_entropy(self, batch: Batch) -> LossSum:
        """Cross-entropy alone (section 5.4 of the paper)."""
        model, source_mask = cast(EncoderDecoder, self.model), batch.source_mask
        hidden = model.decode(batch.target_input_ids, model.encode(batch.source_ids, source_mask), source_mask)
        weight, bias = model.output_projection.weight, model.output_projection.bias
        loss, nll = projected_cross_entropy(
            hidden, weight, bias, batch.target_output_ids, batch.target_mask, smoothing=self._smoothing
        )
        return LossSum(loss, batch.num_items, {"nll": nll})

    def _r_drop(self, batch: Batch, config: RDrop) -> LossSum:
        """Half of R-Drop's loss (Liang et al., 2021, equation 4), so that one token weighs as much as without it."""
        model, source_mask = cast(EncoderDecoder, self.model), _twice(batch.source_mask)
        memory = model.encode(_twice(batch.source_ids), source_mask)
        first, second = model.decode(_twice(batch.target_input_ids), memory, source_mask).chunk(2)
        half, quarter = 0.5, config.weight / 4
        loss, nll, divergence = self._agreement(batch, first, second, Agreement(half, half, quarter, quarter))
        return LossSum(loss, batch.num_items, {"nll": nll, "divergence": divergence * 2 / config.weight})

    def _simcut(self, batch: Batch, config: SimCut) -> LossSum:
        """SimCut (Gao et al., 2022): KL(full ‖ cut), with gradients through both passes as in the paper."""
        model, source_mask = cast(EncoderDecoder, self.model), _twice(batch.source_mask)
        keep_source, keep_target = _cut_second(batch.source_ids, config), _cut_second(batch.target_input_ids, config)
        memory = model.encode(_twice(batch.source_ids), source_mask, keep_source)
        full, cut = model.decode(_twice(batch.target_input_ids), memory, source_mask, keep_target).chunk(2)
        loss, nll, divergence = self._agreement(batch, full, cut, Agreement(1.0, 0.0, config.weight, 0.0))
        return LossSum(loss, batch.num_items, {"nll": nll, "divergence": divergence / config.weight})

    def _agreement(
        self, batch: Batch, first: Tensor, second: Tensor, weights: Agreement
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Project two passes, [batch, target_len, dim] each, and sum their loss, likelihood and divergence."""
        projection = cast(EncoderDecoder, self.model).output_projection
        return projected_agreement(
            first,
            second,
            projection.weight,
            projection.bias,
            batch.target_output_ids,
            batch.target_mask,
            smoothing=self._smoothing,
            weights=weights,
        )


def _twice(rows: Tensor) -> Tensor:
    return torch.cat([rows, rows])


def _cut_second(ids: Tensor, config: SimCut) -> Tensor:
    """Keep all of ids [batch, length] in a first pass and cut some in a second; returns [2 · batch, length]."""
    kept = torch.rand_like(ids, dtype=torch.float) >= config.cut_rate
    return torch.cat([torch.ones_like(kept), kept])
