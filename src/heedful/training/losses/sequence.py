"""From a batch of pairs to the loss of an encoder-decoder, with or without a second, regularising pass.

Both regularisers run their two passes as one of twice the rows: the kernels are fuller and dropout differs between the
rows anyway. This file knows a model by what `SequenceModel` says of it; it knows nothing of optimisers or steps.
"""

from collections.abc import Callable
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from heedful.config.training import NoRegularizer, RDrop, Regularizer, SimCut
from heedful.training.losses.cross_entropy import LossSum
from heedful.training.losses.projected import Agreement, projected_agreement, projected_cross_entropy


class Projection(Protocol):
    """The linear map to the vocabulary: weight [vocab, dim], bias [vocab] or None."""

    weight: Tensor
    bias: Tensor | None


class SequenceModel(Protocol):
    """An encoder-decoder whose last projection can be done elsewhere."""

    output_projection: Projection

    def encode(self, source_ids: Tensor, source_mask: Tensor | None, keep: Tensor | None = None) -> Tensor:
        """Turn [batch, source_len] into [batch, source_len, dim]."""

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor | None, keep: Tensor | None = None
    ) -> Tensor:
        """Turn [batch, target_len] into [batch, target_len, dim]."""


class SequenceBatch(Protocol):
    """Pairs of token sequences; all tensors [batch, source_len] or [batch, target_len]."""

    @property
    def source_ids(self) -> Tensor:
        """What the encoder reads."""

    @property
    def target_input_ids(self) -> Tensor:
        """What the decoder reads: the target shifted right."""

    @property
    def target_output_ids(self) -> Tensor:
        """What the decoder should write."""

    @property
    def num_target_tokens(self) -> int:
        """Real target tokens, known to the host."""

    @property
    def source_mask(self) -> Tensor:
        """True at real source tokens."""

    @property
    def target_mask(self) -> Tensor:
        """True at real target tokens."""


SequenceLoss = Callable[[nn.Module, SequenceBatch], LossSum]
Sums = tuple[Tensor, dict[str, Tensor]]


def sequence_loss(*, label_smoothing: float, regularizer: Regularizer) -> SequenceLoss:
    """Make the loss function of a run."""

    def sums(
        model: nn.Module, source: Tensor, source_mask: Tensor, inputs: Tensor, outputs: Tensor, mask: Tensor
    ) -> Sums:
        sequence_model = cast(SequenceModel, model)
        match regularizer:
            case NoRegularizer():
                return _plain(sequence_model, source, source_mask, inputs, outputs, mask, label_smoothing)
            case RDrop():
                return _r_drop(sequence_model, source, source_mask, inputs, outputs, mask, label_smoothing, regularizer)
            case SimCut():
                return _simcut(sequence_model, source, source_mask, inputs, outputs, mask, label_smoothing, regularizer)

    def loss(model: nn.Module, batch: SequenceBatch) -> LossSum:
        loss_sum, metrics = sums(
            model,
            batch.source_ids,
            batch.source_mask,
            batch.target_input_ids,
            batch.target_output_ids,
            batch.target_mask,
        )
        return LossSum(loss_sum, batch.num_target_tokens, metrics)

    return loss


def _plain(
    model: SequenceModel,
    source: Tensor,
    source_mask: Tensor,
    inputs: Tensor,
    outputs: Tensor,
    mask: Tensor,
    smoothing: float,
) -> Sums:
    """Cross-entropy alone (section 5.4 of the paper)."""
    hidden = model.decode(inputs, model.encode(source, source_mask), source_mask)
    projection = model.output_projection
    loss, nll = projected_cross_entropy(hidden, projection.weight, projection.bias, outputs, mask, smoothing=smoothing)
    return loss, {"nll": nll}


def _r_drop(
    model: SequenceModel,
    source: Tensor,
    source_mask: Tensor,
    inputs: Tensor,
    outputs: Tensor,
    mask: Tensor,
    smoothing: float,
    config: RDrop,
) -> Sums:
    """Half of R-Drop's loss (Liang et al., 2021, equation 4), so that one token weighs as much as without it."""
    both_masks = _twice(source_mask)
    first, second = model.decode(_twice(inputs), model.encode(_twice(source), both_masks), both_masks).chunk(2)
    projection, half, quarter = model.output_projection, 0.5, config.weight / 4
    loss, nll, divergence = projected_agreement(
        first,
        second,
        projection.weight,
        projection.bias,
        outputs,
        mask,
        smoothing=smoothing,
        weights=Agreement(half, half, quarter, quarter),
    )
    return loss, {"nll": nll, "divergence": divergence * 2 / config.weight}


def _simcut(
    model: SequenceModel,
    source: Tensor,
    source_mask: Tensor,
    inputs: Tensor,
    outputs: Tensor,
    mask: Tensor,
    smoothing: float,
    config: SimCut,
) -> Sums:
    """SimCut (Gao et al., 2022): KL(full ‖ cut), with gradients through both passes as in the paper."""
    keep_source = torch.cat(
        [torch.ones_like(source_mask), torch.rand_like(source, dtype=torch.float) >= config.cut_rate]
    )
    keep_inputs = torch.cat([torch.ones_like(mask), torch.rand_like(inputs, dtype=torch.float) >= config.cut_rate])
    both_masks = _twice(source_mask)
    memory = model.encode(_twice(source), both_masks, keep_source)
    full, cut = model.decode(_twice(inputs), memory, both_masks, keep_inputs).chunk(2)
    projection = model.output_projection
    loss, nll, divergence = projected_agreement(
        full,
        cut,
        projection.weight,
        projection.bias,
        outputs,
        mask,
        smoothing=smoothing,
        weights=Agreement(1.0, 0.0, config.weight, 0.0),
    )
    return loss, {"nll": nll, "divergence": divergence / config.weight}


def _twice(rows: Tensor) -> Tensor:
    return torch.cat([rows, rows])
