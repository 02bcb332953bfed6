"""What a search returns: one output, how probable it is, and why it ended."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from heedful.decoding.length_penalty import penalty_of

FinishReason = Literal["eos", "length", "error"]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output of a search."""

    token_ids: list[int]
    """The tokens, without the start and end symbols; a forced prefix is part of them."""

    log_prob: float
    """Logarithm of the output's probability: the sum of `token_log_probs`."""

    score: float
    """`log_prob` divided by the length penalty; hypotheses are compared by it."""

    finish_reason: FinishReason
    """"eos": the model ended it; "length": the cap did; "error": the model had no usable distribution left (NaN)."""

    token_log_probs: list[float]
    """One log-probability for each token, and one more for the end symbol when the reason is "eos"."""


def finish(
    token_ids: Sequence[int], token_log_probs: Sequence[float], reason: FinishReason, *, length_penalty: float
) -> Hypothesis:
    """Make a hypothesis of the tokens written so far and score it."""
    # Added from left to right, as the searches do while they go, so that equal outputs have bit-equal scores. Not by
    # `sum`, which since Python 3.12 corrects for rounding.
    log_prob = reduce(operator.add, token_log_probs, 0.0)
    score = log_prob / penalty_of(len(token_log_probs), length_penalty)
    return Hypothesis(list(token_ids), log_prob, score, reason, list(token_log_probs))
