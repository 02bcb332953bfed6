"""Beam search (section 6.1 of the paper): the best few beginnings of each sentence are extended side by side.

The rules, which are those of fairseq and CTranslate2. At each step the candidates of a sentence are ranked. Of the
best `beam_size`, those that append the end symbol are finished; the best `beam_size` that do not are the next beam.
A sentence is done when

- `beam_size` hypotheses are finished, or
- no open one can enter the `n_best` finished ones any more: a log-probability only falls, so none will score more
  than its present log-probability divided by the penalty of the longest output, or
- its cap is reached; the open ones then end with the reason "length".

The best hypothesis is the same for every `n_best`: asking for more only lets the search go on after it is certain, and
a model that gives no numbers from then on costs what might have followed, not what was found.

With a beam of one this is greedy search. Equal candidates are ordered by slot, then as the model lists them, so that a
result depends neither on chance nor on the rest of the batch.

The arithmetic is NumPy on the host: on arrays this small the cost is that of the calls, and NumPy's are cheapest. A GPU
is waited for once in a step, to fetch [rows, candidates] numbers. What has been written is kept as back-pointers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.constraints import Constraints
from heedful.decoding.endings import Ending, Finished, Written
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.length_penalty import penalty_of
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.recorder import BeamStep
from heedful.decoding.request import SearchRequest

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Beams:
    """The sentences still being searched, between two steps. Row r of the model is slot r % beam of line r // beam."""

    sentences: Integers  # int64 [batch]: index in the call's batch
    log_probs: Floats  # float64 [batch, beam]: of what each slot has written; -inf where the slot is empty
    max_lengths: Integers  # int64 [batch]: cap on the tokens, the end symbol included
    longest_penalty: Floats  # float64 [batch]: length penalty of an output of `max_lengths` tokens


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best continuations of each sentence, in descending order."""

    log_probs: Floats  # float64 [batch, candidates]: of all that was written; -inf where there is no candidate
    token_ids: Integers  # int64 [batch, candidates]
    token_log_probs: NDArray[np.float32]  # float32 [batch, candidates]
    slots: Integers  # int64 [batch, candidates]: slot that is extended
    is_broken: Flags  # bool [batch]: the model's distribution is not a number


@torch.inference_mode()
def beam_search(
    model: Decodable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses found for each sentence, best first, and at least one.

    source_ids int64 and source_mask bool [batch, source_len].
    """
    device, beam_size, max_lengths = source_ids.device, request.beam_size, request.max_lengths
    batch, longest = len(max_lengths), max(max_lengths)
    constraints = Constraints(request, device)
    state = request.start(model, source_ids, source_mask, max_rows=batch * beam_size)
    beams = start_beams(max_lengths, request.length_penalty)
    finished = Finished(batch, n_best=request.n_best, length_penalty=request.length_penalty)
    history: list[Written] = []
    token_ids, parents = torch.full((batch,), request.bos_id, dtype=torch.long, device=device), None
    for step in range(longest):
        request.before_step()
        width = beams.log_probs.shape[1]
        log_probs, ids = constraints.best(
            model,
            state,
            token_ids,
            parents,
            step=step,
            sentences=beams.sentences.repeat(width).tolist(),
            count=beam_size + 1,  # the end symbol, and a beam of others
        )
        candidates = rank_candidates(beams, log_probs.cpu().numpy(), ids.cpu().numpy(), count=2 * beam_size)
        is_closing = (candidates.token_ids == request.eos_id) | (beams.max_lengths == step + 1)[:, None]
        is_finished = is_closing & (candidates.log_probs > -math.inf)
        is_finished[:, beam_size:] = False
        if is_finished.any():
            _collect(finished, beams, candidates, is_finished, step, request)
        kept, kept_log_probs = next_beam(candidates, is_closing, beam_size)
        is_done = find_done(beams, candidates, kept_log_probs, finished, beam_size)
        if request.recorder is not None:
            request.recorder.on_step(_record(step, beams, candidates, is_finished, kept, kept_log_probs, is_done))
        if is_done.any():
            _fail_without_result(finished, beams, candidates, is_done, history)
            if is_done.all():
                break
        beams, written = advance(beams, candidates, kept, kept_log_probs, ~is_done)
        history.append(written)
        token_ids = torch.from_numpy(written.token_ids).to(device)
        parents = _as_parents(written.parents, num_rows=log_probs.size(0), device=device)
    return finished.best(history)


def start_beams(max_lengths: Sequence[int], length_penalty: float) -> Beams:
    """Begin every sentence with one slot, which has written nothing."""
    batch = len(max_lengths)
    return Beams(
        sentences=np.arange(batch),
        log_probs=np.zeros((batch, 1)),
        max_lengths=np.asarray(max_lengths, dtype=np.int64),
        longest_penalty=np.asarray([penalty_of(length, length_penalty) for length in max_lengths]),
    )


def rank_candidates(beams: Beams, log_probs: NDArray[np.float32], ids: Integers, *, count: int) -> Candidates:
    """Order the continuations of each sentence, over all its slots, and keep the best `count`.

    log_probs and ids [rows, candidates] are the model's best tokens for each row, -inf for those it may not write.
    """
    batch = len(beams.sentences)
    columns = log_probs.shape[1]
    totals = (beams.log_probs.reshape(-1, 1) + log_probs).reshape(batch, -1)  # [batch, beam * candidates]
    is_broken: Flags = np.asarray(np.isnan(totals).any(axis=1))
    if is_broken.any():
        # Empty slots are fed with anything at all; what the model makes of that says nothing about the sentence.
        totals[np.repeat(beams.log_probs == -math.inf, columns, axis=1)] = -math.inf
        is_broken = np.asarray(np.isnan(totals).any(axis=1))
        totals[is_broken] = -math.inf
    best = (-totals).argsort(axis=1, kind="stable")[:, :count]  # [batch, candidates]
    flat = best + np.arange(0, totals.size, totals.shape[1])[:, None]
    return Candidates(
        log_probs=totals.take(flat),
        token_ids=ids.take(flat),
        token_log_probs=log_probs.take(flat),
        slots=best // columns,
        is_broken=is_broken,
    )


