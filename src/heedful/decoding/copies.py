"""Several paths for each sentence, which is read once: what sampling and diverse search have in common.

How the next token of a path is picked is not known here.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from heedful.decoding.constraints import Constraints
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.paths import follow_paths
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.request import SearchRequest

Pick = Callable[[Tensor, int, Sequence[int]], Tensor]
"""(log_probs [rows, vocab], step, path of each row) -> next token_ids [rows]. Path p is of sentence p // n_best."""


@torch.inference_mode()
def follow_copies(
    model: Decodable[State], source_ids: Tensor, source_mask: Tensor, request: SearchRequest, pick: Pick
) -> list[list[Hypothesis]]:
    """Write `n_best` outputs for each sentence as `pick` says, and return them, those with the best scores first.

    source_ids int64 and source_mask bool [batch, source_len].
    """
    copies, device, each = request.n_best, source_ids.device, for_each_copy(request)
    constraints = Constraints(each, device)
    sentence_of = torch.arange(len(source_ids), device=device).repeat_interleave(copies)
    state = request.start(model, source_ids, source_mask, max_rows=len(each.max_lengths))

    def choose(token_ids: Tensor, parents: Tensor | None, step: int, paths: Sequence[int]) -> tuple[Tensor, Tensor]:
        if step == 0:  # all copies of a sentence have written the same: nothing
            firsts = constraints.distribution(
                model, state, token_ids[::copies], None, step=step, sentences=paths[::copies]
            )
            log_probs = firsts.repeat_interleave(copies, dim=0)
        else:
            if step == 1 and copies > 1:
                parents = sentence_of if parents is None else sentence_of[parents]
            log_probs = constraints.distribution(model, state, token_ids, parents, step=step, sentences=paths)
        next_ids = pick(log_probs, step, paths)
        return next_ids, log_probs.gather(1, next_ids.unsqueeze(1)).squeeze(1)

    return best_first(follow_paths(choose, each, device), copies)


def for_each_copy(request: SearchRequest) -> SearchRequest:
    """Return what is asked of each path by itself: path p is of sentence p // n_best."""
    copies = request.n_best
    caps = [cap for cap in request.max_lengths for _ in range(copies)]
    prefixes = None if request.prefix_ids is None else [it for it in request.prefix_ids for _ in range(copies)]
    return replace(request, max_lengths=caps, prefix_ids=prefixes, n_best=1)


def best_first(found: Sequence[Hypothesis], copies: int) -> list[list[Hypothesis]]:
    """Gather what the paths led to by their sentences, those with the best scores first."""
    return [
        sorted(found[start : start + copies], key=lambda it: (it.finish_reason == "error", -it.score))
        for start in range(0, len(found), copies)
    ]
