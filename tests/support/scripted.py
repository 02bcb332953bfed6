"""A model without a network: what it says next is read from a script, so that a search is tested and nothing else.

`Script` gives the logits for a source and what has been written so far. `ScriptedModel` puts it behind the protocol and
is strict about it: rows, room and ids outside of what was agreed fail the test.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

PAD, BOS, EOS = 0, 1, 2
Prefix = tuple[int, ...]
Script = Callable[[Prefix, Prefix], Sequence[float]]
"""(source ids, written ids) -> logits [vocab]"""


def random_script(seed: int, vocab: int, sharpness: float = 2.0) -> Script:
    """Logits that look like noise but depend on nothing except the seed, the source and what has been written."""

    def logits(source: Prefix, written: Prefix) -> Sequence[float]:
        # In steps of a quarter, so that ties happen.
        draws = np.random.default_rng([seed, len(source), *source, *written]).normal(size=vocab) * sharpness
        return [float(value) for value in np.round(draws * 4) / 4]

    return logits


@dataclass
class Rows:
    sources: list[Prefix]
    written: list[Prefix]
    max_rows: int
    max_len: int


class ScriptedModel:
    """A `Decodable` that reads from a script. `steps` holds the number of rows of each step that was taken."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.steps: list[int] = []

    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = lambda: None,
    ) -> Rows:
        before_layer()
        sources = [tuple(ids[mask].tolist()) for ids, mask in zip(source_ids, source_mask, strict=True)]
        return Rows(sources, [() for _ in sources], max_rows, max_len)

    def step(self, state: Rows, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        rows = list(range(len(state.sources))) if parents is None else parents.tolist()
        assert token_ids.shape == (len(rows),)
        assert token_ids.dtype == torch.long
        assert len(rows) <= state.max_rows
        state.sources = [state.sources[row] for row in rows]
        state.written = [(*state.written[row], token) for row, token in zip(rows, token_ids.tolist(), strict=True)]
        assert max(map(len, state.written)) <= state.max_len
        assert all(written[0] == BOS for written in state.written)
        self.steps.append(len(rows))
        logits = [
            self.script(source, written[1:]) for source, written in zip(state.sources, state.written, strict=True)
        ]
        return torch.tensor(logits, dtype=torch.float32, device=token_ids.device)

    def step_best(self, state: Rows, token_ids: Tensor, parents: Tensor | None, *, count: int) -> tuple[Tensor, Tensor]:
        log_probs, ids = self.step(state, token_ids, parents).log_softmax(-1).sort(dim=-1, descending=True, stable=True)
        return log_probs[:, :count], ids[:, :count]


def batch_of(sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Pad the sources to one tensor of ids and one mask, both [batch, source_len]."""
    source_ids = torch.zeros(len(sources), max(map(len, sources)), dtype=torch.long)
    for row, source in enumerate(sources):
        source_ids[row, : len(source)] = torch.tensor(source)
    return source_ids, source_ids != PAD


def log_probs_after(script: Script, source: Sequence[int], written: Sequence[int]) -> list[float]:
    """The script's log-probabilities [vocab], rounded to float32 as a model's are."""
    return torch.tensor(script(tuple(source), tuple(written)), dtype=torch.float32).log_softmax(-1).tolist()


def rescore(script: Script, source: Sequence[int], tokens: Sequence[int]) -> list[float]:
    """Log-probability of each of the tokens, computed without any search."""
    return [log_probs_after(script, source, tokens[:i])[token] for i, token in enumerate(tokens)]


def penalty(length: int, alpha: float) -> float:
    return math.pow((5 + length) / 6, alpha)


def exhaustive(
    script: Script, source: Sequence[int], *, allowed: Sequence[int], max_length: int, alpha: float
) -> list[tuple[float, list[int]]]:
    """Score every output there is: all that end within the cap, and all that the cap cuts. Best first."""

    def outputs() -> Iterator[list[int]]:
        for length in range(max_length):
            for content in itertools.product(allowed, repeat=length):
                yield [*content, EOS]
        yield from map(list, itertools.product(allowed, repeat=max_length))

    scored = [
        (sum(rescore(script, source, output)) / penalty(len(output), alpha), [it for it in output if it != EOS])
        for output in outputs()
    ]
    return sorted(scored, key=lambda it: -it[0])


class ReadingScript(ScriptedModel):
    """A scripted model that also reads several tokens at once and forgets: an `Extendable`. Each is one pass."""

    def extend(self, state: Rows, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        passes = len(self.steps)
        logits = []
        for column in token_ids.unbind(1):
            logits.append(self.step(state, column, parents))
            parents = None
        self.steps[passes:] = [len(token_ids)]
        return torch.stack(logits, dim=1)

    def extend_best(
        self, state: Rows, token_ids: Tensor, parents: Tensor | None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        log_probs, ids = (
            self.extend(state, token_ids, parents).log_softmax(-1).sort(dim=-1, descending=True, stable=True)
        )
        return log_probs[:, :, :count], ids[:, :, :count]

    def rewind(self, state: Rows, lengths: Tensor) -> None:
        assert len(lengths) == len(state.written)
        assert all(0 <= length <= len(row) for length, row in zip(lengths.tolist(), state.written, strict=True))
        state.written = [row[:length] for length, row in zip(lengths.tolist(), state.written, strict=True)]
