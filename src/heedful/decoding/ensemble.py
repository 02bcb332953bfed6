"""Several models searched as one: their log-probabilities are averaged at every step.

The average of log-probabilities is a geometric mean of probabilities: a token that one model thinks impossible stays
improbable. The members must share a vocabulary; nothing else about them needs to be alike.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from heedful.decoding.protocol import Decodable, go_on
from heedful.errors import UserError


class Ensemble:
    """A `Decodable` made of others. Its state is the list of theirs."""

    def __init__(self, models: Sequence[Decodable[Any]]) -> None:
        if not models:
            raise UserError("An ensemble must have at least 1 model, but has 0.")
        self._models = list(models)

    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = go_on,
    ) -> list[Any]:
        """Start every member on the same sentences, source_ids and source_mask [batch, source_len]."""
        return [
            model.start(source_ids, source_mask, max_rows=max_rows, max_len=max_len, before_layer=before_layer)
            for model in self._models
        ]

    def step(self, state: list[Any], token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Return the mean of the members' log-probabilities, float32 [rows, vocab]; token_ids and parents [rows]."""
        log_probs = [
            model.step(part, token_ids, parents).log_softmax(dim=-1)
            for model, part in zip(self._models, state, strict=True)
        ]
        sizes = {part.size(-1) for part in log_probs}
        if len(sizes) > 1:
            raise UserError(f"The models of an ensemble must share a vocabulary, but have {sorted(sizes)} tokens.")
        return torch.stack(log_probs).mean(dim=0)

    def step_best(
        self, state: list[Any], token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Return the `count` best tokens of the renormalised mean: log-probabilities and ids, both [rows, count]."""
        # A product of distributions does not sum to one; without renormalising, a longer output would pay for it twice.
        log_probs = self.step(state, token_ids, parents).log_softmax(dim=-1)
        best = log_probs.topk(min(count, log_probs.size(-1)), dim=-1)
        return best.values, best.indices
