"""A script behind the protocol of models with fixed shapes: rows are re-ordered by index, as an engine's caches are."""

import math
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from tests.support.scripted import Script


class FixedScript:
    """A `FixedDecodable` that reads from a script. What it keeps of a row is its tokens, where they were written."""

    device = torch.device("cpu")
    max_len = 64

    def __init__(self, script: Script, vocab: int) -> None:
        self.script, self.vocab = script, vocab

    def position_bytes(self) -> tuple[int, int]:
        return 8, 8

    def make_seats(self, *, batch: int, beam: int, source_len: int, max_len: int) -> Any:
        rows = batch * beam
        return SimpleNamespace(
            past=torch.full((rows, max_len), -1),
            memory=torch.zeros(1, 2, batch, source_len, 1, dtype=torch.long),
            is_real=torch.zeros(batch, source_len, dtype=torch.bool),
            ends=torch.zeros(batch, dtype=torch.long),
            steps=torch.zeros(batch, dtype=torch.long),
            holders=torch.arange(rows, dtype=torch.int32)[:, None].repeat(1, max_len),
            token_ids=torch.zeros(rows, dtype=torch.long),
        )

    def kinds_of(self, forbidden_ids: tuple[int, ...], eos_id: int) -> Tensor:
        kinds = torch.zeros(self.vocab, dtype=torch.int8)
        kinds[list(forbidden_ids)] = 1
        kinds[eos_id] = 2
        return kinds

    def read(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        return source_ids[None, None, :, :, None].expand(1, 2, -1, -1, 1)

    def step_best(self, seats: Any, kinds: Tensor, *, min_length: int, count: int) -> tuple[Tensor, Tensor]:
        beam = len(seats.token_ids) // len(seats.steps)
        logits, is_early = [], []
        for row, token in enumerate(seats.token_ids.tolist()):
            sentence = row // beam
            step = int(seats.steps[sentence])
            seats.past[row, step] = token
            held = [int(seats.past[int(seats.holders[row, place]), place]) for place in range(step)]
            source = seats.memory[0, 0, sentence, seats.is_real[sentence], 0].tolist()
            logits.append(self.script(tuple(source), (*held, token)[1:]))
            is_early.append(step < min_length)
        distributions = torch.tensor(logits, dtype=torch.float32).log_softmax(-1)
        forbidden = (kinds == 1) | ((kinds == 2) & torch.tensor(is_early)[:, None])
        values = distributions.masked_fill(forbidden & ~distributions.isnan(), -math.inf)
        best = values.sort(dim=-1, descending=True, stable=True)
        return best.values[:, :count], best.indices[:, :count]
