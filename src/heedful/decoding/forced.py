"""How probable given outputs are: the search without a choice.

The model is led along each output and asked at every step for the probability of the token that comes next. Any
`Decodable` can be asked, on any device. This file knows nothing of what the probabilities are for.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from heedful.decoding.protocol import Decodable, State


@torch.inference_mode()
def score_outputs(
    model: Decodable[State],
    source_ids: Tensor,
    source_mask: Tensor,
    outputs: Sequence[Sequence[int]],
    *,
    bos_id: int,
    eos_id: int,
) -> list[list[float]]:
    """Return the log-probability of every token of one output for each sentence, and of its end.

    source_ids int64 and source_mask bool [batch, source_len]; `outputs` are [batch] lists of ids without start and end
    symbols.
    """
    if not outputs:
        return []
    device = source_ids.device
    lengths = torch.tensor([len(output) + 1 for output in outputs])
    longest = int(lengths.max())
    written = torch.tensor([[*output, *[eos_id] * (longest - len(output))] for output in outputs])  # [batch, length]
    state = model.start(source_ids, source_mask, max_rows=len(outputs), max_len=longest)
    rows = torch.arange(len(outputs))  # the sentences that are not at their end yet
    tokens, parents = torch.full((len(outputs),), bos_id, device=device), None
    scores: list[list[float]] = [[] for _ in outputs]
    for step in range(longest):
        log_probs = model.step(state, tokens, parents).log_softmax(dim=-1)  # [rows, vocab]
        wanted = written[rows, step]
        found = log_probs.gather(1, wanted.to(device).unsqueeze(1)).squeeze(1).tolist()
        for row, value in zip(rows.tolist(), found, strict=True):
            scores[row].append(value)
        goes_on = lengths[rows] > step + 1
        kept = goes_on.nonzero().squeeze(1)
        rows, tokens = rows[goes_on], wanted[goes_on].to(device)
        parents = None if bool(goes_on.all()) else kept.to(device)
    return scores
