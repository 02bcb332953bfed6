"""Gated recurrent units (Cho et al., 2014): one state that reads a sequence token by token.

`step` says what a unit does with one token, and is what a search uses; `forward` runs whole sequences through PyTorch's
fused kernel, and a test holds the two equal. This file knows tensors and masks; it knows nothing of attention.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class GatedRecurrence(nn.Module):
    """A layer of gated recurrent units that reads from the first token to the last."""

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__()
        self.unit = nn.GRU(input_dim, dim, batch_first=True)

    def forward(self, inputs: Tensor, state: Tensor | None = None) -> Tensor:
        """Read inputs [batch, length, dim] and return the state after each of them, [batch, length, dim].

        It starts from state [batch, dim], zeros when None.
        """
        states: Tensor = self.unit(inputs, None if state is None else state.unsqueeze(0).contiguous())[0]
        return states

    def step(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Read one token more, inputs [rows, dim], and return what becomes of state [rows, dim]."""
        weight_read, weight_kept, bias_read, bias_kept = self.unit.all_weights[0]
        read = functional.linear(inputs, weight_read, bias_read).chunk(3, dim=-1)
        kept = functional.linear(state, weight_kept, bias_kept).chunk(3, dim=-1)
        reset = (read[0] + kept[0]).sigmoid()
        update = (read[1] + kept[1]).sigmoid()
        candidate = (read[2] + reset * kept[2]).tanh()
        return (1 - update) * candidate + update * state


class BothWays(nn.Module):
    """Two layers, one reading forward and one backward, each with half of the features: a token knows both sides."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.forward_layer = GatedRecurrence(dim, dim // 2)
        self.backward_layer = GatedRecurrence(dim, dim // 2)

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read inputs [batch, length, dim], real where mask [batch, length]; returns the same shape."""
        backward = reversed_within(self.backward_layer(reversed_within(inputs, mask)), mask)
        return torch.cat([self.forward_layer(inputs), backward], dim=-1)


def reversed_within(states: Tensor, mask: Tensor | None) -> Tensor:
    """Reverse each sequence of states [batch, length, dim] and leave its padding, where mask [batch, length] is False.

    The padding comes last, so that nobody needs to know lengths on the host. Returns [batch, length, dim].
    """
    if mask is None:
        return states.flip(1)
    places = torch.arange(states.size(1), device=states.device)
    from_end = mask.sum(dim=1, keepdim=True) - 1 - places  # [batch, length], below 0 in the padding
    return states.gather(1, torch.where(from_end < 0, places, from_end).unsqueeze(-1).expand_as(states))
