"""Several models searched as one: their log-probabilities are averaged at every step.

The average of log-probabilities is a geometric mean of probabilities: a token that one model thinks impossible stays
improbable. The members must share a vocabulary; nothing else about them needs to be alike. An ensemble can be extended
and rewound when its members can.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from heedful.decoding.protocol import Decodable, go_on
from heedful.errors import UserError


class Ensemble:
    """A `Decodable` made of others, and an `Extendable` made of such. Its state is the list of theirs."""

    def __init__(self, models: Sequence[Decodable[Any]]) -> None:
        if not models:
            raise UserError("An ensemble must have at least 1 model, but has 0.")
        self.models = list(models)

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
            for model in self.models
        ]

    def step(self, state: list[Any], token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Return the mean of the members' log-probabilities, float32 [rows, vocab]; token_ids and parents [rows]."""
        return _mean([model.step(part, token_ids, parents) for model, part in self._members(state)])

    def step_best(
        self, state: list[Any], token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Return the `count` best tokens of the renormalised mean: log-probabilities and ids, both [rows, count]."""
        return _best(self.step(state, token_ids, parents), count)

    def extend(self, state: list[Any], token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Do what `step` does for token_ids [rows, length], if all members can; returns [rows, length, vocab]."""
        return _mean([model.extend(part, token_ids, parents) for model, part in self._members(state)])

    def extend_best(
        self, state: list[Any], token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Do what `step_best` does for token_ids [rows, length]; returns both [rows, length, candidates]."""
        return _best(self.extend(state, token_ids, parents), count)

    def rewind(self, state: list[Any], lengths: Tensor) -> None:
        """Let every member forget what its rows have written beyond lengths [rows]."""
        for model, part in self._members(state):
            model.rewind(part, lengths)

    def _members(self, state: list[Any]) -> Iterable[tuple[Any, Any]]:
        return zip(self.models, state, strict=True)


def _mean(logits: Sequence[Tensor]) -> Tensor:
    """Average the log-probabilities of several models, float32 [rows, vocab] or [rows, length, vocab] each."""
    sizes = {part.size(-1) for part in logits}
    if len(sizes) > 1:
        raise UserError(f"The models of an ensemble must share a vocabulary, but have {sorted(sizes)} tokens.")
    return torch.stack([part.log_softmax(dim=-1) for part in logits]).mean(dim=0)


def _best(mean: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` best of each distribution in mean [rows, vocab] or [rows, length, vocab]."""
    # A product of distributions does not sum to one; without renormalising, a longer output would pay for it twice.
    log_probs = mean.log_softmax(dim=-1)
    best = log_probs.topk(min(count, log_probs.size(-1)), dim=-1)
    return best.values, best.indices
