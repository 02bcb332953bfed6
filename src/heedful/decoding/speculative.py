"""Speculative decoding (Stern et al., 2018; Leviathan et al., 2023) that changes nothing but the time it takes.

A drafter guesses the next tokens of each output, the model reads them all in one pass, and what the search chooses
after each of them is compared with the guess: as far as they agree, steps are saved. At the first that does not, the
search's own choice is written, and the model forgets what it has read beyond it. Every output accepts as many guesses
as were right for it, so the rows of a batch are of different lengths.

Greedy search and sampling go this way. A sample needs no correction: its draws are made beforehand, so at every
position it is certain which token the draw picks, and a guess is right with exactly the probability that the model
gives it. A beam search runs ahead of itself (running_ahead.py). What else can be asked for goes step by step. Results
are those of `Stepwise`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.beam import beam_search
from heedful.decoding.constraints import Constraints
from heedful.decoding.copies import best_first, for_each_copy
from heedful.decoding.drafting import NOTHING, Drafter, Unfinished
from heedful.decoding.generation import Stepwise
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.paths import Path
from heedful.decoding.protocol import Extendable
from heedful.decoding.request import SearchRequest
from heedful.decoding.running_ahead import RunningAhead
from heedful.decoding.sampling import all_draws, draw_tokens
from heedful.decoding.ways import Sampling

Integers = NDArray[np.int64]

Check = Callable[[Tensor, Tensor | None, Integers, Sequence[int]], tuple[Integers, NDArray[np.float32]]]
"""(tokens to append [rows, length], parents [rows] or None, step of each [rows, length], path of each row) -> what is
written after each of them, and its log-probability, [rows, length] each."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one pass of a speculative search did for one output: for those who want to see it."""

    path: int
    """Which output: sentence r // n_best."""

    guessed: tuple[int, ...]
    """Tokens that the drafter proposed."""

    num_accepted: int
    """How many of them, from the first on, were right."""

    written: tuple[int, ...]
    """What was written: those, and the model's own choice after them."""

    log_probs: tuple[float, ...]
    """One for each of `written`."""


