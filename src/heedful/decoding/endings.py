"""What a beam search has written and where it ended: back-pointers, and the list of finished hypotheses.

A step of the search only notes which row each row continues. Tokens are read back, from the last to the first, for the
few hypotheses that are returned in the end and not for the many that were finished on the way.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.decoding.hypothesis import FinishReason, Hypothesis, finish


@dataclass(frozen=True, slots=True)
class Written:
    """What one step wrote: the newest token of every row, and the row of the step before that it continues."""

    token_ids: NDArray[np.int64]  # int64 [rows]
    token_log_probs: NDArray[np.float32]  # float32 [rows]
    parents: NDArray[np.int64]  # int64 [rows]


def trace(history: Sequence[Written], row: int) -> tuple[list[int], list[float]]:
    """Follow the back-pointers of `row` and return its tokens and their log-probabilities, first token first."""
    token_ids, log_probs = [], []
    for written in reversed(history):
        token_ids.append(written.token_ids.item(row))
        log_probs.append(written.token_log_probs.item(row))
        row = written.parents.item(row)
    return token_ids[::-1], log_probs[::-1]


@dataclass(frozen=True, slots=True)
class Ending:
    """A finished hypothesis as long as it may still be overtaken: where it ended, not yet what it says."""

    score: float
    num_steps: int  # steps written before the last token
    row: int  # of the last of those steps
    last_id: int
    last_log_prob: float
    reason: FinishReason


class Finished:
    """The endings found so far for each sentence of the call: the one thing that changes as the search goes on."""

    def __init__(self, batch: int, *, n_best: int, length_penalty: float) -> None:
        self.count = np.zeros(batch, dtype=np.int64)  # int64 [batch]: endings found
        self.to_beat = np.full(batch, -math.inf)  # float64 [batch]: score of the n_best-th; -inf while there are fewer
        self.best_score = np.full(batch, -math.inf)  # float64 [batch]: -inf while there is none
        self._n_best = n_best
        self._length_penalty = length_penalty
        self._found: list[list[Ending]] = [[] for _ in range(batch)]
        self._errors: dict[int, Hypothesis] = {}

    def add(self, sentence: int, ending: Ending) -> None:
        """Add one ending of a sentence."""
        found = self._found[sentence]
        found.append(ending)
        self.count[sentence] = len(found)
        self.best_score[sentence] = max(self.best_score[sentence], ending.score)
        if len(found) >= self._n_best:
            self.to_beat[sentence] = sorted(other.score for other in found)[-self._n_best]

    def fail(self, sentence: int, history: Sequence[Written], row: int) -> None:
        """End a sentence with what `row` had written; whatever else was found does not count."""
        self._errors[sentence] = finish(*trace(history, row), "error", length_penalty=self._length_penalty)

    def best(self, history: Sequence[Written]) -> list[list[Hypothesis]]:
        """Read the n_best of each sentence out of the history, best first; of equal ones the one found first."""
        return [
            [self._errors[sentence]]
            if sentence in self._errors
            else [
                self._read(ending, history)
                for ending in sorted(found, key=lambda it: it.score, reverse=True)[: self._n_best]
            ]
            for sentence, found in enumerate(self._found)
        ]

    def _read(self, ending: Ending, history: Sequence[Written]) -> Hypothesis:
        token_ids, log_probs = trace(history[: ending.num_steps], ending.row)
        if ending.reason == "length":
            token_ids.append(ending.last_id)
        return finish(token_ids, [*log_probs, ending.last_log_prob], ending.reason, length_penalty=self._length_penalty)
