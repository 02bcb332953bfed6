"""How a search has its sentences read: by the model, or not again, where they were read for a search before it.

Reading takes as long as writing with a model whose encoder is deep and whose decoder is not. Searches for the same
sentences that follow one another share a `KeptReading`, if the model can begin again with what it has read.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from heedful.decoding.protocol import Decodable, State, go_on


class Rereadable(Decodable[State], Protocol[State]):
    """A model whose state can begin again."""

    def restart(self, state: State, sentences: Tensor) -> None:
        """Forget all that was written, and give each of sentences [rows], numbers in what was read, an empty row."""


class KeptReading:
    """What was read for the first of several searches. Only one of them is at work at a time."""

    def __init__(self) -> None:
        self._state: Any = None
        self._room = (0, 0)
        self._numbers: dict[tuple[int, ...], int] = {}

    def start(
        self,
        model: Decodable[State],
        source_ids: Tensor,
        source_mask: Tensor,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = go_on,
    ) -> State:
        """Do what `model.start` does with source_ids and source_mask, [batch, source_len] each; seldom twice."""
        keys = [tuple(ids[mask].tolist()) for ids, mask in zip(source_ids, source_mask, strict=True)]
        restart = getattr(model, "restart", None)
        has_room = max_rows <= self._room[0] and max_len <= self._room[1]
        if restart is not None and has_room and all(key in self._numbers for key in keys):
            restart(self._state, torch.tensor([self._numbers[key] for key in keys]))
            kept: State = self._state
            return kept
        state = model.start(source_ids, source_mask, max_rows=max_rows, max_len=max_len, before_layer=before_layer)
        if restart is not None and not self._numbers:
            self._state, self._room = state, (max_rows, max_len)
            self._numbers = {key: number for number, key in enumerate(keys)}
        return state
