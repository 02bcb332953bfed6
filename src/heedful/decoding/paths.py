"""The loop behind greedy search and sampling: one path for each sentence, extended until all have ended.

The tokens stay on the device. The host looks only now and then whether sentences have ended, because each look at a
GPU waits for it; a path that ended in the meantime goes on writing, and what it wrote past its end is cut off here.
How a token is chosen is not known here.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from heedful.decoding.hypothesis import Hypothesis, finish

Choose = Callable[[Tensor, Tensor | None, int, Sequence[int]], tuple[Tensor, Tensor]]
"""(token_ids [rows], parents [rows] or None, step, sentence of each row) -> next token_ids and log_probs [rows]."""

STEPS_BETWEEN_LOOKS_ON_GPU = 8


def follow_paths(
    choose: Choose, *, max_lengths: Sequence[int], bos_id: int, eos_id: int, alpha: float, device: torch.device
) -> list[Hypothesis]:
    """Extend one path for each sentence by what `choose` says, and return where each of them led.

    max_lengths [batch] caps the tokens of each sentence, its end symbol included.
    """
    steps_between_looks = STEPS_BETWEEN_LOOKS_ON_GPU if device.type == "cuda" else 1
    last_step = max(max_lengths) - 1
    written: list[tuple[list[int], list[float]]] = [([], []) for _ in max_lengths]
    unread: list[tuple[Tensor, Tensor]] = []
    sentences = list(range(len(max_lengths)))
    token_ids = torch.full((len(sentences),), bos_id, dtype=torch.long, device=device)
    is_open = torch.ones(len(sentences), dtype=torch.bool, device=device)
    parents: Tensor | None = None
    for step in range(last_step + 1):
        token_ids, log_probs = choose(token_ids, parents, step, sentences)
        unread.append((token_ids, log_probs))
        parents = None
        is_open = is_open & (token_ids != eos_id) & (log_probs > -math.inf)  # NaN is not greater either
        if (step + 1) % steps_between_looks and step < last_step:
            continue
        flags = is_open.tolist()
        rows = [row for row, sentence in enumerate(sentences) if flags[row] and step + 1 < max_lengths[sentence]]
        # Leaving moves the others' caches, so sentences leave in groups of an eighth of the batch.
        if rows and len(sentences) - len(rows) < max(1, len(sentences) // 8):
            continue
        _read(unread, sentences, written)
        if not rows:
            break
        parents = torch.tensor(rows, device=device)
        token_ids, is_open = token_ids[parents], is_open[parents]
        sentences = [sentences[row] for row in rows]
    return [
        _cut(token_ids, log_probs, max_length, eos_id, alpha)
        for (token_ids, log_probs), max_length in zip(written, max_lengths, strict=True)
    ]


def _read(
    unread: list[tuple[Tensor, Tensor]], sentences: Sequence[int], written: Sequence[tuple[list[int], list[float]]]
) -> None:
    """Move the columns collected on the device to the lists of their sentences."""
    token_ids = torch.stack([column for column, _ in unread], dim=1).tolist()  # [rows, length]
    log_probs = torch.stack([column for _, column in unread], dim=1).tolist()
    for row, sentence in enumerate(sentences):
        written[sentence][0].extend(token_ids[row])
        written[sentence][1].extend(log_probs[row])
    unread.clear()


def _cut(
    token_ids: Sequence[int], log_probs: Sequence[float], max_length: int, eos_id: int, alpha: float
) -> Hypothesis:
    """Find where a path ended, and why; what comes after that was written unwatched."""
    for length, (token_id, log_prob) in enumerate(zip(token_ids[:max_length], log_probs[:max_length], strict=True)):
        if not log_prob > -math.inf:
            return finish(token_ids[:length], log_probs[:length], "error", alpha=alpha)
        if token_id == eos_id:
            return finish(token_ids[:length], log_probs[: length + 1], "eos", alpha=alpha)
    return finish(token_ids[:max_length], log_probs[:max_length], "length", alpha=alpha)
