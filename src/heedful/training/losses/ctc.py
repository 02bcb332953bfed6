"""Connectionist temporal classification (Graves et al., 2006), with or without glancing (Qian et al., 2021).

The probability of a target is that of all sequences of positions that collapse to it. The sum over them and the best
one are recurrences over positions, written with tensors of the whole batch and nothing that asks the host, so that a
step can be recorded. PyTorch's own loss gives the same numbers; a test holds them equal.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from heedful.config.training import Glancing, NoRegularizer
from heedful.data.batch import Batch
from heedful.models.nonautoregressive import CtcModel
from heedful.training.losses.loss_module import LossModule, LossSum

_IMPOSSIBLE = -1e9
_HARDLY = -1e8


class CtcLoss(LossModule[Batch]):
    """The negative log-probability of targets under a CTC model; it takes no label smoothing."""

    def __init__(self, model: nn.Module, regularizer: NoRegularizer | Glancing) -> None:
        super().__init__(model, early_steps=regularizer.after_steps)
        self._glancing = regularizer if isinstance(regularizer, Glancing) else None

    def forward(self, batch: Batch) -> LossSum:
        """Sum the loss over the batch's target tokens; a target that does not fit its positions adds nothing."""
        model, source_mask = cast(CtcModel, self.model), batch.source_mask
        shown = None
        if self._glancing is not None and self.training and not self.is_early:
            shown = _glance(model, batch, self._glancing.rate)
        states, real = model.hidden(batch.source_ids, source_mask, shown)
        log_probs = model.project(states).float().log_softmax(dim=-1)  # [batch, length, vocab]
        found = log_likelihood(_emitted(log_probs, real, batch.target_output_ids, batch.target_mask, model.blank_id))
        fits = found > _HARDLY
        loss = -found.where(fits, 0.0).sum()
        metrics = {"nll": loss.detach(), "too_long": (~fits).sum().detach()}
        return LossSum(loss, batch.num_items, metrics)


class Emitted(NamedTuple):
    """A target with blanks around its tokens, and what every position thinks of each of these labels."""

    log_probs: Tensor
    """[batch, length, classes], the classes being the labels of the target."""

    label_ids: Tensor
    """[batch, classes]."""

    may_skip: Tensor
    """True where the blank before a label may be left out, [batch, classes]."""

    last: Tensor
    """The number of the last label that is a token, [batch]."""


def _emitted(log_probs: Tensor, real: Tensor, target_ids: Tensor, target_mask: Tensor, blank_id: int) -> Emitted:
    """Look up what log_probs [batch, length, vocab] say of the labels of target_ids [batch, target_len].

    Positions that are not real, real [batch, length], say blank for sure; target_mask is [batch, target_len].
    """
    batch, target_len = target_ids.shape
    labels = target_ids.new_full((batch, 2 * target_len + 1), blank_id)
    labels[:, 1::2] = target_ids.masked_fill(~target_mask, blank_id)
    found = log_probs.gather(2, labels.unsqueeze(1).expand(-1, log_probs.size(1), -1))
    is_blank = labels == blank_id
    padding = torch.zeros_like(is_blank, dtype=found.dtype).masked_fill(~is_blank, _IMPOSSIBLE).unsqueeze(1)
    found = torch.where(real.unsqueeze(-1), found, padding)
    differs = torch.zeros_like(is_blank)
    differs[:, 2:] = labels[:, 2:] != labels[:, :-2]
    return Emitted(found, labels, differs & ~is_blank, 2 * target_mask.sum(dim=1) - 1)


def _moved(scores: Tensor, by: int) -> Tensor:
    """Return scores [batch, classes], each taken from `by` labels before."""
    filler = torch.full_like(scores[:, :by], _IMPOSSIBLE)
    return torch.cat([filler, scores[:, :-by]], dim=1)


def _first(emitted: Emitted) -> Tensor:
    start = torch.full_like(emitted.log_probs[:, 0], _IMPOSSIBLE)
    start[:, :2] = 0.0
    return start + emitted.log_probs[:, 0]


def log_likelihood(emitted: Emitted) -> Tensor:
    """Sum over all sequences of positions that collapse to the target: log-probabilities [batch]."""
    sums = _first(emitted)  # [batch, classes]
    skips = torch.zeros_like(sums).masked_fill(~emitted.may_skip, _IMPOSSIBLE)
    for place in range(1, emitted.log_probs.size(1)):
        ways = torch.stack([sums, _moved(sums, 1), _moved(sums, 2) + skips])
        sums = (ways.logsumexp(dim=0) + emitted.log_probs[:, place]).clamp(min=_IMPOSSIBLE)
    ends = torch.stack([emitted.last, emitted.last + 1], dim=1)
    return sums.gather(1, ends).logsumexp(dim=1)


def best_path(emitted: Emitted) -> Tensor:
    """Return what each position says in the best sequence that collapses to the target: ids [batch, length]."""
    best = _first(emitted)
    skips = torch.zeros_like(best).masked_fill(~emitted.may_skip, _IMPOSSIBLE)
    steps = []
    for place in range(1, emitted.log_probs.size(1)):
        best, step = torch.stack([best, _moved(best, 1), _moved(best, 2) + skips]).max(dim=0)
        best = (best + emitted.log_probs[:, place]).clamp(min=_IMPOSSIBLE)
        steps.append(step)
    ends = torch.stack([emitted.last, emitted.last + 1], dim=1)
    label = ends.gather(1, best.gather(1, ends).argmax(dim=1, keepdim=True))  # [batch, 1]
    path = [label]
    for step in reversed(steps):
        label = (label - step.gather(1, label)).clamp(min=0)
        path.append(label)
    return emitted.label_ids.gather(1, torch.cat(path[::-1], dim=1))


@torch.no_grad()
def _glance(model: CtcModel, batch: Batch, rate: float) -> tuple[Tensor, Tensor]:
    """Choose what is shown: of the positions that a first pass gets wrong, the share `rate`, anywhere in the sentence.

    Returns token ids and where they are shown, [batch, length] each.
    """
    states, real = model.hidden(batch.source_ids, batch.source_mask)
    log_probs = model.project(states).float().log_softmax(dim=-1)
    path = best_path(_emitted(log_probs, real, batch.target_output_ids, batch.target_mask, model.blank_id))
    num_wrong = ((log_probs.argmax(dim=-1) != path) & real).sum(dim=1, keepdim=True)
    share = rate * num_wrong / real.sum(dim=1, keepdim=True).clamp(min=1)
    return path, (torch.rand_like(share.expand_as(path)) < share) & real
