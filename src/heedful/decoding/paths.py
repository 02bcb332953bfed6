"""The loop behind greedy search and sampling: one path for each sentence, extended until all have ended.

The tokens stay on the device. The host looks only now and then whether sentences have ended, because each look at a
GPU waits for it; a path that ended in the meantime goes on writing, and what it wrote past its end is cut off here.
How a token is chosen is not known here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from heedful.decoding.hypothesis import FinishReason, Hypothesis, finish
from heedful.decoding.request import SearchRequest

Choose = Callable[[Tensor, Tensor | None, int, Sequence[int]], tuple[Tensor, Tensor]]
"""(token_ids [rows], parents [rows] or None, step, sentence of each row) -> next token_ids and log_probs [rows]."""


def follow_paths(
    choose: Choose, request: SearchRequest, device: torch.device, *, steps_between_looks: int | None = None
) -> list[Hypothesis]:
    """Extend one path for each sentence by what `choose` says, and return where each of them led.

    `steps_between_looks` says how long a batch may go on unwatched, and changes no result; it is 1 on a CPU, where
    looking is free, and 8 on a GPU.
    """
    if steps_between_looks is None:
        steps_between_looks = 1 if device.type == "cpu" else 8
    paths = [Path(max_length) for max_length in request.max_lengths]
    last_step = max(request.max_lengths) - 1
    unread: list[tuple[Tensor, Tensor]] = []
    sentences = list(range(len(paths)))
    token_ids = torch.full((len(paths),), request.bos_id, dtype=torch.long, device=device)
    parents: Tensor | None = None
    for step in range(last_step + 1):
        request.before_step()
        token_ids, log_probs = choose(token_ids, parents, step, sentences)
        unread.append((token_ids, log_probs))
        parents = None
        if (step + 1) % steps_between_looks and step < last_step:
            continue
        _read(unread, [paths[sentence] for sentence in sentences], request.eos_id)
        if request.on_tokens is not None:
            for sentence in sentences:
                if news := paths[sentence].news():
                    request.on_tokens(sentence, news)
        rows = [row for row, sentence in enumerate(sentences) if paths[sentence].finish_reason is None]
        if not rows:
            break
        # Leaving moves the others' caches, so sentences leave in groups of an eighth of the batch.
        if len(sentences) - len(rows) >= max(1, len(sentences) // 8):
            parents = torch.tensor(rows, device=device)
            token_ids = token_ids[parents]
            sentences = [sentences[row] for row in rows]
    return [path.hypothesis(request.length_penalty) for path in paths]


@dataclass(slots=True)
class Path:
    """What one sentence has written so far."""

    max_length: int
    token_ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    num_told: int = 0

    def append(self, token_id: int, log_prob: float, eos_id: int) -> None:
        """Take the next token, unless the path has ended; then it was written unwatched and counts for nothing."""
        if self.finish_reason is not None:
            return
        if not log_prob > -math.inf:  # NaN is not greater either
            self.finish_reason = "error"
            return
        self.log_probs.append(log_prob)
        if token_id == eos_id:
            self.finish_reason = "eos"
            return
        self.token_ids.append(token_id)
        if len(self.token_ids) == self.max_length:
            self.finish_reason = "length"

    def news(self) -> list[int]:
        """Return the tokens that were not told yet."""
        news = self.token_ids[self.num_told :]
        self.num_told = len(self.token_ids)
        return news

    def hypothesis(self, length_penalty: float) -> Hypothesis:
        """Return where the path led, and its score."""
        assert self.finish_reason is not None, "every path ends at its cap at the latest"
        return finish(self.token_ids, self.log_probs, self.finish_reason, length_penalty=length_penalty)


def _read(unread: list[tuple[Tensor, Tensor]], paths: Sequence[Path], eos_id: int) -> None:
    """Move the columns [rows] collected on the device to the paths of their rows."""
    token_ids = _to_host([column for column, _ in unread])
    log_probs = _to_host([column for _, column in unread])
    unread.clear()
    for step_ids, step_log_probs in zip(token_ids, log_probs, strict=True):
        for path, token_id, log_prob in zip(paths, step_ids, step_log_probs, strict=True):
            path.append(token_id, log_prob, eos_id)


def _to_host(columns: Sequence[Tensor]) -> list[list[Any]]:
    """Fetch several columns [rows] from the device at once."""
    values: list[list[Any]] = [columns[0].tolist()] if len(columns) == 1 else torch.stack(list(columns)).tolist()
    return values
