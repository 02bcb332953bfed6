"""The loss of a batch of labelled documents: cross-entropy of each path, with R-Drop or SimCut where wanted.

A classifier's paths (the encoder, the linear one) are trained apart: added before the loss, the one that learns fast
would leave nothing to learn to the other. What is counted are documents. This file knows logits and labels; what a
document is made of it does not know.
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.training import AgreementRegularizer, NoRegularizer, RDrop, SimCut
from heedful.data.batch import LabelledBatch
from heedful.models.classifier import ClassifierModel
from heedful.training.losses.cross_entropy import kl_divergence, label_smoothed_cross_entropy, symmetric_kl_divergence
from heedful.training.losses.loss_module import LossModule, LossSum


class ClassificationLoss(LossModule[LabelledBatch]):
    """Label-smoothed cross-entropy of each path, and from `regularizer.after_steps` on its regulariser."""

    def __init__(self, model: nn.Module, *, label_smoothing: float, regularizer: AgreementRegularizer) -> None:
        super().__init__(model, early_steps=regularizer.after_steps)
        self._smoothing, self._regularizer = label_smoothing, regularizer

    def forward(self, batch: LabelledBatch) -> LossSum:
        """Sum the loss over the batch's documents."""
        model, labels = cast(ClassifierModel, self.model), batch.labels
        match NoRegularizer() if self.is_early else self._regularizer:
            case NoRegularizer():
                paths = model.path_logits(batch.token_ids)
                total = _cross_entropy(paths, labels, self._smoothing)
            case RDrop(weight=weight):
                both = [path.chunk(2) for path in model.path_logits(torch.cat([batch.token_ids] * 2))]
                paths = [first for first, _ in both]
                # Half of the loss of the two passes together, so that a document weighs as much as without R-Drop.
                total = sum(
                    (_cross_entropy([first, second], labels, self._smoothing) / 2 for first, second in both),
                    torch.zeros((), device=labels.device),
                )
                total = total + weight / 2 * _sum_of(symmetric_kl_divergence, both)
            case SimCut(weight=weight, cut_rate=cut_rate):
                is_kept = torch.rand_like(batch.token_ids, dtype=torch.float) >= cut_rate
                keep = torch.cat([torch.ones_like(is_kept), is_kept])
                both = [path.chunk(2) for path in model.path_logits(torch.cat([batch.token_ids] * 2), keep)]
                paths = [full for full, _ in both]
                total = _cross_entropy(paths, labels, self._smoothing) + weight * _sum_of(kl_divergence, both)
        return LossSum(total, batch.num_items, _metrics(model.decide(paths), labels))


def _cross_entropy(paths: list[Tensor], labels: Tensor, smoothing: float) -> Tensor:
    """Sum the loss of logits [batch, classes] over documents and over paths."""
    everywhere = torch.ones_like(labels, dtype=torch.bool)
    losses = [label_smoothed_cross_entropy(path, labels, everywhere, smoothing=smoothing)[0] for path in paths]
    return torch.stack(losses).sum()


def _sum_of(divergence: Callable[[Tensor, Tensor, Tensor], Tensor], pairs: list[tuple[Tensor, ...]]) -> Tensor:
    """Sum a divergence between two passes [batch, classes] over documents and over paths."""
    everywhere = torch.ones(pairs[0][0].size(0), dtype=torch.bool, device=pairs[0][0].device)
    return torch.stack([divergence(first, second, everywhere) for first, second in pairs]).sum()


@torch.no_grad()
def _metrics(logits: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Sum what the decision, logits [batch, classes], costs, and how often it is right."""
    everywhere = torch.ones_like(labels, dtype=torch.bool)
    _, nll = label_smoothed_cross_entropy(logits, labels, everywhere, smoothing=0.0)
    return {"nll": nll, "accuracy": (logits.argmax(dim=-1) == labels).sum()}
