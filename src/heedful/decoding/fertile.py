"""Writing all positions at once by fertilities: one set of them, or several that a teacher chooses from.

Which fertilities a sentence has decides nearly everything: given them, each position writes its best token. *Noisy
parallel decoding* (Gu et al., 2018, section 3.2) therefore draws several sets of fertilities, writes an output for
each, and has a model that writes step by step say which is most probable: it reads all of them in one pass, which costs
it as much as a step or two. The first candidate is always that of the fertilities that are taken without drawing, and
further draws only add to the first ones, so more of them never end in an output that the teacher likes less.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from heedful.decoding.generation import Stepwise
from heedful.decoding.hypothesis import Hypothesis, finish
from heedful.decoding.parallel import needs_steps
from heedful.decoding.protocol import Decodable
from heedful.decoding.request import SearchRequest

_SEED = 20180130
_BLOCK = 64  # draws are made for so many source tokens at a time
_POSITIONS_TOGETHER = 1 << 13
"""Positions of all candidates that are written at once: what a step takes is as many distributions."""

_JUDGED_TOGETHER = 512
"""Outputs that a teacher reads at once."""


class FertileWriter(Decodable[Any], Protocol):
    """A model that writes all positions at once when fertilities are given, and can also be searched."""

    def read(self, source_ids: Tensor, source_mask: Tensor, /) -> tuple[Tensor, Tensor]:
        """Return the memory of sentences and the log-probabilities of their fertilities, [batch, source_len, classes].

        source_ids int64 and source_mask bool [batch, source_len].
        """

    def choose(self, log_probs: Tensor, /) -> Tensor:
        """Take one fertility of each token: log_probs [batch, source_len, classes] to [batch, source_len]."""

    def write(
        self,
        memory: Tensor,
        source_mask: Tensor,
        fertilities: Tensor,
        /,
        *,
        max_length: int,
        forbidden_ids: Sequence[int],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the best token of every position, its log-probability, and which are real, [batch, length] each.

        memory as of `read`; source_mask and fertilities [batch, source_len].
        """


class Candidate(NamedTuple):
    """An output, by which fertilities it came about, and what it is worth."""

    hypothesis: Hypothesis
    fertilities: list[int]


