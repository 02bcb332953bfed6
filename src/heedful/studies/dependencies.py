"""What has to wait for what: sequential steps counted in a layer's graph, and how far an input is felt.

Both are found by looking at real computations. Sequential steps are the longest chain of operations each of which needs
the result of the one before, as PyTorch's graph of a forward pass has recorded it. The longest path is the number of
rounds until the last output feels the first input: until its gradient with respect to that input is not zero.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from heedful.studies.layers import Rounds


def longest_chain(output: Tensor) -> int:
    """Return how many operations of the graph behind output [batch, length, dim] must follow one another."""
    assert output.grad_fn is not None
    lengths: dict[Node, int] = {}
    stack = [output.grad_fn]
    while stack:  # a recurrent layer is deeper than Python's stack
        node = stack[-1]
        needed = [before for before, _ in node.next_functions if before is not None]
        missing = [before for before in needed if before not in lengths]
        if missing:
            stack += missing
        else:
            lengths[stack.pop()] = 1 + max((lengths[before] for before in needed), default=0)
    return lengths[output.grad_fn]


def sequential_steps(build: Callable[[int], nn.Module], *, length: int, dim: int) -> int:
    """Return the longest chain of a layer's forward pass on a CPU, where no kernel hides steps inside it."""
    inputs = torch.zeros(1, length, dim, requires_grad=True)
    return longest_chain(build(dim)(inputs))


def felt_inputs(rounds: Rounds, inputs: Tensor, number: int) -> Tensor:
    """Return which inputs the last output feels after `number` rounds: [length], True where its gradient is not zero.

    inputs [batch, length, dim] of one sequence, in float64.
    """
    inputs = inputs.detach().requires_grad_()
    states = rounds.start(inputs)
    for this in range(number):
        states = rounds.advance(inputs, states, this)
    weights = torch.linspace(0.5, 1.5, inputs.size(-1), dtype=inputs.dtype)
    (gradient,) = torch.autograd.grad((states[0, -1] * weights).sum(), inputs)
    return gradient[0].abs().sum(dim=-1) > 0


def rounds_to_reach(rounds: Rounds, inputs: Tensor) -> int:
    """Return after how many rounds the last output feels the first input; inputs [batch, length, dim] in float64."""
    low, high = 0, 1
    while not felt_inputs(rounds, inputs, high)[0]:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if felt_inputs(rounds, inputs, middle)[0] else (middle, high)
    return high
