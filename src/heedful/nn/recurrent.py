"""Recurrent units: a state that reads a sequence token by token.

Two kinds: gated recurrent units (Cho et al., 2014) and long short-term memory (Hochreiter and Schmidhuber, 1997).
`step` says what a unit does with one token, and is what a search uses; `forward` runs whole sequences through PyTorch's
fused kernel, and a test holds the two equal. This file knows tensors and masks; it knows nothing of attention.
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.nn.layers import PostNormResidual

Cell = Literal["gru", "lstm"]


class Recurrence(nn.Module, ABC):
    """A layer of recurrent units that reads from the first token to the last.

    Its state is one vector of `state_dim` numbers, of which the first `dim` are what the layer says.
    """

    unit: nn.GRU | nn.LSTM
    num_gates: int

    def __init__(self, dim: int, state_dim: int) -> None:
        super().__init__()
        self.dim, self.state_dim = dim, state_dim

    def forward(self, inputs: Tensor, state: Tensor | None = None) -> Tensor:
        """Read inputs [batch, length, dim] and return what the layer says after each of them, [batch, length, dim].

        It starts from state [batch, dim], zeros when None.
        """
        return self.read(inputs, state)[0]

    @abstractmethod
    def read(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Do what `forward` does, and return the last state besides: [batch, length, dim] and [batch, dim]."""

    def step(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Read one token more, inputs [rows, dim], and return what becomes of state [rows, dim]."""
        weight, _, bias, _ = self.unit.all_weights[0]
        return self.advance(functional.linear(inputs, weight, bias), state)

    def advance(self, read: Tensor, state: Tensor) -> Tensor:
        """Do what `step` does with what the gates make of the inputs, read [rows, hidden_dim], already at hand.

        Returns what becomes of state [rows, dim].
        """
        _, weight, _, bias = self.unit.all_weights[0]
        return self.gated(read, functional.linear(state[:, : self.dim], weight, bias), state)

    @abstractmethod
    def gated(self, read: Tensor, kept: Tensor, state: Tensor) -> Tensor:
        """Let the gates decide: what they make of the inputs and of the state, read and kept [rows, hidden_dim].

        Returns what becomes of state [rows, dim].
        """

    def said(self, state: Tensor) -> Tensor:
        """Return what the layer says in a state [rows, dim], which for some units is a part of it."""
        return state[..., : self.dim]


class GatedRecurrence(Recurrence):
    """Gated recurrent units: the state is what the layer says."""

    num_gates = 3

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__(dim, dim)
        self.unit = nn.GRU(input_dim, dim, batch_first=True)

    def read(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read inputs [batch, length, dim]; return the states after them, the same shape, and the last, [batch, dim].

        It starts from state [batch, dim], zeros when None.
        """
        states, last = self.unit(inputs, None if state is None else state.unsqueeze(0).contiguous())
        return states, last[0]

    def gated(self, read: Tensor, kept: Tensor, state: Tensor) -> Tensor:
        """Forget what the reset gate says, propose a candidate, and mix it with state [rows, dim].

        read and kept [rows, hidden_dim] hold the two gates and the candidate, one after the other.
        """
        gates, candidate, proposed = read[:, : 2 * self.dim], read[:, 2 * self.dim :], kept[:, 2 * self.dim :]
        reset, update = (gates + kept[:, : 2 * self.dim]).sigmoid().chunk(2, dim=-1)
        candidate = (candidate + reset * proposed).tanh()
        return candidate + update * (state - candidate)


class LongShortTermMemory(Recurrence):
    """Long short-term memory: beside what the layer says stands a cell that only its gates can change.

    The state is the two of them, one after the other.
    """

    num_gates = 4

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__(dim, 2 * dim)
        self.unit = nn.LSTM(input_dim, dim, batch_first=True)

    def read(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read inputs [batch, length, dim]; return what is said after each, the same shape, and the last state.

        States are [batch, dim], dim being twice that of what is said; it starts from zeros when None is given.
        """
        halves = None
        if state is not None:
            said, cell = state.unsqueeze(0).chunk(2, dim=-1)
            halves = said.contiguous(), cell.contiguous()
        states, (said, cell) = self.unit(inputs, halves)
        return states, torch.cat([said[0], cell[0]], dim=-1)

    def gated(self, read: Tensor, kept: Tensor, state: Tensor) -> Tensor:
        """Let gates say what enters the cell, what stays in it and what of it is said; state is [rows, dim].

        read and kept [rows, hidden_dim] hold input gate, forget gate, candidate and output gate, one after the other.
        """
        enter, forget, candidate, say = (read + kept).chunk(4, dim=-1)
        cell = forget.sigmoid() * state[:, self.dim :] + enter.sigmoid() * candidate.tanh()
        return torch.cat([say.sigmoid() * cell.tanh(), cell], dim=-1)


CELLS: dict[Cell, type[GatedRecurrence] | type[LongShortTermMemory]] = {
    "gru": GatedRecurrence,
    "lstm": LongShortTermMemory,
}


class BothWays(nn.Module):
    """Two layers, one reading forward and one backward, each with half of the features: a token knows both sides."""

    def __init__(self, dim: int, cell: Cell = "gru") -> None:
        super().__init__()
        self.forward_layer = CELLS[cell](dim, dim // 2)
        self.backward_layer = CELLS[cell](dim, dim // 2)

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read inputs [batch, length, dim], real where mask [batch, length]; returns the same shape."""
        backward = reversed_within(self.backward_layer(reversed_within(inputs, mask)), mask)
        return torch.cat([self.forward_layer(inputs), backward], dim=-1)


class BothWaysLayer(nn.Module):
    """A layer of an encoder that reads both ways, in a residual, called as a layer with attention is."""

    def __init__(self, dim: int, cell: Cell, dropout: float) -> None:
        super().__init__()
        self.both_ways = BothWays(dim, cell)
        self.residual = PostNormResidual(dim, dropout)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read states [batch, source_len, dim], real where mask [batch, 1, 1, source_len]; returns the same shape."""
        is_real = None if mask is None else mask[:, 0, 0]
        output: Tensor = self.residual(states, partial(self.both_ways, mask=is_real))
        return output


def reversed_within(states: Tensor, mask: Tensor | None) -> Tensor:
    """Reverse each sequence of states [batch, length, dim] and leave its padding, where mask [batch, length] is False.

    The padding comes last, so that nobody needs to know lengths on the host. Returns [batch, length, dim].
    """
    if mask is None:
        return states.flip(1)
    places = torch.arange(states.size(1), device=states.device)
    from_end = mask.sum(dim=1, keepdim=True) - 1 - places  # [batch, length], below 0 in the padding
    return states.gather(1, torch.where(from_end < 0, places, from_end).unsqueeze(-1).expand_as(states))


def last_said(states: Tensor, mask: Tensor | None) -> Tensor:
    """Return what both ways end with: the forward half of the last real token beside the backward half of the first.

    states [batch, length, dim], real where mask [batch, length]. Returns [batch, dim]: all that is known of a sequence
    when its last token has been read, from either end.
    """
    ahead, back = states.chunk(2, dim=-1)
    if mask is None:
        return torch.cat([ahead[:, -1], back[:, 0]], dim=-1)
    last = (mask.sum(dim=1) - 1).clamp(min=0)
    places = last.view(-1, 1, 1).expand(-1, 1, ahead.size(-1))
    return torch.cat([ahead.gather(1, places)[:, 0], back[:, 0]], dim=-1)
