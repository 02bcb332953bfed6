"""Writing all positions at once: one pass of the model, and what its positions say is collapsed to an output.

A `Generator` for models that have `write`. Where a request needs steps (alternatives, a forced beginning, terms,
sampling, a recorder) the same model is searched step by step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from heedful.decoding.generation import Stepwise
from heedful.decoding.hypothesis import Hypothesis, finish
from heedful.decoding.protocol import Decodable
from heedful.decoding.request import SearchRequest


class ParallelWriter(Decodable[Any], Protocol):
    """A model that writes all positions in one pass, and can also be searched."""

    blank_id: int
    """What a position says that writes nothing; a token that several positions in a row say is written once."""

    def write(
        self, source_ids: Tensor, source_mask: Tensor, *, forbidden_ids: Sequence[int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the best token of every position, its log-probability, and which are real, [batch, length] each.

        source_ids int64 and source_mask bool [batch, source_len]; of `forbidden_ids` none is written, but the blank.
        """


Fate = Literal["written", "repeat", "blank", "end", "unread"]
"""What a position comes to: a token, more of the token before, nothing, the end, or nothing because of the end."""


def fates_of(token_ids: Sequence[int], blank_id: int, eos_id: int, cap: int) -> list[Fate]:
    """Say what becomes of each position of a row when it is collapsed to at most `cap` tokens."""
    fates: list[Fate] = []
    said, num_written, is_over = blank_id, 0, False
    for token in token_ids:
        if is_over:
            fates.append("unread")
        elif token == blank_id:
            fates.append("blank")
        elif token == said:
            fates.append("repeat")
        elif token == eos_id or num_written == cap:
            fates.append("end")
            is_over = True
        else:
            fates.append("written")
            num_written += 1
        said = token
    return fates


@dataclass(frozen=True)
class Parallel:
    """A `Generator` that has its model write everything at once."""

    model: ParallelWriter

    @torch.inference_mode()
    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Write outputs of source_ids where source_mask, both [batch, source_len]."""
        request.check_batch(len(source_ids))
        if not request.max_lengths:
            return []
        if needs_steps(request):
            return Stepwise(self.model).generate(source_ids, source_mask, request)
        request.before_step()
        written = self.model.write(source_ids, source_mask, forbidden_ids=request.forbidden_ids)
        rows = zip(*(part.tolist() for part in written), request.max_lengths, strict=True)
        found = [self._collapsed(ids, log_probs, real, cap, request) for ids, log_probs, real, cap in rows]
        if request.on_tokens is not None:
            for number, hypothesis in enumerate(found):
                request.on_tokens(number, hypothesis.token_ids)
        return [[hypothesis] for hypothesis in found]

    def _collapsed(
        self, ids: list[int], log_probs: list[float], real: list[bool], cap: int, request: SearchRequest
    ) -> Hypothesis:
        """Make an output of one row; the log-probabilities of its positions add up to that of the output.

        A token has those of its own positions and of the blanks before it; what comes after it belongs to the end.
        """
        tokens: list[int] = []
        token_log_probs: list[float] = []
        waiting = 0.0
        fates = fates_of(ids[: sum(real)], self.model.blank_id, request.eos_id, cap)
        for fate, token, log_prob in zip(fates, ids, log_probs, strict=False):
            if fate == "written":
                tokens.append(token)
                token_log_probs.append(waiting + log_prob)
                waiting = 0.0
            elif fate == "repeat":
                token_log_probs[-1] += log_prob
            elif fate != "unread":
                waiting += log_prob
        if len(tokens) == cap:
            return finish(tokens, token_log_probs, "length", length_penalty=request.length_penalty)
        return finish(tokens, [*token_log_probs, waiting], "eos", length_penalty=request.length_penalty)


def needs_steps(request: SearchRequest) -> bool:
    """Say whether what is asked for is found step by step only."""
    return (
        request.n_best > 1
        or request.way is not None
        or request.terms is not None
        or request.prefix_ids is not None
        or request.recorder is not None
        or request.min_length > 0
    )
