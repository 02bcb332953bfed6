"""A model that reads ahead of the search that steps through it: a beam search then needs fewer passes.

To the search it is a model like any other. Asked for a step, it reads a few guessed tokens more for each row. When the
search goes on as was guessed for every one of its rows, the answer is there already; as soon as one row goes another
way, the model forgets what it has read too far and reads on from there. The answers are the model's own either way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from heedful.decoding.drafting import Drafter, Unfinished
from heedful.decoding.protocol import Extendable, go_on


@dataclass(slots=True)
class Ahead:
    """What has been read, and how much of it was asked for. A line is a row of the model, which may serve several."""

    state: Any
    sources: list[list[int]]  # of each sentence
    max_len: int
    num_read: int  # tokens of every row before the newest block
    place: int  # in the newest block: the token that was asked for last
    block: Tensor  # int64 [rows, length]
    log_probs: Tensor  # float32 [rows, length, candidates]
    ids: Tensor  # int64 [rows, length, candidates]
    line_of: Tensor  # int64 [rows]
    sentence_of: Tensor  # int64 [rows]
    written: list[list[int]]  # of each row


@dataclass(frozen=True)
class RunningAhead:
    """A `Decodable` that answers as `model` does."""

    model: Extendable[Any]
    drafter: Drafter
    lookahead: int

    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = go_on,
    ) -> Ahead:
        """Encode source_ids where source_mask, [batch, source_len] each."""
        state = self.model.start(source_ids, source_mask, max_rows=max_rows, max_len=max_len, before_layer=before_layer)
        batch, device = len(source_ids), source_ids.device
        everyone, nothing = torch.arange(batch, device=device), torch.empty(batch, 0, device=device)
        sources = [ids[mask].tolist() for ids, mask in zip(source_ids, source_mask, strict=True)]
        return Ahead(
            state=state,
            sources=sources,
            max_len=max_len,
            num_read=0,
            place=-1,
            block=nothing.long(),
            log_probs=nothing.unsqueeze(2),
            ids=nothing.long().unsqueeze(2),
            line_of=everyone,
            sentence_of=everyone,
            written=[[] for _ in range(batch)],
        )

    def step(self, state: Ahead, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Append token_ids [rows] to the rows that parents [rows] name, and guess nothing; logits [rows, vocab]."""
        lines = self._go_back(state, token_ids, parents)
        logits = self.model.step(state.state, token_ids, lines)
        nothing = torch.empty(len(token_ids), 1, 0, device=token_ids.device)
        self._begin(state, token_ids.unsqueeze(1), nothing, nothing.long())
        return logits

    def step_best(
        self, state: Ahead, token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Take a `step`, token_ids and parents [rows]; returns the best log-probabilities and ids [rows, count]."""
        lines = state.line_of if parents is None else state.line_of[parents]
        place = state.place + 1
        # Fewer candidates than wanted are all there are, if the vocabulary has no more: then everything is read anew.
        if (
            place < state.block.size(1)
            and state.ids.size(2) == count
            and bool((state.block[lines, place] == token_ids).all())
        ):
            self._follow(state, token_ids, parents)
            state.line_of, state.place = lines, place
            return state.log_probs[lines, place], state.ids[lines, place]
        lines_read = self._go_back(state, token_ids, parents)
        room = state.max_len - 1 - state.num_read
        guesses = token_ids.new_empty(len(token_ids), 0)
        if room > 0:
            sources = [state.sources[sentence] for sentence in state.sentence_of.tolist()]
            unfinished = Unfinished(state.state, token_ids, lines_read, state.written, sources)
            guesses = self.drafter.propose(unfinished, min(room, self.lookahead)).clamp(min=0)
        block = torch.cat([token_ids.unsqueeze(1), guesses], dim=1)
        log_probs, ids = self.model.extend_best(state.state, block, lines_read, count=count)
        self._begin(state, block, log_probs, ids)
        return log_probs[:, 0], ids[:, 0]

    def _follow(self, state: Ahead, token_ids: Tensor, parents: Tensor | None) -> None:
        """Note who goes on from whom, and what is written: token_ids [rows], parents [rows]."""
        origins = range(len(token_ids)) if parents is None else parents.tolist()
        if state.num_read + state.place + 1 > 0:  # the start symbol is not written
            newest = token_ids.tolist()
            state.written = [[*state.written[row], token] for row, token in zip(origins, newest, strict=True)]
        if parents is not None:
            state.sentence_of = state.sentence_of[parents]

    def _go_back(self, state: Ahead, token_ids: Tensor, parents: Tensor | None) -> Tensor | None:
        """Forget what was read too far; return the line that each row goes on from, [rows], None: its own."""
        self._follow(state, token_ids, parents)
        lines = state.line_of if parents is None else state.line_of[parents]
        num_lines, length = state.block.shape
        if state.place + 1 < length:
            lengths = torch.full((num_lines,), state.num_read + state.place + 1, dtype=torch.long)
            self.model.rewind(state.state, lengths)
        state.num_read += state.place + 1
        same = torch.arange(num_lines, device=lines.device)
        return None if len(lines) == num_lines and bool((lines == same).all()) else lines

    def _begin(self, state: Ahead, block: Tensor, log_probs: Tensor, ids: Tensor) -> None:
        """Take up a block [rows, length] that was read, and what was answered: [rows, length, candidates] each."""
        state.block, state.log_probs, state.ids = block, log_probs, ids
        state.line_of, state.place = torch.arange(len(block), device=block.device), 0
