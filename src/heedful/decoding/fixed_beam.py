"""The rules of beam.py as a program of fixed shape: tensors that change in place, and not a word to the host.

Every sentence has a place with a beam of slots and a step of its own, so sentences that began at different times go on
side by side. A place whose search has ended stays as it is until its result is taken and another sentence gets it. On a
GPU a step can be recorded and replayed; on a CPU the same lines run as they stand, and tests hold them against beam.py.
Greedy search is a beam of one.
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.hypothesis import FinishReason, Hypothesis, finish
from heedful.decoding.length_penalty import penalty_of

Words = NDArray[np.int32]
FloatT = TypeVar("FloatT", np.float32, np.float64)


@dataclass(frozen=True)
class FixedRules:
    """What a recorded search cannot be told later."""

    eos_id: int
    bos_id: int
    forbidden_ids: tuple[int, ...]
    min_length: int
    beam_size: int
    n_best: int


class FixedBeam:
    """The search of a number of places, between two steps and in them."""

    def __init__(self, rules: FixedRules, token_ids: Tensor, steps: Tensor, holders: Tensor) -> None:
        """Take up the model's own tensors: what it reads next, token_ids [rows], and where its rows stand.

        steps int64 [batch]; holders int32 [rows, target_len] says which row holds each position of a row.
        """
        batch, beam, max_len, device = len(steps), rules.beam_size, holders.size(1), steps.device

        def table(*shape: int, dtype: torch.dtype, fill: float = 0) -> Tensor:
            return torch.full(shape, fill, dtype=dtype, device=device)

        self.rules = rules
        self.steps, self.token_ids, self.holders = (
            steps,
            token_ids.view(batch, beam),
            holders.view(batch, beam, max_len),
        )
        self.is_open = table(batch, dtype=torch.bool)
        self.log_probs = table(batch, beam, dtype=torch.float64)  # of what each slot has written; -inf: it is empty
        self.max_lengths = table(batch, dtype=torch.int64, fill=max_len)
        self.longest_penalty = table(batch, dtype=torch.float64, fill=1)
        self.penalties = table(max_len + 1, dtype=torch.float64, fill=1)
        # What was written at each step, and the slot it goes on from, [batch, target_len, beam].
        self.written_ids = table(batch, max_len, beam, dtype=torch.int64)
        self.written_log_probs = table(batch, max_len, beam, dtype=torch.float32)
        self.written_slots = table(batch, max_len, beam, dtype=torch.int64)
        # The endings found, [batch, candidates]; the last column is for what is none.
        most = 2 * beam
        self.num_endings = table(batch, dtype=torch.int64)
        self.ending_scores = table(batch, most + 1, dtype=torch.float64, fill=-math.inf)
        self.ending_steps = table(batch, most + 1, dtype=torch.int64)
        self.ending_slots = table(batch, most + 1, dtype=torch.int64)
        self.ending_ids = table(batch, most + 1, dtype=torch.int64)
        self.ending_log_probs = table(batch, most + 1, dtype=torch.float32)
        self.failed_slots = table(batch, dtype=torch.int64, fill=-1)  # whose writing is what was left; -1: none failed
        self._length_penalty: float | None = None
        self._lines = torch.arange(batch, device=device)
        self._rows = torch.arange(batch * beam, dtype=torch.int32, device=device).view(batch, beam)

    def set_length_penalty(self, length_penalty: float) -> None:
        """Take up what log-probabilities are divided by."""
        if length_penalty == self._length_penalty:
            return
        self._length_penalty = length_penalty
        values = [penalty_of(length, length_penalty) for length in range(len(self.penalties))]
        self.penalties.copy_(torch.tensor(values, dtype=torch.float64))

    def begin(self, places: Tensor, max_lengths: Tensor) -> None:
        """Let new sentences have places [batch], with caps max_lengths int64 [batch]."""
        self.is_open[places] = True
        self.steps[places] = 0
        self.token_ids[places] = self.rules.bos_id
        self.log_probs[places] = -math.inf
        self.log_probs[places, 0] = 0.0
        self.max_lengths[places] = max_lengths
        self.longest_penalty[places] = self.penalties[max_lengths]
        self.num_endings[places] = 0
        self.ending_scores[places] = -math.inf
        self.failed_slots[places] = -1

    def choose(self, log_probs: Tensor, ids: Tensor) -> None:
        """Go on by the model's best tokens: log_probs float32 and ids int64 [rows, candidates]."""
        if ids.is_cuda:
            from heedful.decoding.kernels.choice import choose

            choose(self, log_probs, ids)
            return
        rules, beam = self.rules, self.rules.beam_size
        columns = ids.size(1)
        lines = self._lines
        totals = self.log_probs.unsqueeze(2) + log_probs.reshape(-1, beam, columns)  # [batch, beam, candidates]
        # Empty slots are fed with anything at all; what the model makes of that says nothing about the sentence.
        totals.masked_fill_((self.log_probs == -math.inf).unsqueeze(2), -math.inf)
        totals = totals.flatten(1)  # [batch, candidates]
        is_broken = totals.isnan().any(dim=1)
        totals.masked_fill_(is_broken.unsqueeze(1), -math.inf)
        ranked = totals.sort(dim=1, descending=True, stable=True)
        best, order = ranked.values[:, : 2 * beam], ranked.indices[:, : 2 * beam]
        slots = order // columns
        token_ids = ids.reshape(len(lines), -1).gather(1, order)
        token_log_probs = log_probs.reshape(len(lines), -1).gather(1, order)

        is_closing = (token_ids == rules.eos_id) | (self.max_lengths == self.steps + 1).unsqueeze(1)
        self._collect(best, slots, token_ids, token_log_probs, is_closing)
        place = torch.arange(best.size(1), device=best.device)
        kept = (place + best.size(1) * is_closing).sort(dim=1).values[:, :beam]  # those that do not end, in order
        is_empty, kept = kept >= best.size(1), kept % best.size(1)
        kept_log_probs = best.gather(1, kept).masked_fill_(is_empty, -math.inf)  # [batch, beam]

        to_beat = self.ending_scores[:, :-1].topk(rules.n_best, dim=1).values
        is_done = (
            (kept_log_probs[:, 0] / self.longest_penalty <= to_beat[:, -1]) | (self.num_endings >= beam) | is_broken
        )
        best_open, best_slot = self.log_probs.max(dim=1)
        is_certain = best_open / self.longest_penalty <= to_beat[:, 0]
        has_failed = is_done & self.is_open & ((is_broken & ~is_certain) | (self.num_endings == 0))
        self.failed_slots.copy_(torch.where(has_failed, best_slot, self.failed_slots))

        # What is written here of places that have ended is not looked at.
        kept_slots, kept_ids = slots.gather(1, kept), token_ids.gather(1, kept)
        self.written_ids[lines, self.steps] = kept_ids
        self.written_log_probs[lines, self.steps] = token_log_probs.gather(1, kept)
        self.written_slots[lines, self.steps] = kept_slots
        self.token_ids.copy_(kept_ids)
        self.log_probs.copy_(kept_log_probs)
        if beam > 1:
            self.holders[lines, :, self.steps] = self._rows
            self.holders.copy_(self.holders.gather(1, kept_slots.unsqueeze(2).expand_as(self.holders)))
        self.is_open &= ~is_done
        self.steps += self.is_open

    def _collect(
        self, best: Tensor, slots: Tensor, token_ids: Tensor, token_log_probs: Tensor, is_closing: Tensor
    ) -> None:
        """Note the endings among the candidates, all [batch, candidates], in their order."""
        beam = self.rules.beam_size
        is_finished = is_closing & (best > -math.inf) & self.is_open.unsqueeze(1)
        is_finished[:, beam:] = False
        number = self.num_endings.unsqueeze(1) + is_finished.cumsum(dim=1) - 1
        place = torch.where(is_finished, number, 2 * beam)
        self.ending_scores.scatter_(1, place, best / self.penalties[self.steps + 1].unsqueeze(1))
        self.ending_steps.scatter_(1, place, self.steps.unsqueeze(1).expand_as(place))
        self.ending_slots.scatter_(1, place, slots)
        self.ending_ids.scatter_(1, place, token_ids)
        self.ending_log_probs.scatter_(1, place, token_log_probs)
        self.num_endings += is_finished.sum(dim=1)

    def take(self, places: Tensor, longest: int) -> "Taken":
        """Copy the results of places [batch], which have ended after at most `longest` steps, in one transfer."""
        written = (self.written_ids.int(), self.written_slots.int(), self.written_log_probs.view(torch.int32))
        endings = (self.ending_steps.int(), self.ending_slots.int(), self.ending_ids.int())
        numbers = torch.stack([self.num_endings, self.failed_slots, self.steps], dim=1).int()
        parts = [*(it[:, :longest].flatten(1) for it in written), *endings, self.ending_log_probs.view(torch.int32)]
        table = torch.cat([*parts, self.ending_scores.view(torch.int32), numbers], dim=1)[places]
        return Taken(table.cpu().numpy(), longest, self.rules)


