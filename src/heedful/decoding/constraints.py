"""What may be written: symbols that are never emitted, a least length, and a forced beginning.

Every search takes its distributions through here, so that the three rules mean the same in all of them. Forbidden
tokens lose their place but keep their probability: log-probabilities stay the model's own and are not renormalised.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.protocol import Decodable, State
from heedful.decoding.request import SearchRequest

Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]

FREE = -1  # in a tensor of forced tokens: this row may choose


class Constraints:
    """The rules of a request, ready to be applied on a device."""

    def __init__(self, request: SearchRequest, device: torch.device) -> None:
        self._prefixes = request.prefix_ids or ()
        self.forced_steps = max(
            map(len, self._prefixes), default=0
        )  # from 0 on, in which some row must write something
        self._min_length = request.min_length
        forbidden = set(request.forbidden_ids)
        self._forbidden = torch.tensor(sorted(forbidden), dtype=torch.long, device=device)
        self._forbidden_early = torch.tensor(sorted({*forbidden, request.eos_id}), dtype=torch.long, device=device)
        self._is_forbidden = _lookup(self._forbidden)
        self._is_forbidden_early = _lookup(self._forbidden_early)
        # Each forbidden token may stand before the ones that are wanted, so as many more are asked for.
        self.spare = len(self._forbidden_early) if request.min_length else len(self._forbidden)

    def best(
        self,
        model: Decodable[State],
        state: State,
        token_ids: Tensor,
        parents: Tensor | None,
        *,
        step: int,
        sentences: Sequence[int],
        count: int,
    ) -> tuple[Tensor, Tensor]:
        """Advance the model and return at least the `count` best tokens that may be written at `step`.

        Returns log-probabilities float32 [rows, candidates] and ids int64 [rows, candidates]; what may not be written
        has -inf. `sentences` gives the sentence of the batch that each of the rows [rows] belongs to.
        """
        if step < self.forced_steps:
            return self.best_or_forced(model.step(state, token_ids, parents), step, sentences, count)
        log_probs, ids = model.step_best(state, token_ids, parents, count=count + self.spare)
        if not self.spare:
            return log_probs, ids
        if not self._is_harmless(ids, step):
            is_forbidden = (ids.unsqueeze(-1) == self._forbidden_at(step)).any(dim=-1)  # [rows, candidates]
            log_probs = log_probs.masked_fill(is_forbidden, -math.inf)
        elif count == 1:  # the best of all is allowed, and greedy search need not look for it
            return log_probs[:, :1], ids[:, :1]
        return log_probs, ids

    def best_or_forced(self, logits: Tensor, step: int, sentences: Sequence[int], count: int) -> tuple[Tensor, Tensor]:
        """Return what each row must write, or of logits [rows, vocab] the best; [rows, candidates] as `best` does."""
        forced = self._forced_at(step, sentences, logits.device)  # [rows]
        is_forced = forced != FREE
        ids = forced.clamp(min=0).unsqueeze(1)  # [rows, 1]
        log_probs = logits.gather(1, ids) - logits.logsumexp(dim=1, keepdim=True)
        if bool(is_forced.all()):
            return log_probs, ids
        free = (~is_forced).nonzero().squeeze(1)
        allowed = logits[free].log_softmax(dim=-1).index_fill_(1, self._forbidden_at(step), -math.inf)
        values, best = _ordered(allowed, count)  # [rows, candidates]
        all_values = values.new_full((len(logits), values.size(1)), -math.inf)
        all_ids = ids.expand(-1, values.size(1)).clone()
        all_values[:, :1] = log_probs
        all_values[free], all_ids[free] = values, best
        return all_values, all_ids

    def distribution(
        self,
        model: Decodable[State],
        state: State,
        token_ids: Tensor,
        parents: Tensor | None,
        *,
        step: int,
        sentences: Sequence[int],
    ) -> Tensor:
        """Advance the model and return all log-probabilities, float32 [rows, vocab], -inf for what may not be."""
        return self.allowed_of(model.step(state, token_ids, parents), step, sentences)

    def allowed_of(self, logits: Tensor, step: int, sentences: Sequence[int]) -> Tensor:
        """Return the log-probabilities of logits [rows, vocab] at `step`, [rows, vocab], -inf for what may not be."""
        log_probs = logits.log_softmax(dim=-1)
        allowed = log_probs.index_fill(1, self._forbidden_at(step), -math.inf)
        if step < self.forced_steps:
            forced = self._forced_at(step, sentences, log_probs.device).unsqueeze(1)  # [rows, 1]
            index = forced.clamp(min=0)
            only = torch.full_like(log_probs, -math.inf).scatter(1, index, log_probs.gather(1, index))
            allowed = torch.where(forced == FREE, allowed, only)
        return allowed

    def best_of(self, log_probs: Floats32, ids: Integers, steps: Integers) -> tuple[Floats32, Integers]:
        """Choose the best that may be written where steps [rows, length] are beyond what is forced.

        log_probs and ids [rows, length, candidates] are the model's, in descending order and `spare` more than one.
        Returns the log-probability and the id of each, [rows, length]; -inf where nothing may be written.
        """
        is_forbidden = self._is_forbidden.take(ids, mode="clip")
        if (steps < self._min_length).any():
            early = self._is_forbidden_early.take(ids, mode="clip")
            is_forbidden = np.where(steps[:, :, None] < self._min_length, early, is_forbidden)
        if not is_forbidden[:, :, 0].any():
            return log_probs[:, :, 0], ids[:, :, 0]
        first = is_forbidden.argmin(axis=2)[:, :, None]  # of the best, which come first, the first that may be
        best = np.where(is_forbidden, np.float32(-math.inf), log_probs)
        return np.take_along_axis(best, first, 2)[:, :, 0], np.take_along_axis(ids, first, 2)[:, :, 0]

    def _forbidden_at(self, step: int) -> Tensor:
        return self._forbidden_early if step < self._min_length else self._forbidden

    def _is_harmless(self, ids: Tensor, step: int) -> bool:
        """Say whether nothing among the ids [rows, candidates] is forbidden, as mostly; asking a GPU costs too much."""
        if ids.device.type != "cpu":
            return False
        lookup = self._is_forbidden_early if step < self._min_length else self._is_forbidden
        return not lookup.take(ids.numpy(), mode="clip").any()

    def _forced_at(self, step: int, sentences: Sequence[int], device: torch.device) -> Tensor:
        prefixes = (self._prefixes[sentence] for sentence in sentences)
        return torch.tensor([prefix[step] if step < len(prefix) else FREE for prefix in prefixes], device=device)


def _ordered(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the best of log_probs [rows, vocab] and their ids, [rows, count] each; of equal ones the lower id first.

    `topk` orders equal tokens at random, but a neighbour's prefix must not change a choice; sorting all takes longer.
    """
    best = log_probs.topk(min(count, log_probs.size(1)), dim=-1)
    last = best.values[:, -1:]  # what has as much as the last may be outside as well
    if bool(((log_probs >= last).sum(dim=-1, keepdim=True) > best.values.size(1)).logical_and(last > -math.inf).any()):
        ordered = log_probs.sort(dim=-1, descending=True, stable=True)
        return ordered.values[:, :count], ordered.indices[:, :count]
    ids = best.indices.sort(dim=-1).values
    ordered = log_probs.gather(1, ids).sort(dim=-1, descending=True, stable=True)
    return ordered.values, ids.gather(1, ordered.indices)


def _lookup(forbidden: Tensor) -> NDArray[np.bool_]:
    """Make a table that is True at the forbidden ids; its last entry, False, stands for all ids beyond."""
    ids = forbidden.tolist()
    table = np.zeros(max(ids, default=-1) + 2, dtype=np.bool_)
    table[ids] = True
    return table
