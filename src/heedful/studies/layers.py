"""One layer of each family, as the table of section 4 of the paper compares them: [batch, length, dim] in and out.

Layers come from `heedful.nn`. What only this comparison needs stands here: attention without its projections, which
is what the table counts; attention restricted to a neighbourhood; a plain convolution. A layer can also be read as
rounds: what one round hands on, for all positions at once. A stack of layers is rounds of a layer; a recurrent layer
is rounds of its step.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.nn.attention import MultiHeadSelfAttention, attend, attend_fused, join_heads, split_heads
from heedful.nn.recurrent import GatedRecurrence

HEAD_DIM = 64
"""Features of a head; a wider layer has more heads, as in the models of the paper."""

KERNEL = 3
"""Positions a convolution sees at once, k."""

WINDOW = 32
"""Positions that restricted attention sees on each side; its r is twice that and one."""


def num_heads(dim: int) -> int:
    """Return how many heads a layer of `dim` features has."""
    return max(1, dim // HEAD_DIM)


class EquationAttention(nn.Module):
    """Self-attention without projections as the equation says it: all weights are held at once."""

    def forward(self, states: Tensor) -> Tensor:
        """Let every position of states [batch, length, dim] gather from all; returns the same shape."""
        heads = split_heads(states, num_heads(states.size(-1)))
        return join_heads(attend(heads, heads, heads)[0])


class FusedAttention(nn.Module):
    """The same from one fused kernel, which never holds the weights."""

    def forward(self, states: Tensor) -> Tensor:
        """Let every position of states [batch, length, dim] gather from all; returns the same shape."""
        heads = split_heads(states, num_heads(states.size(-1)))
        return join_heads(attend_fused(heads, heads, heads))


class RestrictedAttention(nn.Module):
    """Self-attention without projections in which a position sees only its neighbourhood (section 4 of the paper)."""

    def __init__(self, window: int = WINDOW) -> None:
        super().__init__()
        self.window = window

    def forward(self, states: Tensor) -> Tensor:
        """Let every position of states [batch, length, dim] gather from those near it; returns the same shape."""
        heads = split_heads(states, num_heads(states.size(-1)))
        key_len, length = 2 * self.window + 1, states.size(1)
        # The neighbours of every position: [batch, heads, length, key_len, head_dim].
        near = functional.pad(heads, (0, 0, self.window, self.window)).unfold(2, key_len, 1).transpose(-2, -1)
        places = torch.arange(length, device=states.device).unsqueeze(1) + torch.arange(
            -self.window, self.window + 1, device=states.device
        )
        is_there = (places >= 0) & (places < length)  # [length, key_len]
        averages, _ = attend(heads.unsqueeze(3), near, near, is_there.unsqueeze(1))
        return join_heads(averages.squeeze(3))


class Convolution(nn.Module):
    """A causal convolution over the last `kernel` positions, or over as many that are `dilation` apart."""

    def __init__(self, dim: int, kernel: int = KERNEL, dilation: int = 1) -> None:
        super().__init__()
        self.before = dilation * (kernel - 1)
        self.convolution = nn.Conv1d(dim, dim, kernel, dilation=dilation)

    def forward(self, states: Tensor) -> Tensor:
        """Read states [batch, length, dim] and return the same shape."""
        padded = functional.pad(states.transpose(1, 2), (self.before, 0))  # the last dimension is the length
        output: Tensor = self.convolution(padded).transpose(1, 2)
        return output


@dataclass(frozen=True)
class Family:
    """A kind of layer, and what the table of the paper says of it."""

    name: str
    """As it is called in tables."""

    build: Callable[[int], nn.Module]
    """Makes a layer of a width."""

    multiply_adds: Callable[[int, int], int]
    """How many products of a forward pass are added up, from length n and width d; a test counts them."""

    operations: str
    sequential: str
    path: str

    exponents: dict[str, int] | None
    """The powers of n and d in `operations`; None where they are a sum of two."""


FAMILIES: dict[str, Family] = {
    "attention": Family(
        "self-attention",
        lambda _: FusedAttention(),
        lambda n, d: 2 * n * n * d,
        "O(n²·d)",
        "O(1)",
        "O(1)",
        {"n": 2, "d": 1},
    ),
    "unfused": Family(
        "self-attention, unfused",
        lambda _: EquationAttention(),
        lambda n, d: 2 * n * n * d,
        "O(n²·d)",
        "O(1)",
        "O(1)",
        {"n": 2, "d": 1},
    ),
    "projected": Family(
        "self-attention with projections",
        lambda dim: MultiHeadSelfAttention(dim, num_heads(dim)),
        lambda n, d: 2 * n * n * d + 4 * n * d * d,
        "O(n²·d + n·d²)",
        "O(1)",
        "O(1)",
        None,
    ),
    "restricted": Family(
        f"restricted attention, r = {2 * WINDOW + 1}",
        lambda _: RestrictedAttention(),
        lambda n, d: 2 * (2 * WINDOW + 1) * n * d,
        "O(r·n·d)",
        "O(1)",
        "O(n/r)",
        {"n": 1, "d": 1},
    ),
    "recurrent": Family(
        "recurrent (GRU)",
        lambda dim: GatedRecurrence(dim, dim),
        lambda n, d: 6 * n * d * d,
        "O(n·d²)",
        "O(n)",
        "O(n)",
        {"n": 1, "d": 2},
    ),
    "convolution": Family(
        f"convolution, k = {KERNEL}",
        Convolution,
        lambda n, d: KERNEL * n * d * d,
        "O(k·n·d²)",
        "O(1)",
        "O(n/k)",
        {"n": 1, "d": 2},
    ),
}


@dataclass(frozen=True)
class Rounds:
    """A family read as rounds: what is computed for all positions at once, again and again."""

    name: str
    path: str
    """How the number of rounds grows with the length, as the paper says it."""

    start: Callable[[Tensor], Tensor]
    """Makes the states of the first round from inputs [batch, length, dim]."""

    advance: Callable[[Tensor, Tensor, int], Tensor]
    """Computes the next states from inputs, states and the number of the round, [batch, length, dim] each."""


def rounds_of(dim: int, *, kernel: int = KERNEL, window: int = 2) -> dict[str, Rounds]:
    """Return the families as rounds, in float64: what comes through many of them must not vanish by rounding.

    Of all but the recurrent one a round is a layer. Of the recurrent one it is a step of every position from the state
    of its neighbour: after as many rounds as positions nothing changes any more, and that is the layer's output.
    """
    attention, restricted = MultiHeadSelfAttention(dim, 1).double(), RestrictedAttention(window)
    unit = GatedRecurrence(dim, dim).double()
    contiguous = Convolution(dim, kernel).double()
    dilated = [Convolution(dim, kernel, kernel**level).double() for level in range(12)]

    def step(inputs: Tensor, states: Tensor, _: int) -> Tensor:
        """Hand every state on to the next position, [batch, length, dim]."""
        before = functional.pad(states, (0, 0, 1, 0))[:, :-1]
        return unit.step(inputs.flatten(0, 1), before.flatten(0, 1)).view_as(states)

    def stacked(layer: nn.Module) -> Callable[[Tensor, Tensor, int], Tensor]:
        return lambda _inputs, states, _round: layer(states)

    def dilated_layer(_inputs: Tensor, states: Tensor, number: int) -> Tensor:
        """Run the layer of this round, [batch, length, dim]."""
        output: Tensor = dilated[number](states)
        return output

    return {
        "attention": Rounds("self-attention", "O(1)", _as_they_are, stacked(attention)),
        "restricted": Rounds(
            f"restricted attention, r = {2 * window + 1}", "O(n/r)", _as_they_are, stacked(restricted)
        ),
        "recurrent": Rounds("recurrent (GRU)", "O(n)", torch.zeros_like, step),
        "convolution": Rounds(f"convolution, k = {kernel}", "O(n/k)", _as_they_are, stacked(contiguous)),
        "dilated": Rounds(f"dilated convolution, k = {kernel}", "O(log_k n)", _as_they_are, dilated_layer),
    }


def _as_they_are(inputs: Tensor) -> Tensor:
    return inputs
