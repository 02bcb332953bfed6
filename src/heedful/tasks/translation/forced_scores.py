"""How probable given translations are to a model, token by token: forced decoding of many pairs at once.

Works with whatever can be searched; several tokens at once where it can be extended. Knows ids and tensors.
"""

from collections.abc import Sequence
from typing import Any

import torch

from heedful.decoding import Decodable
from heedful.tasks.device import within_memory
from heedful.tasks.translation.padding import batches_by_length, padded

_LOGITS_TOGETHER = 4_000_000
"""Numbers that are computed at once: tokens of all rows times the vocabulary."""

Pair = tuple[Sequence[int], Sequence[int]]
"""Ids of a source as it is read, and of a translation with its end symbol."""


def forced_scores(
    model: Decodable[Any], pairs: Sequence[Pair], *, bos_id: int, vocab_size: int, device: torch.device
) -> list[list[float]]:
    """Return the log-probability of each token of each translation, in order; that of the end is the last."""
    scores: dict[int, list[float]] = {}

    def score(numbers: Sequence[int]) -> list[list[float]]:
        return _scored(model, [pairs[number] for number in numbers], bos_id, device)

    lengths = [len(target) for _, target in pairs]
    for numbers in batches_by_length(lengths, max(1, _LOGITS_TOGETHER // vocab_size)):
        scores |= zip(numbers, within_memory(score, numbers), strict=True)
    return [scores[number] for number in range(len(pairs))]


@torch.inference_mode()
def _scored(model: Decodable[Any], pairs: Sequence[Pair], bos_id: int, device: torch.device) -> list[list[float]]:
    # Padded with 0, which no score is read from.
    sources, source_mask = (part.to(device) for part in padded([source for source, _ in pairs], 0))
    targets = padded([target for _, target in pairs], 0)[0].to(device)
    starts = torch.full_like(targets[:, :1], bos_id)
    inputs = torch.cat([starts, targets[:, :-1]], dim=1)  # [batch, target_len]
    state = model.start(sources, source_mask, max_rows=len(pairs), max_len=inputs.size(1))
    if hasattr(model, "extend"):
        logits = model.extend(state, inputs, None)  # [batch, target_len, vocab]
    else:
        steps = [model.step(state, inputs[:, place].contiguous(), None) for place in range(inputs.size(1))]
        logits = torch.stack(steps, dim=1)
    chosen = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(dim=-1)
    return [row[: len(target)] for row, (_, target) in zip(chosen.tolist(), pairs, strict=True)]
