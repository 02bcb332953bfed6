"""The loss of a model with fertilities (Gu et al., 2018, section 3.3), and what a teacher adds when it is fine-tuned.

At first two cross-entropies: of the fertilities that an aligner found, and of the target given them. Fine-tuning adds
that the model's words shall be a teacher's: the divergence of its distributions from those of the teacher, who reads
what the model writes. With the aligner's fertilities it has a gradient; of fertilities that the model draws itself it
says how well they were drawn, and REINFORCE makes the better ones more probable, compared with the model's own mean
fertilities. Shapes are those of the batch and nothing asks the host, so that a step can be recorded.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from heedful.config.training import NoRegularizer, Teacher
from heedful.data.batch import Batch, FertilityBatch
from heedful.models.fertilities import copied_places
from heedful.models.fertility import FertilityModel, average
from heedful.models.interfaces import EncoderDecoder
from heedful.training.losses.loss_module import LossModule, LossSum
from heedful.training.losses.projected import projected_cross_entropy

_FURTHER = 8
"""Positions by which an output of drawn fertilities may be longer than the longest target; what is longer is cut."""


class FertilityLoss(LossModule[Batch]):
    """Cross-entropy of fertilities and tokens; from `regularizer.after_steps` on a teacher's share of it."""

    def __init__(
        self,
        model: nn.Module,
        *,
        label_smoothing: float,
        regularizer: NoRegularizer | Teacher,
        teacher: EncoderDecoder | None = None,
    ) -> None:
        super().__init__(model, early_steps=regularizer.after_steps)
        self._smoothing = label_smoothing
        self._weight = regularizer.weight if isinstance(regularizer, Teacher) else 0.0
        self._teacher = (teacher,)  # in a tuple it is no part of this module: nobody trains, saves or drops it out

    def forward(self, batch: Batch) -> LossSum:
        """Sum the loss over the batch's target tokens; without an aligner's fertilities by the most probable ones."""
        model, source_mask = cast(FertilityModel, self.model), batch.source_mask
        memory = model.encode(batch.source_ids, source_mask)
        log_probs = model.fertility_log_probs(memory, source_mask)  # [batch, source_len, classes]
        target_len = batch.target_output_ids.size(1)
        if isinstance(batch, FertilityBatch):
            fertilities = batch.fertilities
        else:
            lengths = batch.target_mask.sum(dim=1)
            fertilities = model.fertilities_of_length(memory, source_mask, lengths, target_len)
        fertility_nll = -log_prob_of(log_probs, fertilities).sum()
        places, _ = copied_places(fertilities, target_len)
        hidden = model.refine(memory, source_mask, places, batch.target_mask)[-1]
        projection = model.output_projection
        loss, nll = projected_cross_entropy(
            hidden, projection.weight, projection.bias, batch.target_output_ids, batch.target_mask,
            smoothing=self._smoothing,
        )  # fmt: skip
        loss = loss + fertility_nll
        metrics = {"nll": nll, "fertility_nll": fertility_nll.detach()}
        (teacher,) = self._teacher
        if teacher is None or not self.training or self.is_early:
            return LossSum(loss, batch.num_items, metrics)
        judge = _Judge(model, teacher, batch, memory, source_mask)
        divergence = judge.divergence(hidden, batch.target_mask).sum()
        policy = judge.policy_loss(log_probs)
        metrics |= {"divergence": divergence.detach(), "policy": policy.detach()}
        loss = (1 - self._weight) * loss + self._weight * (divergence + policy)
        return LossSum(loss, batch.num_items, metrics)


class _Judge(NamedTuple):
    """What is asked when a teacher judges a batch: memory [batch, source_len, dim] is the model's."""

    model: FertilityModel
    teacher: EncoderDecoder
    batch: Batch
    memory: Tensor
    source_mask: Tensor

    def divergence(self, hidden: Tensor, real: Tensor) -> Tensor:
        """Say how far the model's words are from the teacher's: Σ KL(model ‖ teacher), [batch].

        hidden [batch, length, dim] where real [batch, length]. The teacher reads what the model writes.
        """
        log_probs = self.model.project(hidden).float().log_softmax(dim=-1)  # [batch, length, vocab]
        with torch.no_grad():
            written = log_probs.argmax(dim=-1).masked_fill(~real, self.batch.pad_id)
            inputs = torch.cat([self.batch.target_input_ids[:, :1], written[:, :-1]], dim=1)
            judged = self.teacher(self.batch.source_ids, self.source_mask, inputs).float().log_softmax(dim=-1)
        each: Tensor = (log_probs.exp() * (log_probs - judged)).sum(dim=-1)  # [batch, length]
        return each.masked_fill(~real, 0.0).sum(dim=1)

    def policy_loss(self, log_probs: Tensor) -> Tensor:
        """Make good draws of fertilities more probable, log_probs [batch, source_len, classes]; a scalar."""
        with torch.no_grad():
            uniform = torch.rand_like(log_probs).clamp(1e-12, 1 - 1e-7)
            drawn = (log_probs - (-uniform.log()).log()).argmax(dim=-1)  # [batch, source_len]
            excess = self._cost(drawn) - self._cost(average(log_probs))  # [batch]
        return (excess * log_prob_of(log_probs, drawn).sum(dim=1)).sum()

    def _cost(self, fertilities: Tensor) -> Tensor:
        """Return the divergence of outputs by fertilities [batch, source_len]: [batch]."""
        places, real = copied_places(fertilities, self.batch.target_output_ids.size(1) + _FURTHER)
        return self.divergence(self.model.refine(self.memory, self.source_mask, places, real)[-1], real)


def log_prob_of(log_probs: Tensor, fertilities: Tensor) -> Tensor:
    """Return the log-probability of each of fertilities [batch, source_len], the same shape.

    log_probs [batch, source_len, classes]. A fertility beyond the largest that the model knows counts as that one.
    """
    known = fertilities.clamp(max=log_probs.size(-1) - 1)
    return log_probs.gather(-1, known.unsqueeze(-1)).squeeze(-1)