@dataclass(frozen=True)
class Taken:
    """What some searches have found, as numbers on the host, not yet put together."""

    table: NDArray[np.int32]  # [batch, ...]: one line of 32-bit words for each sentence
    longest: int
    rules: FixedRules

    def hypotheses(self, length_penalty: float) -> list[list[Hypothesis]]:
        """Follow the back-pointers of the best endings of each."""
        beam, n_best = self.rules.beam_size, self.rules.n_best
        size, width = self.longest * beam, 2 * beam + 1
        ids, slots, log_probs, steps, ending_slots, last_ids, last, scores, numbers = np.split(
            self.table, np.cumsum([size] * 3 + [width] * 4 + [2 * width]), axis=1
        )
        num_endings, failed_slots, num_steps = numbers.T
        ranks = (-_as_floats(scores, np.float64)[:, :-1]).argsort(axis=1, kind="stable")[
            :, :n_best
        ]  # [batch, candidates]
        has_failed = failed_slots >= 0
        lengths = np.where(has_failed[:, None], num_steps[:, None], np.take_along_axis(steps, ranks, 1))
        slot = np.where(has_failed[:, None], failed_slots[:, None], np.take_along_axis(ending_slots, ranks, 1))
        token_ids, token_log_probs = self._traced(ids, slots, _as_floats(log_probs, np.float32), lengths, slot)
        last_ids = np.take_along_axis(last_ids, ranks, 1)
        last_log_probs = np.take_along_axis(_as_floats(last, np.float32), ranks, 1)
        counts = np.where(has_failed, 1, np.minimum(num_endings, n_best))
        found = []
        for sentence, count in enumerate(counts.tolist()):
            some = []
            for rank in range(count):
                length = int(lengths[sentence, rank])
                written = token_ids[sentence, rank, :length].tolist()
                probable = token_log_probs[sentence, rank, :length].tolist()
                reason: FinishReason = "error"
                if not has_failed[sentence]:
                    last_id = int(last_ids[sentence, rank])
                    reason = "eos" if last_id == self.rules.eos_id else "length"
                    written += [] if reason == "eos" else [last_id]
                    probable.append(float(last_log_probs[sentence, rank]))
                some.append(finish(written, probable, reason, length_penalty=length_penalty))
            found.append(some)
        return found

    def _traced(
        self, ids: Words, slots: Words, log_probs: NDArray[np.float32], lengths: Words, slot: Words
    ) -> tuple[Words, NDArray[np.float32]]:
        """Read back what was written on the way to slot after lengths steps, [batch, candidates] each."""
        beam = self.rules.beam_size
        token_ids = np.zeros((*slot.shape, self.longest), dtype=np.int32)
        token_log_probs = np.zeros(token_ids.shape, dtype=np.float32)
        for step in range(self.longest - 1, -1, -1):
            is_on_the_way = step < lengths
            column = step * beam + np.where(is_on_the_way, slot, 0)
            token_ids[:, :, step] = np.take_along_axis(ids, column, 1)
            token_log_probs[:, :, step] = np.take_along_axis(log_probs, column, 1)
            slot = np.where(is_on_the_way, np.take_along_axis(slots, column, 1), slot)
        return token_ids, token_log_probs


def _as_floats(words: Words, dtype: "type[FloatT]") -> "NDArray[FloatT]":
    """Read 32-bit words as floating-point numbers."""
    return np.ascontiguousarray(words).view(dtype)