@dataclass(frozen=True)
class Fertile:
    """A `Generator` that has its model write everything at once, with a teacher the best of several outputs."""

    model: FertileWriter
    teacher: Decodable[Any] | None = None
    """Who chooses; None where there is nothing to choose from."""

    num_samples: int = 0
    """Sets of fertilities that are drawn beside the one that is not."""

    @torch.inference_mode()
    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Write outputs of source_ids where source_mask, both [batch, source_len]."""
        request.check_batch(len(source_ids))
        if not request.max_lengths:
            return []
        chooses = self.teacher is not None and self.num_samples > 0
        if needs_steps(replace(request, n_best=1) if chooses else request):
            return Stepwise(self.model).generate(source_ids, source_mask, request)
        found = [
            [candidate.hypothesis for candidate in several]
            for several in self.candidates(source_ids, source_mask, request)
        ]
        if request.on_tokens is not None:
            for number, (best, *_) in enumerate(found):
                request.on_tokens(number, best.token_ids)
        return [several[: request.n_best] for several in found]

    @torch.inference_mode()
    def candidates(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Candidate]]:
        """Write all outputs for each sentence, distinct ones, with a teacher the best first.

        source_ids and source_mask [batch, source_len].
        """
        request.before_step()
        memory, log_probs = self.model.read(source_ids, source_mask)
        drawn = self._drawn(log_probs)  # [batch, candidates, source_len]
        candidates = drawn.size(1)
        rows = torch.arange(len(source_ids), device=source_ids.device).repeat_interleave(candidates)
        caps = [cap for cap in request.max_lengths for _ in range(candidates)]
        written: list[Hypothesis] = []
        flat = drawn.flatten(0, 1)  # [rows, source_len]
        for part in _parts(flat, caps):
            of = rows[part]
            found = self.model.write(
                memory[of],
                source_mask[of],
                flat[part],
                max_length=max(caps[part]),
                forbidden_ids=request.forbidden_ids,
            )
            lists = zip(*(it.tolist() for it in found), caps[part], strict=True)
            written += [_output(ids, values, real, cap, request) for ids, values, real, cap in lists]
        grouped = [
            _distinct(written[start : start + candidates], drawn[number])
            for number, start in enumerate(range(0, len(written), candidates))
        ]
        if self.teacher is None:
            return grouped
        return self._judged(self.teacher, source_ids, source_mask, grouped, request)

    def _drawn(self, log_probs: Tensor) -> Tensor:
        """Return the fertilities that are tried, [batch, candidates, source_len].

        log_probs [batch, source_len, classes]. Draws are the same for a sentence whatever stands beside it: noise
        belongs to a token's place.
        """
        chosen = self.model.choose(log_probs).unsqueeze(1)
        if self.teacher is None or not self.num_samples:
            return chosen
        noise = _noise(self.num_samples, log_probs.size(1), log_probs.size(2)).to(log_probs.device)
        several = [(log_probs + one).argmax(dim=-1) for one in noise]
        return torch.cat([chosen, torch.stack(several, dim=1)], dim=1)

    def _judged(
        self,
        teacher: Decodable[Any],
        source_ids: Tensor,
        source_mask: Tensor,
        grouped: list[list[Candidate]],
        request: SearchRequest,
    ) -> list[list[Candidate]]:
        """Order candidates by what a teacher makes of them; source_ids and source_mask [batch, source_len]."""
        ordered = []
        step = max(1, _JUDGED_TOGETHER // max(map(len, grouped)))
        for start in range(0, len(grouped), step):
            request.before_step()
            some = slice(start, start + step)
            outputs = [[one.hypothesis for one in several] for several in grouped[some]]
            scores = iter(_teacher_scores(teacher, source_ids[some], source_mask[some], outputs, request))
            for several in grouped[some]:
                judged = [one._replace(hypothesis=next(scores)) for one in several]
                ordered.append(sorted(judged, key=lambda it: -it.hypothesis.score))
        return ordered


@lru_cache(maxsize=8)
def _blocks_of_noise(num_samples: int, length: int, classes: int) -> Tensor:
    """Draw Gumbel noise, [candidates, source_len, classes]; a draw and a place have the same whatever else is drawn."""
    drawn = [np.random.default_rng((_SEED, number)).random((length, classes)) for number in range(num_samples)]
    return torch.from_numpy(-np.log(-np.log(np.clip(np.stack(drawn), 1e-12, 1 - 1e-12)))).float()


def _noise(num_samples: int, source_len: int, classes: int) -> Tensor:
    return _blocks_of_noise(num_samples, -(-source_len // _BLOCK) * _BLOCK, classes)[:, :source_len]


def _parts(fertilities: Tensor, caps: Sequence[int]) -> list[slice]:
    """Cut rows of fertilities [rows, source_len] into parts whose positions are written together."""
    longest = max(1, min(int(fertilities.sum(dim=1).max()), max(caps)))
    count = max(1, _POSITIONS_TOGETHER // longest)
    return [slice(start, start + count) for start in range(0, len(fertilities), count)]


def _output(ids: list[int], log_probs: list[float], real: list[bool], cap: int, request: SearchRequest) -> Hypothesis:
    """Make an output of one row: it ends with the end symbol, or with its last position."""
    length = sum(real)
    if request.eos_id in ids[:length]:
        length = ids.index(request.eos_id) + 1
        if length <= cap:
            return finish(ids[: length - 1], log_probs[:length], "eos", length_penalty=request.length_penalty)
    if length >= cap:
        return finish(ids[:cap], log_probs[:cap], "length", length_penalty=request.length_penalty)
    return finish(ids[:length], [*log_probs[:length], 0.0], "eos", length_penalty=request.length_penalty)


def _distinct(outputs: Sequence[Hypothesis], fertilities: Tensor) -> list[Candidate]:
    """Keep the first of equal outputs, with its fertilities [candidates, source_len]."""
    first: dict[tuple[int, ...], Candidate] = {}
    for output, counts in zip(outputs, fertilities.tolist(), strict=True):
        first.setdefault(tuple(output.token_ids), Candidate(output, counts))
    return list(first.values())


def _teacher_scores(
    teacher: Decodable[Any],
    source_ids: Tensor,
    source_mask: Tensor,
    outputs: Sequence[Sequence[Hypothesis]],
    request: SearchRequest,
) -> list[Hypothesis]:
    """Have a teacher read all outputs of sentences, source_ids and source_mask [batch, source_len], in one pass."""
    flat = [output for several in outputs for output in several]
    wanted = [[*output.token_ids, request.eos_id] for output in flat]
    length = max(map(len, wanted))
    targets = torch.tensor([ids + [request.eos_id] * (length - len(ids)) for ids in wanted], device=source_ids.device)
    starts = torch.full_like(targets[:, :1], request.bos_id)
    inputs = torch.cat([starts, targets[:, :-1]], dim=1)  # [rows, length]
    parents = torch.tensor(
        [number for number, several in enumerate(outputs) for _ in several], device=source_ids.device
    )
    state = teacher.start(source_ids, source_mask, max_rows=len(flat), max_len=length, before_layer=request.before_step)
    if hasattr(teacher, "extend"):
        logits = teacher.extend(state, inputs, parents)  # [rows, length, vocab]
    else:
        steps = [
            teacher.step(state, inputs[:, place].contiguous(), parents if place == 0 else None)
            for place in range(length)
        ]
        logits = torch.stack(steps, dim=1)
    chosen = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(dim=-1)
    return [
        finish(
            output.token_ids,
            values[: len(ids) if output.finish_reason == "eos" else len(ids) - 1],
            output.finish_reason,
            length_penalty=request.length_penalty,
        )
        for output, ids, values in zip(flat, wanted, chosen.tolist(), strict=True)
    ]
