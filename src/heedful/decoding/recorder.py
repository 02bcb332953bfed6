"""What a beam search tells a listener at each step: enough to draw the tree of everything it considered.

A recorder costs nothing when there is none. Lines of the arrays are the sentences still being searched.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One step of a beam search.

    A candidate extends the hypothesis in one slot of the beam by one token. Slots are numbered as `next_slots` of the
    step before numbered them; before the first step each sentence has the one slot 0, which holds the start symbol.
    """

    step: int
    """Position that is written, from 0."""

    sentences: NDArray[np.int64]
    """[batch]: index in the call's batch of each sentence that is still searched."""

    token_ids: NDArray[np.int64]
    """[batch, candidates]: the token each candidate appends, best candidate first."""

    token_log_probs: NDArray[np.float64]
    """[batch, candidates]: log-probability of that token."""

    log_probs: NDArray[np.float64]
    """[batch, candidates]: log-probability of the whole candidate; -inf marks one that is not there."""

    parent_slots: NDArray[np.int64]
    """[batch, candidates]: the slot each candidate extends."""

    is_finished: NDArray[np.bool_]
    """[batch, candidates]: True where the candidate became a finished hypothesis at this step."""

    next_slots: NDArray[np.int64]
    """[batch, candidates]: the slot the candidate has from now on, or -1 when it is finished or dropped."""

    is_done: NDArray[np.bool_]
    """[batch]: True where the search for the sentence ends with this step."""

    is_given: NDArray[np.bool_] | None = None
    """[batch, candidates]: True where the token begins a term that was asked for, or goes on with one; None where there
    are no terms."""

    def of(self, lines: NDArray[np.bool_], sentences: NDArray[np.int64]) -> "BeamStep":
        """Return some of the lines [batch], of sentences that the call knows by other numbers, [all sentences]."""
        arrays = {name: value[lines] for name, value in self.arrays().items()}
        return replace(self, **{**arrays, "sentences": sentences[arrays["sentences"]]})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that has a line for each sentence, by name."""
        named = {it.name: getattr(self, it.name) for it in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}


class Recorder(Protocol):
    """Listens to a beam search."""

    def on_step(self, step: BeamStep) -> None:
        """Take note of one step; the arrays belong to the listener."""


class StepList:
    """The plain recorder: keeps every step, in order."""

    def __init__(self) -> None:
        self.steps: list[BeamStep] = []

    def on_step(self, step: BeamStep) -> None:
        """Keep the step."""
        self.steps.append(step)