@dataclass(frozen=True)
class Speculative:
    """A `Generator` that gives what `Stepwise` gives, in fewer passes of the model."""

    model: Extendable[Any]
    drafter: Drafter
    lookahead: int = 4
    """The most tokens guessed at once for an output of a greedy search, or a sample."""

    beam_lookahead: int = 0
    """The same for every hypothesis of a beam search; 0: it goes step by step."""

    max_rows: int = 64
    """A batch of more outputs goes step by step: where a processor is busy anyway, checking guesses costs too much."""

    on_round: Callable[[Round], None] | None = None
    """Told what became of the guesses of a greedy search or a sample."""

    @property
    def generator(self) -> Stepwise:
        """What does the same step by step, and everything that is not done here."""
        return Stepwise(self.model)

    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Search for the best outputs of source_ids where source_mask, both [batch, source_len]."""
        request.check_batch(len(source_ids))
        is_plain = request.terms is None and request.recorder is None and request.beginnings is None
        is_sample = isinstance(request.way, Sampling)
        rows = len(source_ids) * (request.n_best if is_sample else request.beam_size)
        if not 0 < rows <= self.max_rows or not is_plain:
            return self.generator.generate(source_ids, source_mask, request)
        if isinstance(request.way, Sampling):
            search = _Search(self, source_ids, source_mask, for_each_copy(request), copies=request.n_best)
            draws = all_draws(source_ids, source_mask, request, request.way)
            return best_first(search.follow(search.check_sample(request.way, draws)), request.n_best)
        if request.way is None and request.beam_size == 1:
            search = _Search(self, source_ids, source_mask, request)
            return [[hypothesis] for hypothesis in search.follow(search.check_greedy)]
        if request.way is None and self.beam_lookahead:
            ahead = RunningAhead(self.model, self.drafter, self.beam_lookahead)
            return beam_search(ahead, source_ids, source_mask, request)
        return self.generator.generate(source_ids, source_mask, request)


class _Search:
    """One search over a batch. A path is an output; rows of the model are paths that have not ended."""

    def __init__(
        self, rules: Speculative, source_ids: Tensor, source_mask: Tensor, request: SearchRequest, *, copies: int = 1
    ) -> None:
        self.rules, self.request, self.device = rules, request, source_ids.device
        self.constraints = Constraints(request, self.device)
        self.max_len = max(request.max_lengths)
        self.sources = [ids[mask].tolist() for ids, mask in zip(source_ids, source_mask, strict=True)]
        self.copies = copies
        self.paths = [Path(max_length) for max_length in request.max_lengths]
        self.state = rules.model.start(
            source_ids, source_mask, max_rows=len(self.paths), max_len=self.max_len, before_layer=request.before_step
        )

    @torch.inference_mode()
    def follow(self, check: Check) -> list[Hypothesis]:
        """Write all paths to their ends, by what `check` says is written after each token."""
        rows = list(range(len(self.paths)))
        newest = torch.full((len(rows),), self.request.bos_id, dtype=torch.long, device=self.device)
        lengths = np.zeros(len(rows), dtype=np.int64)  # tokens the model has read of each row
        parents = None if self.copies == 1 else torch.arange(len(rows), device=self.device) // self.copies
        guesses = self._forced(rows)
        while True:
            self.request.before_step()
            block = torch.cat([newest.unsqueeze(1), guesses.clamp(min=0)], dim=1)  # [rows, length]
            steps = lengths[:, None] + np.arange(block.size(1))
            chosen, log_probs = check(block, parents, steps, rows)
            num_right = self._accept(rows, guesses.tolist(), chosen.tolist(), log_probs.tolist())
            is_open = np.array([self.paths[path].finish_reason is None for path in rows])
            if not is_open.any():
                return [path.hypothesis(self.request.length_penalty) for path in self.paths]
            # What has ended stays for a while, but as short as can be: it must not stand in the others' way.
            lengths = np.where(is_open, lengths + 1 + num_right, 1)
            if (lengths < steps[:, -1] + 1).any():
                self.rules.model.rewind(self.state, torch.from_numpy(lengths))
            newest = torch.from_numpy(chosen[np.arange(len(rows)), num_right]).to(self.device)
            parents = None
            if len(rows) - is_open.sum() >= max(1, len(rows) // 8):
                kept = np.flatnonzero(is_open)
                parents = torch.from_numpy(kept).to(self.device)
                newest, lengths, rows = newest[parents], lengths[kept], [rows[row] for row in kept]
            guesses = self._guess(rows, newest, parents, self.max_len - 1 - int(lengths.max()))

    def _forced(self, rows: Sequence[int]) -> Tensor:
        """Take what outputs must begin with as what is guessed first, [rows, length]."""
        prefixes = self.request.prefix_ids or [()] * len(rows)
        width = min(max(map(len, prefixes)), self.max_len - 1)
        lists = [[*prefix[:width], *[NOTHING] * (width - len(prefix))] for prefix in prefixes]
        return torch.tensor(lists, dtype=torch.long, device=self.device).view(len(rows), width)

    def _guess(self, rows: Sequence[int], newest: Tensor, parents: Tensor | None, room: int) -> Tensor:
        """Have guessed what follows newest [rows], at most `room` tokens: [rows, length]."""
        written = [self.paths[path].token_ids for path in rows]
        sources = [self.sources[path // self.copies] for path in rows]
        unfinished = Unfinished(self.state, newest, parents, written, sources)
        if room < 1:
            return newest.new_empty(len(rows), 0)
        return self.rules.drafter.propose(unfinished, min(room, self.rules.lookahead))

    def _accept(
        self, rows: Sequence[int], guesses: list[list[int]], chosen: list[list[int]], log_probs: list[list[float]]
    ) -> Integers:
        """Write what was chosen on each path as far as it was guessed, and one token more.

        Returns how many guesses of each row were right.
        """
        num_right = np.zeros(len(rows), dtype=np.int64)
        for row, number in enumerate(rows):
            path = self.paths[number]
            if path.finish_reason is not None:
                continue
            begin = len(path.token_ids)
            for place, (token_id, log_prob) in enumerate(zip(chosen[row], log_probs[row], strict=True)):
                path.append(token_id, log_prob, self.request.eos_id)
                if path.finish_reason is not None or place == len(guesses[row]) or guesses[row][place] != token_id:
                    num_right[row] = place
                    break
            if self.request.on_tokens is not None and (news := path.news()):
                self.request.on_tokens(number, news)
            if self.rules.on_round is not None:
                guessed = tuple(token_id for token_id in guesses[row] if token_id != NOTHING)
                end = int(num_right[row]) + 1
                written = tuple(chosen[row][:end])
                assert list(written[: len(path.token_ids) - begin]) == path.token_ids[begin:]
                self.rules.on_round(Round(number, guessed, end - 1, written, tuple(log_probs[row][:end])))
        return num_right

    def check_greedy(
        self, block: Tensor, parents: Tensor | None, steps: Integers, rows: Sequence[int]
    ) -> tuple[Integers, NDArray[np.float32]]:
        """Choose the best token after each of the block [rows, length], as a `Check`; parents [rows]."""
        model, constraints = self.rules.model, self.constraints
        if constraints.forced_steps and not steps[0, 0]:  # the first pass: all rows are at the same steps
            logits = model.extend(self.state, block, parents)  # [rows, length, vocab]
            best = [constraints.best_or_forced(logits[:, step], step, rows, 1) for step in range(block.size(1))]
            log_probs, ids = (torch.cat(columns, dim=1) for columns in zip(*best, strict=True))
            return ids.cpu().numpy(), log_probs.cpu().numpy()
        log_probs, ids = model.extend_best(self.state, block, parents, count=1 + constraints.spare)
        values, chosen = constraints.best_of(log_probs.cpu().numpy(), ids.cpu().numpy(), steps)
        return chosen, values

    def check_sample(self, sampling: Sampling, draws: Tensor) -> Check:
        """Return a `Check` that chooses what draws [rows, target_len] pick."""

        def check(
            block: Tensor, parents: Tensor | None, steps: Integers, rows: Sequence[int]
        ) -> tuple[Integers, NDArray[np.float32]]:
            logits = self.rules.model.extend(self.state, block, parents).flatten(0, 1)  # [rows * length, vocab]
            paths = np.repeat(np.asarray(rows), block.size(1))
            flat = np.minimum(steps.ravel(), draws.size(1) - 1)  # beyond the last step nothing is written
            log_probs = torch.empty_like(logits)
            for step, lines in self._alike(steps.ravel()):
                log_probs[lines] = self.constraints.allowed_of(logits[lines], step, paths[lines].tolist())
            drawn = draws[torch.from_numpy(paths), torch.from_numpy(flat)]
            chosen = draw_tokens(
                log_probs / sampling.temperature, drawn, top_k=sampling.top_k, top_p=sampling.top_p
            ).unsqueeze(1)
            found = log_probs.gather(1, chosen)
            return chosen.view_as(block).cpu().numpy(), found.view(block.shape).cpu().numpy()

        return check

    def _alike(self, steps: Integers) -> Iterator[tuple[int, Integers]]:
        """Yield which of the lines, at steps [lines], the same rules hold for, with one of their steps."""
        free = max(self.request.min_length, self.constraints.forced_steps)
        kinds = np.minimum(steps, free)
        for step in np.unique(kinds):
            yield int(step), np.flatnonzero(kinds == step)
