"""Guessing what will be written next: what those who guess are asked, and one who guesses by looking things up.

A guess costs nothing but time: the model checks it (speculative.py, running_ahead.py), so a drafter may be as bad as it
likes. Nothing here knows how it is checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from heedful.decoding.protocol import Extendable, State

NOTHING = -1  # in guesses: nothing is guessed here, nor after it


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What is known where the next tokens are to be guessed. Row r of all of it is one output."""

    state: Any
    """The model's, in which the newest tokens are not appended yet."""

    token_ids: Tensor
    """int64 [rows]: the newest token of each."""

    parents: Tensor | None
    """int64 [rows]: the row of `state` that each goes on from; None: row r."""

    written: Sequence[Sequence[int]]
    """[rows] lists: all its tokens, the newest too; none at the beginning, where the newest is the start symbol."""

    sources: Sequence[Sequence[int]]
    """[rows] lists: what it translates."""


class Drafter(Protocol):
    """Whatever guesses."""

    def propose(self, rows: Unfinished, count: int) -> Tensor:
        """Guess at most `count` tokens to follow each row, int64 [rows, length]; `NOTHING` where there is no guess."""


class Guessing(Extendable[State], Protocol[State]):
    """A model that has something beside it that guesses what it will write, from what it has just computed."""

    def guess(self, state: State, token_ids: Tensor, parents: Tensor | None, *, count: int) -> Tensor:
        """Guess what `count` tokens will follow token_ids [rows], which are about to be appended; parents as in `step`.

        Nothing is appended. Returns ids int64 [rows, length], at most `count` for each; `NOTHING` where there is none.
        """


@dataclass(frozen=True)
class OwnGuesses:
    """A `Drafter`: the model's own."""

    model: Guessing[Any]

    def propose(self, rows: Unfinished, count: int) -> Tensor:
        """Ask the model, [rows, length]; before it has computed anything there is nothing to go on from."""
        if not rows.written[0]:
            return rows.token_ids.new_empty(len(rows.token_ids), 0)
        return self.model.guess(rows.state, rows.token_ids, rows.parents, count=count)


@dataclass(frozen=True)
class Lookup:
    """A `Drafter` that needs no model: names, numbers and repetitions are often written as they stood before.

    It looks for the last `context` tokens in what is translated and in what is written, and goes on as that did.
    """

    context: int = 2

    def propose(self, rows: Unfinished, count: int) -> Tensor:
        """Look up what followed the same tokens, in the source and then in the output: [rows, length]."""
        found = [
            _following(written, source, self.context, count)
            for written, source in zip(rows.written, rows.sources, strict=True)
        ]
        width = max(map(len, found))
        lists = [[*guess, *[NOTHING] * (width - len(guess))] for guess in found]
        return torch.tensor(lists, dtype=torch.int64, device=rows.token_ids.device).view(len(found), width)


def _following(written: Sequence[int], source: Sequence[int], context: int, count: int) -> Sequence[int]:
    """Return at most `count` tokens that followed the last `context` tokens where they last stood before."""
    if len(written) < context:
        return ()
    newest = list(written[-context:])
    for text, last in ((source, len(source)), (written, len(written) - 1)):
        for end in range(last, context - 1, -1):
            if list(text[end - context : end]) == newest:
                return text[end : end + count]
    return ()
