"""Writing a text on: symbol after symbol is drawn from what a language model expects, as long as somebody listens.

Knows a reader by its Protocol: something that takes symbols and says what it expects after each. Whether it remembers
states, keys or nothing is its own affair.
"""

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from heedful.decoding.sampling import check_choice, draw_tokens
from heedful.errors import UserError


class ReadsOn(Protocol):
    """A language model in the middle of a text."""

    def read(self, token_ids: Tensor) -> Tensor:
        """Read token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab]."""


def continue_text(
    reader: ReadsOn,
    prompt_ids: Tensor,
    *,
    max_tokens: int,
    segment_len: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Iterator[int]:
    """Read the prompt, prompt_ids [1, length] with at least one symbol, and yield up to `max_tokens` symbols after it.

    The prompt is read `segment_len` symbols at a time. At temperature 0 the most probable symbol is taken; otherwise
    one is drawn by `generator`, which is on the CPU, from the `top_k` most probable or the fewest that have probability
    `top_p` together. A symbol is drawn when it is asked for, and the reader has then read all before it.
    """
    _check(max_tokens, temperature)
    check_choice(top_k, top_p)
    for start in range(0, prompt_ids.size(1), segment_len):
        logits = reader.read(prompt_ids[:, start : start + segment_len])[:, -1]  # [1, vocab]
    for number in range(max_tokens):
        if temperature == 0:
            chosen = logits.argmax(dim=-1)
        else:
            draw = torch.rand(1, generator=generator).to(logits.device)
            chosen = draw_tokens(logits / temperature, draw, top_k=top_k, top_p=top_p)
        yield int(chosen.item())
        if number + 1 < max_tokens:
            logits = reader.read(chosen.unsqueeze(1))[:, -1]


def _check(max_tokens: int, temperature: float) -> None:
    if max_tokens < 1:
        raise UserError(f"`max_tokens` must be at least 1, but is {max_tokens}.")
    if not 0 <= temperature < float("inf"):
        raise UserError(f"`temperature` must be 0 or greater, but is {temperature}.")
