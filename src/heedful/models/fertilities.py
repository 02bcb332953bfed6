"""Fertilities as numbers: which source token each copy is of, and which fertilities of a given sum are most probable.

Tensors of a whole batch, and nothing that asks the host, so that a training step can be recorded.
"""

import torch
from torch import Tensor
from torch.nn import functional

_IMPOSSIBLE = -1e9


def copied_places(fertilities: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Say which source token each position reads when token i is read fertilities[i] times, in order.

    fertilities [batch, source_len]. Returns the tokens' places, and which positions there are, [batch, length] each;
    those behind the last copy have the last source token that has any.
    """
    ends = fertilities.cumsum(dim=1)  # [batch, source_len]
    positions = torch.arange(length, device=ends.device).expand(len(ends), -1)
    real = positions < ends[:, -1:]
    within = torch.minimum(positions, (ends[:, -1:] - 1).clamp(min=0))
    places = torch.searchsorted(ends, within.contiguous(), right=True)
    return places.clamp(max=ends.size(1) - 1), real


def most_probable_of_length(log_probs: Tensor, lengths: Tensor, max_length: int) -> Tensor:
    """Find the most probable fertilities that sum to lengths [batch], none of which is above `max_length`.

    log_probs [batch, source_len, classes] of fertilities from 0 on. Where no fertilities are so large the last token
    has what is left. Returns [batch, source_len].
    """
    batch, source_len, classes = log_probs.shape
    largest = min(classes - 1, max_length)
    backwards = log_probs[..., : largest + 1].flip(-1)  # [batch, source_len, classes], the largest first
    best = torch.full((batch, max_length + 1), 2 * _IMPOSSIBLE, device=log_probs.device)
    best[:, 0] = 0.0
    choices = []
    for place in range(source_len):
        before = functional.pad(best, (largest, 0), value=2 * _IMPOSSIBLE).unfold(1, largest + 1, 1)
        best, choice = (before + backwards[:, place].unsqueeze(1)).max(dim=-1)  # [batch, length]
        choices.append(largest - choice)
    left = lengths.unsqueeze(1)  # [batch, 1]
    found = []
    for choice in reversed(choices):
        taken = torch.minimum(choice.gather(1, left), left)
        found.append(taken)
        left = left - taken
    fertilities = torch.cat(found[::-1], dim=1)
    return torch.cat([fertilities[:, :-1], fertilities[:, -1:] + left], dim=1)
