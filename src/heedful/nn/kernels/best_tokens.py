# ruff: noqa: N803 (what Triton knows at compile time is written in capitals)
"""The most probable tokens of many distributions at once, on a GPU: logits are read once.

A vocabulary is cut into pieces, a program each: it finds the best of its piece, and what the piece adds to the sum of
exponentials. A second launch puts the pieces of a row together. A logit and its id are one number, the id behind the
logit, so that the highest is found by one reduction and of equal logits the lower id comes first. `best_allowed` of
engines/cuda/choice.py says what is computed; tests hold the two equal.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_PIECE = 4096


def best_allowed(logits: Tensor, kinds: Tensor, steps: Tensor, min_length: int, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` best allowed tokens of logits [rows, vocab] in fp32: log-probabilities and ids [rows, count].

    kinds int8 [vocab] and steps [batch] as in engines/cuda/choice.py.
    """
    rows, vocab = logits.shape
    piece = min(_PIECE, triton.next_power_of_2(vocab))
    pieces = triton.cdiv(vocab, piece)
    count = min(count, vocab)
    keys = torch.empty(rows, pieces, count, dtype=torch.int64, device=logits.device)
    sums = torch.empty(2, rows, pieces, dtype=torch.float32, device=logits.device)
    beam = rows // len(steps)
    _best_of_piece[(rows, pieces)](
        logits, kinds, steps, keys, sums[0], sums[1], beam, vocab, min_length, pieces, COUNT=count, PIECE=piece
    )
    log_probs = torch.empty(rows, count, dtype=torch.float32, device=logits.device)
    ids = torch.empty(rows, count, dtype=torch.int64, device=logits.device)
    _best_of_row[(rows,)](
        keys,
        sums[0],
        sums[1],
        log_probs,
        ids,
        pieces,
        COUNT=count,
        PIECES=triton.next_power_of_2(pieces),
        KEYS=triton.next_power_of_2(pieces * count),
        num_warps=1,
    )
    return log_probs, ids


@triton.jit  # type: ignore[untyped-decorator]
def _best_of_piece(  # type: ignore[no-untyped-def]
    logits,
    kinds,
    steps,
    keys,
    maxima,
    sums,
    beam,
    vocab,
    min_length,
    pieces,
    COUNT: tl.constexpr,
    PIECE: tl.constexpr,
):
    row, piece = tl.program_id(0).to(tl.int64), tl.program_id(1)
    ids = piece * PIECE + tl.arange(0, PIECE)
    is_token = ids < vocab
    values = tl.load(logits + row * vocab + ids, mask=is_token, other=-float("inf")) + 0.0
    highest = tl.max(values, axis=0)
    base = tl.where(highest == -float("inf"), 0.0, highest)
    at = row * pieces + piece
    tl.store(maxima + at, base)
    tl.store(sums + at, tl.sum(tl.exp(values - base), axis=0))
    kind = tl.load(kinds + ids, mask=is_token, other=1)
    is_early = tl.load(steps + row // beam) < min_length
    values = tl.where((kind == 1) | ((kind == 2) & is_early), -float("inf"), values)
    bits = values.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    key = (ordered << 32) | (0x7FFFFFFF - ids).to(tl.int64)
    for number in tl.static_range(COUNT):
        best = tl.max(key, axis=0)
        tl.store(keys + at * COUNT + number, best)
        key = tl.where(key == best, -0x7FFFFFFFFFFFFFFF, key)


@triton.jit  # type: ignore[untyped-decorator]
def _best_of_row(  # type: ignore[no-untyped-def]
    keys,
    maxima,
    sums,
    log_probs,
    found,
    pieces,
    COUNT: tl.constexpr,
    PIECES: tl.constexpr,
    KEYS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    piece = tl.arange(0, PIECES)
    base = tl.load(maxima + row * pieces + piece, mask=piece < pieces, other=-float("inf"))
    part = tl.load(sums + row * pieces + piece, mask=piece < pieces, other=0.0)
    highest = tl.max(base, axis=0)
    log_sum = highest + tl.log(tl.sum(part * tl.exp(base - highest), axis=0))
    place = tl.arange(0, KEYS)
    key = tl.load(keys + row * pieces * COUNT + place, mask=place < pieces * COUNT, other=-0x7FFFFFFFFFFFFFFF)
    for number in tl.static_range(COUNT):
        best = tl.max(key, axis=0)
        ordered = (best >> 32).to(tl.int32)
        value = tl.where(ordered < 0, ordered ^ 0x7FFFFFFF, ordered).to(tl.float32, bitcast=True)
        tl.store(log_probs + row * COUNT + number, value - log_sum)
        tl.store(found + row * COUNT + number, 0x7FFFFFFF - (best & 0x7FFFFFFF))
        key = tl.where(key == best, -0x7FFFFFFFFFFFFFFF, key)
