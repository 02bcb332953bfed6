"""Searching on from beginnings that were written before: a model reads them at once, instead of token by token.

How probable a beginning is was found when it was written, so that nothing is asked about its tokens. What follows it is
searched for by any search, which does not know that there is something before; outputs that end are compared by what
follows. A model that cannot forget (`Extendable`) has its beginning forced on it, which takes longer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic

import torch
from torch import Tensor

from heedful.decoding.hypothesis import Hypothesis, finish
from heedful.decoding.protocol import Decodable, Extendable, State, can_forget, go_on
from heedful.decoding.request import Beginning, SearchRequest

Search = Callable[[Decodable[Any], SearchRequest], list[list[Hypothesis]]]


def search_behind(model: Decodable[Any], request: SearchRequest, search: Search) -> list[list[Hypothesis]]:
    """Search for outputs that go on from the beginnings of a request, each with its beginning."""
    beginnings = request.beginnings or ()
    prefixes = request.prefix_ids or [()] * len(beginnings)
    if not can_forget(model):
        whole = [[*begun.token_ids, *prefix] for begun, prefix in zip(beginnings, prefixes, strict=True)]
        return search(model, replace(request, beginnings=None, prefix_ids=whole))
    rest = [cap - len(begun.token_ids) for cap, begun in zip(request.max_lengths, beginnings, strict=True)]
    found = search(Resumed(model, request), replace(request, beginnings=None, kept_reading=None, max_lengths=rest))
    return [
        [_joined(begun, one, request.length_penalty) for one in some]
        for begun, some in zip(beginnings, found, strict=True)
    ]


def _joined(begun: Beginning, rest: Hypothesis, length_penalty: float) -> Hypothesis:
    return finish(
        [*begun.token_ids, *rest.token_ids],
        [*begun.log_probs, *rest.token_log_probs],
        rest.finish_reason,
        length_penalty=length_penalty,
    )


@dataclass
class _ResumedState(Generic[State]):
    state: State
    first_ids: Tensor | None
    """[rows]: what the first step appends, which is not the start symbol where something was begun."""

    lengths: Tensor
    """[rows]: what each row has read."""

    num_taken: int
    """Positions of the longest row, be it one that has left."""


class Resumed(Generic[State]):
    """A `Decodable` that has read a beginning of every output before its first step."""

    def __init__(self, model: Extendable[State], request: SearchRequest) -> None:
        self._model, self._request = model, request
        self._read = [[request.bos_id, *begun.token_ids] for begun in request.beginnings or ()]
        self._max_len = max(request.max_lengths)

    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = go_on,
    ) -> _ResumedState[State]:
        """Encode source_ids where source_mask, [batch, source_len] each, and read all but the last token of each."""
        assert max_len <= self._max_len, "a beginning and what follows it have room"
        state = self._request.start(self._model, source_ids, source_mask, max_rows=max_rows)
        lengths = [len(ids) - 1 for ids in self._read]
        longest, device = max(lengths), source_ids.device
        if longest:
            ids = [[*read[:-1], *read[:1] * (longest - num)] for read, num in zip(self._read, lengths, strict=True)]
            before_layer()
            self._model.extend_best(state, torch.tensor(ids, device=device), None, count=1)
            self._model.rewind(state, torch.tensor(lengths, device=device))
        first_ids = torch.tensor([read[-1] for read in self._read], device=device)
        return _ResumedState(state, first_ids, torch.tensor(lengths, device=device), longest)

    def step(self, state: _ResumedState[State], token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Append token_ids [rows] to the rows that parents [rows] name; returns logits [rows, vocab]."""
        return self._model.step(state.state, self._newest(state, token_ids, parents), parents)

    def step_best(
        self, state: _ResumedState[State], token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Append likewise; returns the best log-probabilities and ids [rows, candidates]."""
        return self._model.step_best(state.state, self._newest(state, token_ids, parents), parents, count=count)

    def _newest(self, state: _ResumedState[State], token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Make room for one token more in each row, and return the tokens [rows]."""
        if state.num_taken == self._max_len:  # what has as many has ended, and is written on only because others go on
            state.lengths = state.lengths.clamp(max=self._max_len - 1)
            self._model.rewind(state.state, state.lengths)
            state.num_taken = int(state.lengths.max())
        state.num_taken += 1
        state.lengths = (state.lengths if parents is None else state.lengths[parents]) + 1
        first, state.first_ids = state.first_ids, None
        return token_ids if first is None else first
