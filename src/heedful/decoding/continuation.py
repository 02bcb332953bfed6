"""Writing a text on: symbol after symbol is drawn from what a language model expects, as long as somebody listens.

Knows a reader by its Protocol: something that takes symbols and says what it expects after each. Whether it remembers
states, keys or nothing is its own affair.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from heedful.decoding.sampling import draw_tokens
from heedful.decoding.ways import check_choice
from heedful.errors import UserError


class ReadsOn(Protocol):
    """A language model in the middle of a text."""

    def read(self, token_ids: Tensor) -> Tensor:
        """Read token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab]."""


@dataclass(frozen=True)
class SamplingRequest:
    """How a text is to be gone on with, checked when it is made."""

    max_tokens: int = 200
    """The most symbols to write."""

    temperature: float = 1.0
    """Below 1 surer, above 1 bolder; at 0 the most probable symbol is taken."""

    top_k: int | None = None
    """Draw from so many of the most probable symbols only."""

    top_p: float | None = None
    """Draw from the fewest symbols that have this probability together."""

    seed: int = 0
    """The same seed gives the same text; temperature 0 needs none."""

    def __post_init__(self) -> None:
        """Refuse what leaves nothing to write."""
        if self.max_tokens < 1:
            raise UserError(f"`max_tokens` must be at least 1, but is {self.max_tokens}.")
        if not 0 <= self.temperature < float("inf"):
            raise UserError(f"`temperature` must be 0 or greater, but is {self.temperature}.")
        check_choice(self.top_k, self.top_p)


def continue_text(reader: ReadsOn, prompt_ids: Tensor, request: SamplingRequest, *, segment_len: int) -> Iterator[int]:
    """Read the prompt, prompt_ids [1, length] with at least one symbol, and yield the symbols that follow it.

    The prompt is read `segment_len` symbols at a time. A symbol is drawn when it is asked for, and the reader has then
    read all before it.
    """
    generator = torch.Generator().manual_seed(request.seed)
    for start in range(0, prompt_ids.size(1), segment_len):
        logits = reader.read(prompt_ids[:, start : start + segment_len])[:, -1]  # [1, vocab]
    for number in range(request.max_tokens):
        if request.temperature == 0:
            chosen = logits.argmax(dim=-1)
        else:
            draw = torch.rand(1, generator=generator).to(logits.device)
            chosen = draw_tokens(logits / request.temperature, draw, top_k=request.top_k, top_p=request.top_p)
        yield int(chosen.item())
        if number + 1 < request.max_tokens:
            logits = reader.read(chosen.unsqueeze(1))[:, -1]
