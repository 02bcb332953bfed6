# ruff: noqa: N803 (what Triton knows at compile time is written in capitals)
"""The choice of a beam search on a GPU in one launch, a program for each sentence.

`FixedBeam.choose` in fixed_beam.py says what is computed, in some eighty small operations; for a few sentences, to
launch those takes longer than the model's step. Here the candidates of a sentence, at most a few hundred numbers, are
ranked in registers, the best first, and each is dealt with as it comes. Tests hold the two equal.
"""

import math
from typing import TYPE_CHECKING

import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from heedful.decoding.fixed_beam import FixedBeam

_TILE = tl.constexpr(64)
_NOTHING = tl.constexpr(-math.inf)


def choose(beam: "FixedBeam", log_probs: Tensor, ids: Tensor) -> None:
    """Do what `FixedBeam.choose` does, log_probs float32 and ids int64 [rows, candidates]."""
    size, columns = beam.rules.beam_size, ids.size(1)
    _choose[(len(beam.steps),)](
        log_probs.contiguous(),
        ids.contiguous(),
        beam.log_probs,
        beam.steps,
        beam.is_open,
        beam.token_ids,
        beam.holders,
        beam.max_lengths,
        beam.longest_penalty,
        beam.penalties,
        beam.written_ids,
        beam.written_log_probs,
        beam.written_slots,
        beam.num_endings,
        beam.ending_scores,
        beam.ending_steps,
        beam.ending_slots,
        beam.ending_ids,
        beam.ending_log_probs,
        beam.failed_slots,
        beam.holders.size(2),
        EOS=beam.rules.eos_id,
        BEAM=size,
        N_BEST=beam.rules.n_best,
        COLUMNS=columns,
        CANDIDATES=triton.next_power_of_2(size * columns),
        SLOTS=triton.next_power_of_2(size),
        num_warps=1,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _totals(log_probs, new_log_probs, sentence, candidate, BEAM: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return what each candidate adds, what it then has altogether, and whether some of it is no number."""
    is_there = candidate < BEAM * COLUMNS
    added = tl.load(new_log_probs + sentence * BEAM * COLUMNS + candidate, mask=is_there, other=_NOTHING)
    before = tl.load(log_probs + sentence * BEAM + candidate // COLUMNS, mask=is_there, other=_NOTHING)
    totals = tl.where(before == _NOTHING, _NOTHING, before + added.to(tl.float64))
    is_broken = tl.max((totals != totals).to(tl.int32), axis=0) > 0
    return added, tl.where(is_broken, _NOTHING, totals), is_broken


@triton.jit  # type: ignore[untyped-decorator]
def _to_beat(scores, ending, N_BEST: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the N_BEST-th of the scores."""
    highest = tl.max(scores, axis=0)
    for _ in tl.static_range(N_BEST - 1):
        first = tl.min(tl.where(scores == highest, ending, 1 << 30), axis=0)
        scores = tl.where(ending == first, _NOTHING, scores)
        highest = tl.max(scores, axis=0)
    return highest


@triton.jit  # type: ignore[untyped-decorator]
def _best_before(log_probs, sentence, slot, longest, scores, BEAM: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the slot that was best before this step, and whether nothing in it could have beaten the best ending."""
    before = tl.load(log_probs + sentence * BEAM + slot, mask=slot < BEAM, other=_NOTHING)
    highest = tl.max(before, axis=0)
    best_slot = tl.min(tl.where(before == highest, slot, 1 << 30), axis=0)
    return best_slot.to(tl.int64), highest / longest <= tl.max(scores, axis=0)


@triton.jit
def _write(ids, slots, log_probs, at, token, slot, log_prob, is_there):  # type: ignore[no-untyped-def]
    """Write tokens, the slots that they go on from, and log-probabilities."""
    tl.store(ids + at, token, mask=is_there)
    tl.store(slots + at, slot, mask=is_there)
    tl.store(log_probs + at, log_prob, mask=is_there)


@triton.jit  # type: ignore[untyped-decorator]
def _reorder(holders, sentence, slot, kept_slots, step, max_len, BEAM: tl.constexpr):  # type: ignore[no-untyped-def]
    """Let every slot have the past of the slot that it goes on from."""
    own, parents = (sentence * BEAM + slot)[:, None], (sentence * BEAM + kept_slots)[:, None]
    start = 0
    while start <= step:
        position = (start + tl.arange(0, _TILE))[None, :]
        is_there = (slot < BEAM)[:, None] & (position <= step)
        held = tl.load(holders + parents * max_len + position, mask=is_there, other=0)
        held = tl.where(position == step, parents.to(tl.int32), held)
        tl.debug_barrier()  # all have read before any writes
        tl.store(holders + own * max_len + position, held, mask=is_there)
        start += _TILE


@triton.jit  # type: ignore[untyped-decorator]
def _choose(  # type: ignore[no-untyped-def]
    new_log_probs,
    new_ids,
    log_probs,
    steps,
    is_open,
    token_ids,
    holders,
    max_lengths,
    longest_penalty,
    penalties,
    written_ids,
    written_log_probs,
    written_slots,
    num_endings,
    ending_scores,
    ending_steps,
    ending_slots,
    ending_ids,
    ending_log_probs,
    failed_slots,
    max_len,
    EOS: tl.constexpr,
    BEAM: tl.constexpr,
    N_BEST: tl.constexpr,
    COLUMNS: tl.constexpr,
    CANDIDATES: tl.constexpr,
    SLOTS: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    if tl.load(is_open + sentence).to(tl.int1):
        step, max_length = tl.load(steps + sentence), tl.load(max_lengths + sentence)
        penalty, longest = tl.load(penalties + step + 1), tl.load(longest_penalty + sentence)
        candidate, slot, ending = tl.arange(0, CANDIDATES), tl.arange(0, SLOTS), tl.arange(0, 2 * SLOTS)
        is_left, is_slot, is_ending = candidate < BEAM * COLUMNS, slot < BEAM, ending < 2 * BEAM
        added, totals, is_broken = _totals(log_probs, new_log_probs, sentence, candidate, BEAM, COLUMNS)
        ids = tl.load(new_ids + sentence * BEAM * COLUMNS + candidate, mask=is_left, other=0)
        kept_log_probs, kept_added = tl.full([SLOTS], _NOTHING, tl.float64), tl.zeros([SLOTS], tl.float32)
        kept_ids, kept_slots = tl.zeros([SLOTS], tl.int64), tl.zeros([SLOTS], tl.int64)
        num_kept = tl.zeros([], tl.int32)
        first_ending = sentence * (2 * BEAM + 1)
        scores = tl.load(ending_scores + first_ending + ending, mask=is_ending, other=_NOTHING)
        num_ended = tl.load(num_endings + sentence)
        for rank in tl.static_range(2 * BEAM):
            best = tl.max(tl.where(is_left, totals, _NOTHING), axis=0)
            place = tl.min(tl.where(is_left & (totals == best), candidate, CANDIDATES), axis=0)
            is_left = is_left & (candidate != place)
            token = tl.sum(tl.where(candidate == place, ids, 0), axis=0)
            token_log_prob = tl.sum(tl.where(candidate == place, added, 0.0), axis=0)
            parent = (place // COLUMNS).to(tl.int64)
            is_closing = (token == EOS) | (step + 1 == max_length)
            if rank < BEAM:
                has_ended = is_closing & (best > _NOTHING)
                scores = tl.where(has_ended & (ending == num_ended), best / penalty, scores)
                at = first_ending + num_ended
                _write(ending_ids, ending_slots, ending_log_probs, at, token, parent, token_log_prob, has_ended)
                tl.store(ending_steps + at, step, mask=has_ended)
                num_ended += has_ended.to(tl.int64)
            is_new = (slot == num_kept) & (is_closing == 0)
            kept_log_probs, kept_ids = tl.where(is_new, best, kept_log_probs), tl.where(is_new, token, kept_ids)
            kept_added, kept_slots = tl.where(is_new, token_log_prob, kept_added), tl.where(is_new, parent, kept_slots)
            num_kept += (is_closing == 0).to(tl.int32)

        first_kept = tl.max(tl.where(slot == 0, kept_log_probs, _NOTHING), axis=0)
        is_done = (first_kept / longest <= _to_beat(scores, ending, N_BEST)) | (num_ended >= BEAM) | is_broken
        best_slot, is_certain = _best_before(log_probs, sentence, slot, longest, scores, BEAM)
        has_failed = is_done & ((is_broken & (is_certain == 0)) | (num_ended == 0))
        tl.store(failed_slots + sentence, best_slot, mask=has_failed)
        tl.store(ending_scores + first_ending + ending, scores, mask=is_ending)
        tl.store(num_endings + sentence, num_ended)
        tl.store(is_open + sentence, (is_done == 0).to(is_open.dtype.element_ty))
        tl.store(steps + sentence, step + (is_done == 0).to(tl.int64))
        tl.debug_barrier()  # all have read before any writes
        at_step = (sentence * max_len + step) * BEAM + slot
        _write(written_ids, written_slots, written_log_probs, at_step, kept_ids, kept_slots, kept_added, is_slot)
        _write(token_ids, token_ids, log_probs, sentence * BEAM + slot, kept_ids, kept_ids, kept_log_probs, is_slot)
        if BEAM > 1:
            _reorder(holders, sentence, slot, kept_slots, step, max_len, BEAM)
