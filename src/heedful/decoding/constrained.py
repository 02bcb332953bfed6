"""Search for outputs that contain given terms: a beam search that shares its slots among degrees of progress.

Dynamic beam allocation (Post and Vilar, 2018), with a choice of forms. Candidates are put into banks by how much of the
terms they have written; every bank that has candidates gets slots, in turn from the fullest to the emptiest, so that
outputs without the term and with it are followed side by side, and the term enters where the model finds it least
improbable. To what the model would write, each output adds what brings it nearer to its terms. A small beam is widened
by a slot or two, so that a beam of one can do it as well.

The likeliest tokens of a model can be had much faster than the probabilities of all, so what a term needs is first
looked for among them. A sentence for which that does not lead to its terms is searched again with all at hand. If the
request lets terms be lacking, its search goes on as a free one. A beam of one is tried by the cheaper way of
insertion.py before.

An output may end only when it has all its terms. A sentence is done when `beam_size` outputs have ended, or `n_best`
have and no open one is better at its present length; or at its cap, where the fullest are taken if nothing has ended.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Generic, NamedTuple

import numpy as np
import torch
from torch import Tensor

from heedful.decoding.beam import beam_search
from heedful.decoding.constraints import Constraints
from heedful.decoding.endings import Ending, Finished, Written
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.insertion import NUM_LIKELIEST as FIRST_LIKELIEST
from heedful.decoding.insertion import can_insert, insert_terms
from heedful.decoding.length_penalty import penalty_of
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.recorder import BeamStep, Recorder, StepList
from heedful.decoding.request import SearchRequest
from heedful.decoding.terms import NOTHING_YET, Demands, Progress

LEAST_SLOTS = 3
"""A smaller beam is widened to so many, by no more than the tokens of the terms."""

NUM_LIKELIEST = 8
"""Among so many tokens of each row terms are looked for at first."""


_LOG_PROB = itemgetter(0)
_Way = Callable[..., Sequence[list[Hypothesis] | None]]


class Row(NamedTuple):
    """An unfinished output."""

    sentence: int
    log_prob: float
    progress: Progress


class Candidate(NamedTuple):
    """A row and a token that may follow."""

    log_prob: float
    row: int
    token_id: int
    token_log_prob: float
    progress: Progress


@dataclass
class Banks:
    """The candidates of one sentence, by their progress."""

    open: dict[int, list[Candidate]] = field(default_factory=dict)
    ending: list[Candidate] = field(default_factory=list)
    lacking: list[Candidate] = field(default_factory=list)
    """What would end as well, but lacks terms."""

    wants_to_end: bool = False
    """Whether a row would rather end, but lacks terms."""

    @property
    def is_hopeless(self) -> bool:
        """Say whether outputs end that have not even begun with a term."""
        return self.wants_to_end and not any(self.open)

    def in_turn(self, width: int, beam_size: int, all_covered: int) -> list[Candidate]:
        """Take the best of each bank, the fullest bank first, then the second best of each, until there are `width`.

        What lacks terms and is no more probable than what has them all will hardly overtake it: such are only taken
        to fill a beam.
        """
        if len(self.open) == 1:  # mostly
            return _in_turn(list(self.open.values()))[:width]
        bar = max((it.log_prob for it in self.open.get(all_covered, ())), default=-math.inf)
        taken = _in_turn(
            [[it for it in self.open[bank] if bank == all_covered or it.log_prob > bar] for bank in self.open_banks]
        )[:width]
        if len(taken) < beam_size:
            rest = _in_turn([[it for it in self.open[bank] if it.log_prob <= bar] for bank in self.open_banks])
            taken += [it for it in rest if it not in taken][: beam_size - len(taken)]
        return taken

    @property
    def all_open(self) -> list[Candidate]:
        """The candidates that do not end, of all banks."""
        return [it for bank in self.open.values() for it in bank]

    @property
    def open_banks(self) -> list[int]:
        """The banks that have candidates, the fullest first."""
        return sorted(self.open, reverse=True)


def _in_turn(banks: Sequence[list[Candidate]]) -> list[Candidate]:
    """Order the candidates: the best of each bank, then the second best of each, and so on."""
    for bank in banks:
        bank.sort(key=_LOG_PROB, reverse=True)
    if len(banks) == 1:
        return banks[0]
    longest = max(map(len, banks), default=0)
    return [bank[rank] for rank in range(longest) for bank in banks if rank < len(bank)]


def constrained_search(
    model: Decodable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest
) -> list[list[Hypothesis]]:
    """Return the `n_best` outputs with the terms of each sentence, best first, and at least one.

    source_ids int64 and source_mask bool [batch, source_len].
    """
    ways: list[_Way] = [] if request.are_terms_unlikely else [partial(_search, model, count=NUM_LIKELIEST)]
    if can_insert(model, request):
        counts = (FIRST_LIKELIEST,) if request.may_lack_terms else (FIRST_LIKELIEST, None)
        ways = [partial(insert_terms, model, count=count) for count in counts[request.are_terms_unlikely :]]
    ways.append(partial(beam_search, model) if request.may_lack_terms else partial(_search, model, count=None))
    found: list[list[Hypothesis] | None] = [None] * len(request.max_lengths)
    for way in ways:
        again = [sentence for sentence, hypotheses in enumerate(found) if hypotheses is None]
        if again:
            rows = torch.tensor(again, device=source_ids.device)
            width = int(source_mask[rows].sum(dim=1).max())  # as if the others had never been there
            recorded = None if request.recorder is None else StepList()
            part = replace(_part(request, again), recorder=recorded)
            some = way(source_ids[rows, :width], source_mask[rows, :width], request=part)
            for sentence, hypotheses in zip(again, some, strict=True):
                found[sentence] = hypotheses
            if request.recorder is not None and recorded is not None:
                _retell(request.recorder, recorded, again, [hypotheses is not None for hypotheses in some])
    return [hypotheses or [] for hypotheses in found]


def _retell(recorder: Recorder, recorded: StepList, again: Sequence[int], is_found: Sequence[bool]) -> None:
    """Tell a recorder of the way that led to the terms, and not of those tried in vain."""
    for step in recorded.steps:
        lines = np.asarray(is_found)[step.sentences]
        if lines.any():
            recorder.on_step(step.of(lines, np.asarray(again)))


def _part(request: SearchRequest, sentences: Sequence[int]) -> SearchRequest:
    """Return the request for some of the sentences."""
    prefixes, terms = request.prefix_ids, request.terms or ()
    return replace(
        request,
        max_lengths=[request.max_lengths[it] for it in sentences],
        prefix_ids=None if prefixes is None else [prefixes[it] for it in sentences],
        terms=[terms[it] for it in sentences],
    )


@torch.inference_mode()
def _search(
    model: Decodable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest, count: int | None
) -> list[list[Hypothesis] | None]:
    """Search, looking among the `count` likeliest tokens only, which may find nothing; None looks among all."""
    device, batch, longest = source_ids.device, len(request.max_lengths), max(request.max_lengths)
    demands = [Demands(terms, request.continuation_ids) for terms in request.terms or ()]
    widths = [max(request.beam_size, min(request.beam_size + it.total, LEAST_SLOTS)) for it in demands]
    read = _Reader(model, Constraints(request, device), count)
    state = request.start(model, source_ids, source_mask, max_rows=sum(widths))
    finished = Finished(batch, n_best=request.n_best, length_penalty=request.length_penalty)
    history: list[Written] = []
    rows = [Row(sentence, 0.0, NOTHING_YET) for sentence in range(batch)]
    given_up: set[int] = set()
    token_ids, parents = torch.full((batch,), request.bos_id, dtype=torch.long, device=device), None
    for step in range(longest):
        request.before_step()
        followers = read.followers(state, token_ids, parents, step, rows, demands, widths)
        kept: list[Candidate] = []
        told: list[_Told] = []
        for sentence, found in _banks(followers, rows, demands, request.eos_id).items():
            is_last = step + 1 == request.max_lengths[sentence]
            chosen = [] if is_last else found.in_turn(widths[sentence], request.beam_size, demands[sentence].total)
            ended = _collect(finished, sentence, found, step, request)
            if count is not None and not finished.count[sentence] and (is_last or found.is_hopeless):
                if is_last or not request.may_lack_terms:
                    given_up.add(sentence)
                    continue
                demands[sentence] = Demands((), ())  # nothing of a term was begun: it goes on as a free search
                found.ending = found.lacking
                ended = _collect(finished, sentence, found, step, request)
            if is_last and not finished.count[sentence]:
                ended = _collect_unfinished(finished, sentence, found, step, request)
            is_done = _is_done(finished, sentence, chosen, step, request)
            told.append(_Told(sentence, found.all_open, ended, () if is_done else chosen, demands[sentence]))
            if not is_done:
                kept += chosen
            elif not finished.count[sentence]:
                best = max((row for row in rows if row.sentence == sentence), key=lambda row: row.log_prob)
                finished.fail(sentence, history, row=rows.index(best))
        if request.recorder is not None and told:
            request.recorder.on_step(_record(step, rows, told))
        if not kept:
            break
        rows = [Row(rows[it.row].sentence, it.log_prob, it.progress) for it in kept]
        history.append(_written(kept))
        token_ids = torch.from_numpy(history[-1].token_ids).to(device)
        parents = torch.from_numpy(history[-1].parents).to(device)
    return [None if number in given_up else it for number, it in enumerate(finished.best(history))]


@dataclass(frozen=True)
class _Reader(Generic[State]):
    """Asks the model what may follow."""

    model: Decodable[State]
    constraints: Constraints
    count: int | None

    def followers(
        self,
        state: State,
        token_ids: Tensor,
        parents: Tensor | None,
        step: int,
        rows: Sequence[Row],
        demands: Sequence[Demands],
        widths: Sequence[int],
    ) -> list[list[tuple[int, float]]]:
        """Append token_ids [rows] to the rows that parents [rows] name, and say what may follow each, with log-probs.

        These are the likeliest tokens, the best first, and those its terms need.
        """
        sentences = [row.sentence for row in rows]
        wanted = [demands[row.sentence].wanted(row.progress) for row in rows]
        if self.count is None:
            log_probs = self.constraints.distribution(
                self.model, state, token_ids, parents, step=step, sentences=sentences
            )
            best = log_probs.topk(min(max(widths) + 1, log_probs.size(1)), dim=-1)
            lists = [
                list(zip(ids[: widths[row.sentence] + 1], values, strict=False))
                for row, ids, values in zip(rows, best.indices.tolist(), best.values.tolist(), strict=True)
            ]
            for number, tokens in enumerate(wanted):
                listed = {token for token, _ in lists[number]}
                lists[number] += [(it, float(log_probs[number, it])) for it in sorted(tokens) if it not in listed]
            return lists
        values, ids = self.constraints.best(
            self.model, state, token_ids, parents, step=step, sentences=sentences, count=self.count
        )
        return [
            [
                (token, value)
                for place, (token, value) in enumerate(zip(of_ids, of_values, strict=True))
                if place <= widths[row.sentence] or token in tokens
            ]
            for row, of_ids, of_values, tokens in zip(rows, ids.tolist(), values.tolist(), wanted, strict=True)
        ]


def _banks(
    followers: Sequence[Sequence[tuple[int, float]]], rows: Sequence[Row], demands: Sequence[Demands], eos_id: int
) -> dict[int, Banks]:
    """Sort what may follow each row into the banks of the sentences."""
    banks: dict[int, Banks] = {row.sentence: Banks() for row in rows}
    for number, (sentence, log_prob, progress) in enumerate(rows):
        demand, found = demands[sentence], banks[sentence]
        bank, is_settled = demand.covered(progress), not progress.begun and not progress.newest
        for place, (token, value) in enumerate(followers[number]):
            if not value > -math.inf:  # NaN is not greater either
                continue
            if token == eos_id:
                if demand.is_met(progress):
                    found.ending.append(Candidate(log_prob + value, number, token, value, progress))
                else:
                    found.lacking.append(Candidate(log_prob + value, number, token, value, progress))
                    found.wants_to_end |= place == 0
            elif is_settled and token not in demand.starts:
                found.open.setdefault(bank, []).append(Candidate(log_prob + value, number, token, value, progress))
            else:
                after = demand.advance(progress, token)
                candidate = Candidate(log_prob + value, number, token, value, after)
                found.open.setdefault(demand.covered(after), []).append(candidate)
    return banks


def _collect(finished: Finished, sentence: int, found: Banks, step: int, request: SearchRequest) -> list[Candidate]:
    """Add and return the outputs that end, where they are among the `beam_size` best of those with as much progress."""
    if not found.ending:
        return []
    ended = []
    rivals = sorted((it.log_prob for it in found.open.get(max(found.open, default=0), ())), reverse=True)
    for rank, it in enumerate(sorted(found.ending, key=lambda it: -it.log_prob)):
        if rank + sum(rival > it.log_prob for rival in rivals) < request.beam_size:
            finished.add(sentence, _ending(it, step, request))
            ended.append(it)
    return ended


def _collect_unfinished(
    finished: Finished, sentence: int, found: Banks, step: int, request: SearchRequest
) -> list[Candidate]:
    """Take the fullest outputs at the cap: they are cut, and may lack terms."""
    fullest = found.open.get(max(found.open, default=0), ())
    ended = sorted(fullest, key=lambda it: -it.log_prob)[: request.beam_size]
    for it in ended:
        finished.add(sentence, _ending(it, step, request))
    return ended


def _ending(it: Candidate, step: int, request: SearchRequest) -> Ending:
    return Ending(
        score=it.log_prob / penalty_of(step + 1, request.length_penalty),
        num_steps=step,
        row=it.row,
        last_id=it.token_id,
        last_log_prob=it.token_log_prob,
        reason="eos" if it.token_id == request.eos_id else "length",
    )


def _is_done(finished: Finished, sentence: int, chosen: Sequence[Candidate], step: int, request: SearchRequest) -> bool:
    if not chosen or finished.count[sentence] >= request.beam_size:
        return True
    best = max(it.log_prob for it in chosen) / penalty_of(step + 2, request.length_penalty)
    return bool(best <= finished.to_beat[sentence])


def _written(kept: Sequence[Candidate]) -> Written:
    return Written(
        np.array([it.token_id for it in kept], dtype=np.int64),
        np.array([it.token_log_prob for it in kept], dtype=np.float32),
        np.array([it.row for it in kept], dtype=np.int64),
    )


class _Told(NamedTuple):
    """What became of the candidates of one sentence at a step."""

    sentence: int
    open: Sequence[Candidate]
    ended: Sequence[Candidate]
    chosen: Sequence[Candidate]
    demands: Demands

    def candidates(self) -> list[Candidate]:
        """Return the candidates, best first, each once; of those that came to nothing as many as of the others."""
        alive = list(dict.fromkeys((*self.ended, *self.chosen)))
        others = sorted((it for it in self.open if it not in alive), key=lambda it: -it.log_prob)
        return sorted([*alive, *others[: max(len(alive), 1)]], key=lambda it: -it.log_prob)


def _record(step: int, rows: Sequence[Row], told: Sequence[_Told]) -> BeamStep:
    """Describe one step for a listener."""
    listed = [one.candidates() for one in told]
    shape = len(told), max(map(len, listed), default=0)
    ids, parents, slots = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
    values, totals = np.full(shape, -math.inf), np.full(shape, -math.inf)
    is_finished, is_given = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for line, (one, candidates) in enumerate(zip(told, listed, strict=True)):
        first = next(number for number, row in enumerate(rows) if row.sentence == one.sentence)
        for column, it in enumerate(candidates):
            place = line, column
            ids[place], values[place], totals[place] = it.token_id, it.token_log_prob, it.log_prob
            parents[place] = it.row - first  # the rows of a sentence stand together
            slots[place] = one.chosen.index(it) if it in one.chosen else -1
            is_finished[place] = it in one.ended
            is_given[place] = one.demands.covered(it.progress) > one.demands.covered(rows[it.row].progress)
    return BeamStep(
        step=step,
        sentences=np.array([one.sentence for one in told]),
        token_ids=ids,
        token_log_probs=values,
        log_probs=totals,
        parent_slots=parents,
        is_finished=is_finished,
        next_slots=slots,
        is_done=np.array([not one.chosen for one in told]),
        is_given=is_given,
    )
