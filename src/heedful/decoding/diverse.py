"""Diverse search: several greedy searches, each of which shuns what those before it write at the same place.

Diverse beam search (Vijayakumar et al., 2018) with groups of one. Log-probabilities stay the model's own: what a token
loses for being written already decides the choice and not the score.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from heedful.decoding.copies import follow_copies
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.request import SearchRequest
from heedful.decoding.ways import Diverse


def diverse_search(
    model: Decodable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest, diverse: Diverse
) -> list[list[Hypothesis]]:
    """Write up to `n_best` different outputs for each sentence, those with the best scores first.

    source_ids int64 and source_mask bool [batch, source_len].
    """
    copies, device = request.n_best, source_ids.device
    has_ended = torch.zeros(len(source_ids) * copies, dtype=torch.bool, device=device)

    def pick(log_probs: Tensor, _: int, paths: Sequence[int]) -> Tensor:
        path_of = torch.tensor(paths, device=device)  # [rows]
        chosen = torch.empty_like(path_of)
        is_written = log_probs.new_zeros(len(source_ids), log_probs.size(1))  # [batch, vocab]
        for group in range(copies):
            rows = torch.nonzero(path_of % copies == group).squeeze(1)
            sentences = path_of[rows] // copies
            chosen[rows] = (log_probs[rows] - diverse.strength * is_written[sentences]).argmax(dim=-1)
            # A path that has ended may go on unwatched: what it writes then must not concern the others.
            writes = (~has_ended[path_of[rows]]).to(log_probs.dtype)
            is_written.index_put_((sentences, chosen[rows]), writes, accumulate=True)
        has_ended[path_of] |= chosen == request.eos_id
        return chosen

    found = follow_copies(model, source_ids, source_mask, request, pick)
    return [_without_repetition(hypotheses) for hypotheses in found]


def _without_repetition(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    return list({tuple(it.token_ids): it for it in reversed(hypotheses)}.values())[::-1]
