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


@torch.inference_mode()
def greedy_search(
    model: Decodable[State],
    source_ids: Tensor,
    source_mask: Tensor,
    *,
    bos_id: int,
    eos_id: int,
    max_lengths: Sequence[int],
    forbidden_ids: Sequence[int] = (),
    length_penalty: float = 0.0,
    min_length: int = 0,
    prefix_ids: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """Write each sentence of the batch token by token, always taking the best.

    source_ids int64 and source_mask bool [batch, source_len]. The other arguments are those of `search`.
    """
    device = source_ids.device
    constraints = Constraints(
        eos_id=eos_id, forbidden_ids=forbidden_ids, min_length=min_length, prefix_ids=prefix_ids, device=device
    )
    state = model.start(source_ids, source_mask, max_rows=len(max_lengths), max_len=max(max_lengths))

    def choose(token_ids: Tensor, parents: Tensor | None, step: int, sentences: Sequence[int]) -> tuple[Tensor, Tensor]:
        log_probs, ids = constraints.best(
            model, state, token_ids, parents, step=step, sentences=sentences, count=1
        )  # [rows, candidates]
        if ids.size(1) == 1:
            return ids[:, 0], log_probs[:, 0]
        best, column = log_probs.max(dim=1)  # of equal ones the first
        return ids.gather(1, column.unsqueeze(1)).squeeze(1), best

    return follow_paths(
        choose, max_lengths=max_lengths, bos_id=bos_id, eos_id=eos_id, alpha=length_penalty, device=device
    )
