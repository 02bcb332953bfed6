"""Sampling: the next token is drawn, not chosen.

From all tokens, the k most probable (Fan et al., 2018), or the fewest with probability p (Holtzman et al., 2020).
All draws of an output are made before the first step, from the seed, the sentence and the output's number: a sample
never depends on the batch it was in. Log-probabilities stay the model's own, at temperature 1.
"""

from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor

from heedful.decoding.copies import follow_copies
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.request import SearchRequest
from heedful.decoding.ways import Sampling


def sample(
    model: Decodable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest, sampling: Sampling
) -> list[list[Hypothesis]]:
    """Draw `n_best` outputs for each sentence of the batch; those with the best scores come first.

    source_ids int64 and source_mask bool [batch, source_len].
    """
    draws = all_draws(source_ids, source_mask, request, sampling)

    def pick(log_probs: Tensor, step: int, paths: Sequence[int]) -> Tensor:
        drawn = draws[torch.tensor(paths, device=draws.device), step]
        return draw_tokens(log_probs / sampling.temperature, drawn, top_k=sampling.top_k, top_p=sampling.top_p)

    return follow_copies(model, source_ids, source_mask, request, pick)


def all_draws(source_ids: Tensor, source_mask: Tensor, request: SearchRequest, sampling: Sampling) -> Tensor:
    """Make the uniform numbers of all outputs, float32 [rows, target_len]; row r is of sentence r // n_best.

    source_ids int64 and source_mask bool [batch, source_len].
    """
    longest = max(request.max_lengths)
    rows = [
        _draws(sampling.seed, number, ids[mask].tolist(), cap) + [0.0] * (longest - cap)
        for ids, mask, cap in zip(source_ids.cpu(), source_mask.cpu(), request.max_lengths, strict=True)
        for number in range(request.n_best)
    ]
    return torch.tensor(rows, dtype=torch.float32, device=source_ids.device)


def _draws(seed: int, number: int, source: Sequence[int], count: int) -> list[float]:
    """Make the uniform numbers of one output; the same on every machine, as Python promises for a seed of text."""
    random = Random(f"{seed} {number} {' '.join(map(str, source))}")  # noqa: S311 - no secret
    return [random.random() for _ in range(count)]


def draw_tokens(logits: Tensor, draws: Tensor, *, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Turn uniform numbers into tokens: each picks the token whose share of the cumulated probabilities it falls into.

    logits float32 [rows, vocab], draws float32 [rows] in [0, 1]. Returns ids int64 [rows].
    """
    probs = logits.softmax(dim=-1)
    if top_k is not None or top_p is not None:
        count = logits.size(-1) if top_k is None else min(top_k, logits.size(-1))
        best, ids = probs.topk(count, dim=-1)  # [rows, candidates], descending
        if top_p is not None:
            # The most probable token stays whatever p is: rounding must not leave a row without any.
            before = best.cumsum(dim=-1) - best
            best = best.masked_fill((before >= top_p) & (torch.arange(count, device=best.device) > 0), 0.0)
        probs = torch.zeros_like(probs).scatter(1, ids, best)
    # In the order of the ids and not of the probabilities: two that are almost equal must not change places, and with
    # them the outcome, because a batch of another size rounds otherwise. In doubles for the same reason.
    cumulated = probs.double().cumsum(dim=-1)
    threshold = draws.double().unsqueeze(1) * cumulated[:, -1:]
    column = (cumulated <= threshold).sum(dim=-1)
    # A threshold that is the whole sum would fall behind the last token with any probability.
    last = logits.size(-1) - 1 - (probs > 0).flip(-1).int().argmax(dim=-1)
    return column.minimum(last)
