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

_TILE = 64
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
        RANKS=min(2 * size, size * columns),
        CANDIDATES=triton.next_power_of_2(size * columns),
        SLOTS=triton.next_power_of_2(size),
        ENDINGS=triton.next_power_of_2(2 * size),
        TILE=_TILE,
        num_warps=1,
    )


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
    RANKS: tl.constexpr,
    CANDIDATES: tl.constexpr,
    SLOTS: tl.constexpr,
    ENDINGS: tl.constexpr,
    TILE: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    if tl.load(is_open + sentence).to(tl.int1):
        step = tl.load(steps + sentence)
        is_last = step + 1 == tl.load(max_lengths + sentence)
        longest = tl.load(longest_penalty + sentence)
        penalty = tl.load(penalties + step + 1)
        candidate = tl.arange(0, CANDIDATES)
        is_left = candidate < BEAM * COLUMNS
        at = sentence * BEAM * COLUMNS + candidate
        added = tl.load(new_log_probs + at, mask=is_left, other=_NOTHING)
        ids = tl.load(new_ids + at, mask=is_left, other=0)
        before = tl.load(log_probs + sentence * BEAM + candidate // COLUMNS, mask=is_left, other=_NOTHING)
        totals = tl.where(before == _NOTHING, _NOTHING, before + added.to(tl.float64))
        is_broken = tl.max((totals != totals).to(tl.int32), axis=0) > 0
        totals = tl.where(is_broken, _NOTHING, totals)

        slot = tl.arange(0, SLOTS)
        kept_log_probs = tl.full([SLOTS], _NOTHING, tl.float64)
        kept_added = tl.full([SLOTS], 0.0, tl.float32)
        kept_ids = tl.zeros([SLOTS], tl.int64)
        kept_slots = tl.zeros([SLOTS], tl.int64)
        num_kept = tl.zeros([], tl.int32)
        ending = tl.arange(0, ENDINGS)
        at_ending = sentence * (2 * BEAM + 1) + ending
        scores = tl.load(ending_scores + at_ending, mask=ending < 2 * BEAM, other=_NOTHING)
        num_ended = tl.load(num_endings + sentence)
        for rank in tl.static_range(RANKS):
            best = tl.max(tl.where(is_left, totals, _NOTHING), axis=0)
            place = tl.min(tl.where(is_left & (totals == best), candidate, CANDIDATES), axis=0)
            is_it = candidate == place
            is_left = is_left & (candidate != place)
            token = tl.sum(tl.where(is_it, ids, 0), axis=0)
            token_log_prob = tl.sum(tl.where(is_it, added, 0.0), axis=0)
            parent = (place // COLUMNS).to(tl.int64)
            is_closing = (token == EOS) | is_last
            if rank < BEAM:
                is_ending = is_closing & (best > _NOTHING)
                here = sentence * (2 * BEAM + 1) + num_ended
                scores = tl.where(is_ending & (ending == num_ended), best / penalty, scores)
                tl.store(ending_steps + here, step, mask=is_ending)
                tl.store(ending_slots + here, parent, mask=is_ending)
                tl.store(ending_ids + here, token, mask=is_ending)
                tl.store(ending_log_probs + here, token_log_prob, mask=is_ending)
                num_ended += is_ending.to(tl.int64)
            is_new = (slot == num_kept) & (is_closing == 0)
            kept_log_probs = tl.where(is_new, best, kept_log_probs)
            kept_added = tl.where(is_new, token_log_prob, kept_added)
            kept_ids = tl.where(is_new, token, kept_ids)
            kept_slots = tl.where(is_new, parent, kept_slots)
            num_kept += (is_closing == 0).to(tl.int32)

        best_score = tl.max(scores, axis=0)
        to_beat = best_score
        rest = scores
        for _ in tl.static_range(N_BEST - 1):
            first = tl.min(tl.where(rest == to_beat, ending, ENDINGS), axis=0)
            rest = tl.where(ending == first, _NOTHING, rest)
            to_beat = tl.max(rest, axis=0)
        first_kept = tl.max(tl.where(slot == 0, kept_log_probs, _NOTHING), axis=0)
        is_done = (first_kept / longest <= to_beat) | (num_ended >= BEAM) | is_broken
        is_slot = slot < BEAM
        own = sentence * BEAM + slot
        past = tl.load(log_probs + own, mask=is_slot, other=_NOTHING)
        best_open = tl.max(past, axis=0)
        best_slot = tl.min(tl.where(past == best_open, slot, SLOTS), axis=0)
        has_failed = is_done & ((is_broken & (best_open / longest > best_score)) | (num_ended == 0))
        tl.store(failed_slots + sentence, best_slot.to(tl.int64), mask=has_failed)
        tl.store(ending_scores + at_ending, scores, mask=ending < 2 * BEAM)
        tl.store(num_endings + sentence, num_ended)
        tl.store(is_open + sentence, (is_done == 0).to(is_open.dtype.element_ty))
        tl.store(steps + sentence, step + (is_done == 0).to(tl.int64))

        at_step = (sentence * max_len + step) * BEAM + slot
        tl.store(written_ids + at_step, kept_ids, mask=is_slot)
        tl.store(written_log_probs + at_step, kept_added, mask=is_slot)
        tl.store(written_slots + at_step, kept_slots, mask=is_slot)
        tl.debug_barrier()  # all have read what these had before
        tl.store(token_ids + own, kept_ids, mask=is_slot)
        tl.store(log_probs + own, kept_log_probs, mask=is_slot)
        if BEAM > 1:
            start = 0
            while start <= step:
                position = start + tl.arange(0, TILE)
                is_there = is_slot[:, None] & (position <= step)[None, :]
                parents = (sentence * BEAM + kept_slots)[:, None]
                held = tl.load(holders + parents * max_len + position[None, :], mask=is_there, other=0)
                held = tl.where(position[None, :] == step, parents.to(tl.int32), held)
                tl.debug_barrier()
                tl.store(holders + own[:, None] * max_len + position[None, :], held, mask=is_there)
                start += TILE