def next_beam(candidates: Candidates, is_closing: Flags, beam_size: int) -> tuple[Integers, Floats]:
    """Choose the best candidates that do not end, is_closing [batch, candidates] being True for those that do.

    Returns their columns, [batch, beam] or the same [1, beam] for all, and their log-probabilities [batch, beam]; too
    few of them leave slots empty, with -inf.
    """
    columns = is_closing.shape[1]
    if not is_closing.any():
        return np.arange(min(beam_size, columns))[None, :], candidates.log_probs[:, :beam_size]
    kept = is_closing.argsort(axis=1, kind="stable")[:, :beam_size]  # False before True, each in order
    flat = kept + np.arange(0, is_closing.size, columns)[:, None]
    return kept, np.where(is_closing.take(flat), -math.inf, candidates.log_probs.take(flat))


def find_done(
    beams: Beams, candidates: Candidates, kept_log_probs: Floats, finished: Finished, beam_size: int
) -> Flags:
    """Say for which sentences [batch] the search has ended; a next beam with nothing in it is one of the cases."""
    best_possible = kept_log_probs[:, 0] / beams.longest_penalty
    cannot_improve = best_possible <= finished.to_beat[beams.sentences]
    return np.asarray(cannot_improve | (finished.count[beams.sentences] >= beam_size) | candidates.is_broken)


def advance(
    beams: Beams, candidates: Candidates, kept: Integers, kept_log_probs: Floats, is_open: Flags
) -> tuple[Beams, Written]:
    """Make the kept columns and their log-probabilities [batch, beam] the next beams; lines not open [batch] leave it.

    Returns the beams and what the model's rows have written to get there.
    """
    batch, columns = candidates.token_ids.shape
    lines = np.arange(batch)[:, None]
    flat = kept + lines * columns
    parents = candidates.slots + lines * beams.log_probs.shape[1]
    if not is_open.all():
        flat, kept_log_probs = flat[is_open], kept_log_probs[is_open]
        beams = Beams(
            beams.sentences[is_open], kept_log_probs, beams.max_lengths[is_open], beams.longest_penalty[is_open]
        )
    else:
        beams = Beams(beams.sentences, kept_log_probs, beams.max_lengths, beams.longest_penalty)
    flat = flat.ravel()
    return beams, Written(candidates.token_ids.take(flat), candidates.token_log_probs.take(flat), parents.take(flat))


def _collect(
    finished: Finished,
    beams: Beams,
    candidates: Candidates,
    is_finished: Flags,
    step: int,
    request: SearchRequest,
) -> None:
    """Add the candidates that finished at `step`, is_finished [batch, candidates], to the endings of each sentence."""
    width = beams.log_probs.shape[1]
    penalty = penalty_of(step + 1, request.length_penalty)
    for line, column in np.argwhere(is_finished).tolist():
        token_id = int(candidates.token_ids[line, column])
        ending = Ending(
            score=float(candidates.log_probs[line, column]) / penalty,
            num_steps=step,
            row=line * width + int(candidates.slots[line, column]),
            last_id=token_id,
            last_log_prob=float(candidates.token_log_probs[line, column]),
            reason="eos" if token_id == request.eos_id else "length",
        )
        finished.add(int(beams.sentences[line]), ending)


def _fail_without_result(
    finished: Finished, beams: Beams, candidates: Candidates, is_done: Flags, history: Sequence[Written]
) -> None:
    """Give sentences that ended in a NaN, or with no token left to write, what they had written until then.

    Those whose best hypothesis was certain before, so that they were searched for others only, keep what was found.
    """
    width = beams.log_probs.shape[1]
    for line in np.flatnonzero(is_done).tolist():
        sentence = int(beams.sentences[line])
        is_certain = beams.log_probs[line].max() / beams.longest_penalty[line] <= finished.best_score[sentence]
        if (candidates.is_broken[line] and not is_certain) or not finished.count[sentence]:
            finished.fail(sentence, history, row=line * width + int(beams.log_probs[line].argmax()))


def _as_parents(parents: Integers, *, num_rows: int, device: torch.device) -> Tensor | None:
    """Hand the back-pointers to the model; None when every one of the `num_rows` rows stays, so nothing is copied."""
    if len(parents) == num_rows and (parents == np.arange(num_rows)).all():
        return None
    return torch.from_numpy(parents).to(device)


def _record(
    step: int,
    beams: Beams,
    candidates: Candidates,
    is_finished: Flags,
    kept: Integers,
    kept_log_probs: Floats,
    is_done: Flags,
) -> BeamStep:
    """Describe one step for a listener."""
    next_slots: NDArray[Any] = np.full(is_finished.shape, -1, dtype=np.int64)
    lines, slots = np.nonzero((kept_log_probs > -math.inf) & ~is_done[:, None])
    next_slots[lines, np.broadcast_to(kept, kept_log_probs.shape)[lines, slots]] = slots
    return BeamStep(
        step=step,
        sentences=beams.sentences,
        token_ids=candidates.token_ids,
        token_log_probs=candidates.token_log_probs.astype(np.float64),
        log_probs=candidates.log_probs,
        parent_slots=candidates.slots,
        is_finished=is_finished,
        next_slots=next_slots,
        is_done=is_done,
    )
