# ruff: noqa: N803 (what Triton knows at compile time is written in capitals)
"""The most probable tokens of many distributions at once, on a GPU: logits are read once, and a few of them twice.

The best k tokens lie in the k pieces of the vocabulary whose highest logits are highest. So a first launch finds the
highest of each piece, and what the tokens add to the sum of exponentials; a second finds the pieces of a row and looks
at their tokens. A logit and its place are one number, the place behind the logit, so that the highest is found by one
reduction, and of equal ones the lower id comes first. `best_allowed` of engines/cuda/choice.py says what is computed;
tests hold the two equal.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_PIECE = 256
_PIECES = 16
"""Tokens of a piece, and pieces that a program reads."""

_NEVER = tl.constexpr(-0x7FFFFFFFFFFFFFFF)


def best_allowed(logits: Tensor, kinds: Tensor, steps: Tensor, min_length: int, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` best allowed tokens of logits [rows, vocab] in fp32: log-probabilities and ids [rows, count].

    kinds int8 [vocab] and steps [batch] as in engines/cuda/choice.py.
    """
    rows, vocab = logits.shape
    programs, count, device = triton.cdiv(vocab, _PIECE * _PIECES), min(count, vocab), logits.device
    maxima = torch.empty(rows, programs * _PIECES, dtype=torch.float32, device=device)
    sums = torch.empty(2, rows, programs, dtype=torch.float32, device=device)
    beam = rows // len(steps)
    _highest[(rows, programs)](
        logits, kinds, steps, maxima, sums[0], sums[1], beam, vocab, min_length, PIECE=_PIECE, PIECES=_PIECES
    )
    log_probs = torch.empty(rows, count, dtype=torch.float32, device=device)
    ids = torch.empty(rows, count, dtype=torch.int64, device=device)
    _best[(rows,)](
        logits,
        kinds,
        steps,
        maxima,
        sums[0],
        sums[1],
        log_probs,
        ids,
        beam,
        vocab,
        min_length,
        programs,
        COUNT=count,
        PIECE=_PIECE,
        PIECES=_PIECES,
        PROGRAMS=triton.next_power_of_2(programs),
        CHOSEN=triton.next_power_of_2(count),
        num_warps=4,
    )
    return log_probs, ids


@triton.jit
def _allowed(values, kinds, ids, is_token, is_early):  # type: ignore[no-untyped-def]
    """Give what may not be written the least of all logits."""
    kind = tl.load(kinds + ids, mask=is_token, other=1)
    return tl.where((kind == 1) | ((kind == 2) & is_early), -float("inf"), values)


@triton.jit
def _keys(values, places):  # type: ignore[no-untyped-def]
    """Join each value and its place to a number that orders by the value, then by the place, lower ones first."""
    bits = values.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    return (ordered << 32) | (0x7FFFFFFF - places).to(tl.int64)


@triton.jit(do_not_specialize=["beam", "min_length"])  # type: ignore[untyped-decorator]
def _highest(  # type: ignore[no-untyped-def]
    logits,
    kinds,
    steps,
    maxima,
    bases,
    sums,
    beam,
    vocab,
    min_length,
    PIECE: tl.constexpr,
    PIECES: tl.constexpr,
):
    row, program = tl.program_id(0).to(tl.int64), tl.program_id(1)
    piece = program * PIECES + tl.arange(0, PIECES)
    ids = piece[:, None] * PIECE + tl.arange(0, PIECE)[None, :]
    is_token = ids < vocab
    values = tl.load(logits + row * vocab + ids, mask=is_token, other=-float("inf"))
    highest = tl.max(tl.max(values, axis=1), axis=0)
    base = tl.where(highest == -float("inf"), 0.0, highest)
    at = row * tl.num_programs(1) + program
    tl.store(bases + at, base)
    tl.store(sums + at, tl.sum(tl.sum(tl.exp(values - base), axis=1), axis=0))
    is_early = tl.load(steps + row // beam) < min_length
    allowed = _allowed(values, kinds, ids, is_token, is_early)
    tl.store(maxima + row * tl.num_programs(1) * PIECES + piece, tl.max(allowed, axis=1))


@triton.jit(do_not_specialize=["beam", "min_length"])  # type: ignore[untyped-decorator]
def _best(  # type: ignore[no-untyped-def]
    logits,
    kinds,
    steps,
    maxima,
    bases,
    sums,
    log_probs,
    found,
    beam,
    vocab,
    min_length,
    programs,
    COUNT: tl.constexpr,
    PIECE: tl.constexpr,
    PIECES: tl.constexpr,
    PROGRAMS: tl.constexpr,
    CHOSEN: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    program = tl.arange(0, PROGRAMS)
    base = tl.load(bases + row * programs + program, mask=program < programs, other=-float("inf"))
    part = tl.load(sums + row * programs + program, mask=program < programs, other=0.0)
    highest = tl.max(base, axis=0)
    log_sum = highest + tl.log(tl.sum(part * tl.exp(base - highest), axis=0))

    piece = tl.arange(0, PROGRAMS * PIECES)
    num_pieces = programs * PIECES
    tops = tl.load(maxima + row * num_pieces + piece, mask=piece < num_pieces, other=-float("inf"))
    key = _keys(tops + 0.0, piece)
    number = tl.arange(0, CHOSEN)
    pieces = tl.zeros([CHOSEN], tl.int32)
    for rank in tl.static_range(COUNT):
        best = tl.max(key, axis=0)
        pieces = tl.where(number == rank, (0x7FFFFFFF - (best & 0x7FFFFFFF)).to(tl.int32), pieces)
        key = tl.where(key == best, _NEVER, key)

    ids = pieces[:, None] * PIECE + tl.arange(0, PIECE)[None, :]
    is_token = (ids < vocab) & (number < COUNT)[:, None]
    values = tl.load(logits + row * vocab + ids, mask=is_token, other=-float("inf"))
    values = _allowed(values, kinds, ids, is_token, tl.load(steps + row // beam) < min_length)
    key = tl.where(is_token, _keys(values + 0.0, ids), _NEVER)
    for rank in tl.static_range(COUNT):
        best = tl.max(tl.max(key, axis=1), axis=0)
        ordered = (best >> 32).to(tl.int32)
        value = tl.where(ordered < 0, ordered ^ 0x7FFFFFFF, ordered).to(tl.float32, bitcast=True)
        tl.store(log_probs + row * COUNT + rank, value - log_sum)
        tl.store(found + row * COUNT + rank, 0x7FFFFFFF - (best & 0x7FFFFFFF))
        key = tl.where(key == best, _NEVER, key)
