"""Greedy search for outputs that contain given terms: write freely, and where a term is missing go back and put it in.

Most outputs have their terms anyway. For one that lacks a term, the places are compared at which the term could have
begun: where its first token was least improbable beside the one that was taken. From the best few of them the output is
written again, with the term, and the best of what comes of it is the result. A model that can forget (`Extendable`) is
rewound for that, so that nothing is read and little is written twice.

What cannot be had so is left to the search that looks further (constrained.py): several terms missing at once, or one
whose tokens are nowhere among the likeliest.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import torch
from torch import Tensor

from heedful.decoding.constraints import Constraints
from heedful.decoding.hypothesis import FinishReason, Hypothesis, finish
from heedful.decoding.length_penalty import penalty_of
from heedful.decoding.protocol import Decodable, Extendable, State, can_forget
from heedful.decoding.request import SearchRequest
from heedful.decoding.terms import NOTHING_YET, Demands, Progress

NUM_PLACES = 2
"""At so many places a missing term is tried."""

NUM_LIKELIEST = 6
"""Among so many tokens of each step terms are looked for at first: more are no faster, as they take longer to find."""


@dataclass(slots=True)
class Draft:
    """What a row of the model has written."""

    sentence: int
    progress: Progress = NOTHING_YET
    token_ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    offers: list[dict[int, float]] = field(default_factory=list)
    """Of each step, the tokens that might have begun a term."""

    forced: tuple[int, ...] = ()
    """What has to be written next."""

    num_read: int = 0
    """Tokens the model has read in this row."""

    is_new: bool = False
    """True before the model was rewound to where this draft leaves the one it comes from."""

    is_free: bool = True
    finish_reason: FinishReason | None = None

    def append(self, token_id: int, log_prob: float, demands: Demands, eos_id: int, cap: int) -> None:
        """Take the next token."""
        self.log_probs.append(log_prob)
        if token_id == eos_id:
            self.finish_reason = "eos"
            return
        self.token_ids.append(token_id)
        self.progress = demands.advance(self.progress, token_id)
        if len(self.token_ids) == cap:
            self.finish_reason = "length"

    def with_form(self, place: int, form: Sequence[int], demands: Demands) -> "Draft":
        """Return what is written when a form of a term begins at a place."""
        progress = NOTHING_YET
        for token_id in (*self.token_ids[:place], form[0]):
            progress = demands.advance(progress, token_id)
        return Draft(
            self.sentence,
            progress,
            [*self.token_ids[:place], form[0]],
            [*self.log_probs[:place], self.offers[place][form[0]]],
            forced=tuple(form[1:]),
            num_read=place + 1,
            is_new=True,
            is_free=False,
        )


def can_insert(model: Decodable[Any], request: SearchRequest) -> "TypeGuard[Extendable[Any]]":
    """Say whether this search can be asked: for greedy search without other wishes, of a model that can forget."""
    is_plain = request.recorder is None and request.prefix_ids is None and not request.min_length
    return request.beam_size == 1 and is_plain and can_forget(model)


@torch.inference_mode()
def insert_terms(
    model: Extendable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest, count: int | None
) -> list[list[Hypothesis] | None]:
    """Return an output with its terms for each sentence; None where this search has found none.

    source_ids int64 and source_mask bool [batch, source_len]. Terms are looked for among the `count` likeliest tokens
    of each step; None looks among all, which takes longer. Where terms may be lacking, what was written freely stands
    for what was not found.
    """
    device, batch, max_len = source_ids.device, len(request.max_lengths), max(request.max_lengths)
    writing = _Writing(request)
    constraints = Constraints(request, device)
    state = request.start(model, source_ids, source_mask, max_rows=batch * NUM_PLACES)
    num_taken = 0  # positions of the longest row, be it one that has left
    rows = [Draft(sentence) for sentence in range(batch)]
    token_ids, parents = torch.full((batch,), request.bos_id, dtype=torch.long, device=device), None
    while rows:
        request.before_step()
        sentences = [row.sentence for row in rows]
        if count is None:
            log_probs = constraints.distribution(model, state, token_ids, parents, step=0, sentences=sentences)
            followers = writing.looked_up(rows, log_probs)
        else:
            values, ids = constraints.best(
                model, state, token_ids, parents, step=0, sentences=sentences, count=count
            )  # [rows, candidates]
            followers = [dict(zip(*of_row, strict=True)) for of_row in zip(ids.tolist(), values.tolist(), strict=True)]
        next_rows: list[Draft] = []
        next_parents: list[int] = []
        for number, (row, likeliest) in enumerate(zip(rows, followers, strict=True)):
            following = writing.follow(row, likeliest)
            next_rows += following
            next_parents += [number] * len(following)
        is_same = next_parents == list(range(len(rows)))
        num_taken += 1
        if num_taken == max_len or any(row.is_new for row in (*rows, *next_rows)):
            lengths = _lengths(rows, next_rows, next_parents)
            model.rewind(state, torch.tensor(lengths, device=device))
            num_taken = max(lengths)
        for row in rows:
            row.is_new = False
        rows = next_rows
        token_ids = torch.tensor([row.token_ids[-1] for row in rows], dtype=torch.long, device=device)
        parents = None if is_same else torch.tensor(next_parents, dtype=torch.long, device=device)
    return writing.found


def _lengths(rows: Sequence[Draft], next_rows: Sequence[Draft], parents: Sequence[int]) -> list[int]:
    """Return how much the model shall remember of each row: as much as the longest draft that goes on from it."""
    needed = [0] * len(rows)
    for row, parent in zip(next_rows, parents, strict=True):
        needed[parent] = max(needed[parent], row.num_read)
    longest = max(needed, default=0)
    return [length or min(row.num_read, longest) for row, length in zip(rows, needed, strict=True)]


class _Writing:
    """Decides what follows each draft, and keeps what has been found."""

    def __init__(self, request: SearchRequest) -> None:
        self._results: list[Hypothesis | None] = [None] * len(request.max_lengths)
        self._free: dict[int, Hypothesis] = {}
        self._request = request
        self._demands = [Demands(terms, request.continuation_ids) for terms in request.terms or ()]

    @property
    def found(self) -> list[list[Hypothesis] | None]:
        """The best output of each sentence; None where there is none."""
        best = (one or self._free.get(sentence) for sentence, one in enumerate(self._results))
        return [None if one is None else [one] for one in best]

    def looked_up(self, rows: Sequence[Draft], log_probs: Tensor) -> list[dict[int, float]]:
        """Return what may follow each row: the likeliest of all log_probs [rows, vocab], and what a term needs."""
        values, ids = log_probs.topk(min(NUM_LIKELIEST, log_probs.size(1)), dim=1)  # [rows, candidates]
        found = [dict(zip(*of_row, strict=True)) for of_row in zip(ids.tolist(), values.tolist(), strict=True)]
        places = [
            (number, token_id)
            for number, row in enumerate(rows)
            for token_id in (*row.forced[:1], *self._demands[row.sentence].starts)
        ]
        numbers, wanted = zip(*places, strict=True)
        for number, token_id, value in zip(numbers, wanted, log_probs[numbers, wanted].tolist(), strict=True):
            found[number][token_id] = value
        return found

    def follow(self, row: Draft, likeliest: Mapping[int, float]) -> list[Draft]:
        """Let a row write its next token, of the likeliest with their log-probs; return what goes on from it."""
        if row.is_new:  # what it was fed is to be forgotten
            return [row]
        row.num_read += 1
        demands, request = self._demands[row.sentence], self._request
        if row.is_free:
            row.offers.append({it: likeliest[it] for it in demands.starts if likeliest.get(it, -math.inf) > -math.inf})
        token_id, value = self._choose(row, likeliest)
        if not value > -math.inf:  # NaN is not greater either
            return []
        row.append(token_id, value, demands, request.eos_id, request.max_lengths[row.sentence])
        if row.finish_reason is None:
            return [row] if row.is_free or not self._is_beaten(row) else []
        if demands.is_met(row.progress):
            self._keep(row)
            return []
        if not row.is_free:
            return []
        if request.may_lack_terms:
            self._free[row.sentence] = self._hypothesis(row)
        return self._with_term(row)

    def _choose(self, row: Draft, likeliest: Mapping[int, float]) -> tuple[int, float]:
        """Return the next token of a row, with -inf where there is none."""
        if row.forced:
            wanted, row.forced = row.forced[0], row.forced[1:]
            return wanted, likeliest.get(wanted, -math.inf)
        # After a term, what would make it the beginning of another word is barred.
        barred = self._request.continuation_ids if not row.is_free and row.progress.newest else ()
        for token_id, value in likeliest.items():  # the likeliest first, but for what is forbidden
            if value > -math.inf and token_id not in barred:
                return token_id, value
        return -1, -math.inf

    def _with_term(self, row: Draft) -> list[Draft]:
        """Return the drafts that have a missing term at the likeliest places of a row that has ended."""
        demands, cap = self._demands[row.sentence], self._request.max_lengths[row.sentence]
        missing = demands.missing(row.progress)
        if len(missing) > 1:
            return []
        places = sorted(
            (row.log_probs[place] - offer[form[0]], place, form)
            for place, offer in enumerate(row.offers)
            for form in missing[0].forms
            if form[0] in offer and place + len(form) < cap
        )
        return [row.with_form(place, form, demands) for _, place, form in places[:NUM_PLACES]]

    def _is_beaten(self, row: Draft) -> bool:
        """Say whether a row would score less than what was found for its sentence, if it ended now."""
        found = self._results[row.sentence]
        penalty = penalty_of(len(row.token_ids) + 1, self._request.length_penalty)
        return found is not None and sum(row.log_probs) / penalty <= found.score

    def _keep(self, row: Draft) -> None:
        found, before = self._hypothesis(row), self._results[row.sentence]
        if before is None or found.score > before.score:
            self._results[row.sentence] = found

    def _hypothesis(self, row: Draft) -> Hypothesis:
        assert row.finish_reason is not None
        return finish(row.token_ids, row.log_probs, row.finish_reason, length_penalty=self._request.length_penalty)
