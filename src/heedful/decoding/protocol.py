"""What a search asks of a model (section 3.1 of the paper: the decoder consumes what it has written so far).

A search moves *rows*: each row is one unfinished output. At every step it hands each row its newest token, says
which earlier row it continues, and gets the distribution of the next token. Caches, attention and the memory of
the encoder are the model's own affair, behind a state the search never looks into.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeGuard, TypeVar

from torch import Tensor

State = TypeVar("State")


def go_on() -> None:
    """Do nothing: nobody wants to stop the search."""


class Decodable(Protocol[State]):
    """A model that can be searched. `models.Transformer` is one, `decoding.Ensemble` another."""

    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = go_on,
    ) -> State:
        """Encode the sentences and make room for at most `max_rows` rows of `max_len` tokens.

        source_ids int64 [batch, source_len], source_mask bool [batch, source_len], True at real tokens.
        At first there is one row for each sentence, in the order of the batch. `before_layer` is called at least once
        before the sentences are read, and wherever reading can be left; what it raises ends the search.
        """

    def step(self, state: State, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Append one token to each row and return the logits of the next one, float32 [rows, vocab].

        token_ids int64 [rows]; parents int64 [rows]: row r goes on from what row parents[r] of the step before had
        written, so that re-ordering, fanning out and leaving the batch are one operation. None means that every row
        stays where it is, which is also so at the first step.
        """

    def step_best(
        self, state: State, token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Do what `step` does, and return only the `count` most probable next tokens, which can be had faster.

        Returns their log-probabilities, float32 [rows, count] in descending order, and their ids, int64 [rows, count]:
        `log_softmax(step(...)).topk(count)`, of equal tokens preferably the lower id first. A vocabulary smaller than
        `count` gives as many columns as it has tokens.
        """


class Extendable(Decodable[State], Protocol[State]):
    """A model that can also read several tokens at once, and forget: what guesses and checks several is built on it.

    A model that has only its present state, as a recurrent one, need not be one.
    """

    def extend(self, state: State, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Append several tokens to each row and return the logits after each, float32 [rows, length, vocab].

        token_ids int64 [rows, length]; parents [rows] as for `step`, which is the case of length 1. The logits are
        those that as many steps would have given.
        """

    def extend_best(
        self, state: State, token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Do what `extend` does, and return only the `count` most probable tokens after each, as `step_best` does.

        token_ids int64 [rows, length]; returns log-probabilities and ids, [rows, length, candidates] each.
        """

    def rewind(self, state: State, lengths: Tensor) -> None:
        """Let every row forget what it has written beyond its first lengths[r] tokens, lengths int64 [rows].

        Rows may then be of different lengths, each with its own positions, as if nothing more had ever been written.
        """


def can_forget(model: Decodable[Any]) -> TypeGuard[Extendable[Any]]:
    """Say whether a model is `Extendable`."""
    return callable(getattr(model, "rewind", None))
