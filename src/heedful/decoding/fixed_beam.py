"""The rules of beam.py as a program of fixed shape: tensors that change in place, and not a word to the host.

Every sentence has a place with a beam of slots and a step of its own, so sentences that began at different times go on
side by side. A place whose search has ended stays as it is until its result is taken and another sentence gets it. On a
GPU a step can be recorded and replayed; on a CPU the same lines run as they stand, and tests hold them against beam.py.
Greedy search is a beam of one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.decoding.hypothesis import Hypothesis, finish
from heedful.decoding.length_penalty import penalty_of


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
        self._lines = torch.arange(batch, device=device)
        self._rows = torch.arange(batch * beam, dtype=torch.int32, device=device).view(batch, beam)

    def set_length_penalty(self, length_penalty: float) -> None:
        """Take up what log-probabilities are divided by."""
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
            from heedful.decoding.choice_kernel import choose

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
        written = (self.written_ids, self.written_log_probs, self.written_slots)
        endings = (self.ending_scores, self.ending_steps, self.ending_slots, self.ending_ids, self.ending_log_probs)
        numbers = torch.stack([self.num_endings[places], self.failed_slots[places], self.steps[places]], dim=1)
        parts = [*(it[places, :longest].flatten(1) for it in written), *(it[places] for it in endings), numbers]
        table = torch.cat(
            [part.double() for part in parts], dim=1
        ).cpu()  # [batch, ...]: fp64 holds all of them exactly
        return Taken(table.tolist(), longest, self.rules)


@dataclass(frozen=True)
class Taken:
    """What some searches have found, as numbers on the host, not yet put together."""

    lines: list[list[float]]
    longest: int
    rules: FixedRules

    def hypotheses(self, length_penalty: float) -> list[list[Hypothesis]]:
        """Follow the back-pointers of the best endings of each."""
        return [self._of(line, length_penalty) for line in self.lines]

    def _of(self, line: Sequence[float], length_penalty: float) -> list[Hypothesis]:
        beam, width = self.rules.beam_size, 2 * self.rules.beam_size + 1
        size = self.longest * beam
        num_endings, failed_slot, step = (int(number) for number in line[-3:])

        def traced(num_steps: int, slot: int) -> tuple[list[int], list[float]]:
            token_ids, log_probs = [], []
            for place in range((num_steps - 1) * beam, -1, -beam):
                token_ids.append(int(line[place + slot]))
                log_probs.append(line[size + place + slot])
                slot = int(line[2 * size + place + slot])
            return token_ids[::-1], log_probs[::-1]

        if failed_slot >= 0:
            return [finish(*traced(step, failed_slot), "error", length_penalty=length_penalty)]
        scores, steps, slots, ids, last = (
            line[3 * size + kind * width : 3 * size + kind * width + num_endings] for kind in range(5)
        )
        found = []
        for number in sorted(range(num_endings), key=lambda it: scores[it], reverse=True)[: self.rules.n_best]:
            token_ids, log_probs = traced(int(steps[number]), int(slots[number]))
            is_eos = ids[number] == self.rules.eos_id
            if not is_eos:
                token_ids.append(int(ids[number]))
            log_probs.append(last[number])
            found.append(finish(token_ids, log_probs, "eos" if is_eos else "length", length_penalty=length_penalty))
        return found
