"""Greedy search: the most probable token, then the most probable token after it.

It finds what a beam of one finds, token for token, with less to do at each step.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from heedful.decoding.constraints import Constraints
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.paths import follow_paths
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.request import SearchRequest


@torch.inference_mode()
def greedy_search(
    model: Decodable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest
) -> list[Hypothesis]:
    """Write each sentence of the batch token by token, always taking the best.

    source_ids int64 and source_mask bool [batch, source_len].
    """
    constraints = Constraints(request, source_ids.device)
    state = request.start(model, source_ids, source_mask, max_rows=len(request.max_lengths))

    def choose(token_ids: Tensor, parents: Tensor | None, step: int, sentences: Sequence[int]) -> tuple[Tensor, Tensor]:
        log_probs, ids = constraints.best(
            model, state, token_ids, parents, step=step, sentences=sentences, count=1
        )  # [rows, candidates]
        if ids.size(1) == 1:
            return ids[:, 0], log_probs[:, 0]
        best, column = log_probs.max(dim=1)  # of equal ones the first
        return ids.gather(1, column.unsqueeze(1)).squeeze(1), best

    return follow_paths(choose, request, source_ids.device)
