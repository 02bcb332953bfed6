"""An exponential moving average of the weights, kept beside them.

After each update every averaged weight moves by 1 - decay towards the weight. The average is what is validated and
published; the optimiser never sees it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from heedful.training.distribution.wrapping import local


class MovingAverage:
    """The averaged parameters of one model, by name, in fp32; of a sharded one, this process's shards."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: local(parameter).detach().clone() for name, parameter in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module, skipped: Tensor) -> None:
        """Move towards the model's weights, or stay where `skipped` (a scalar on the device) is 1 instead of 0."""
        current = [local(parameter).detach() for _, parameter in model.named_parameters()]
        averages = list(self.weights.values())
        moves = torch._foreach_sub(current, averages)
        torch._foreach_mul_(moves, (1 - self.decay) * (1 - skipped))
        torch._foreach_add_(averages, moves)

    @contextmanager
    def in_place_of(self, model: nn.Module) -> Iterator[None]:
        """Let the model carry the average inside the block, and its own weights again after it."""
        self._exchange(model)
        try:
            yield
        finally:
            self._exchange(model)

    @torch.no_grad()
    def _exchange(self, model: nn.Module) -> None:
        for name, parameter in model.named_parameters():
            held = local(parameter)
            kept = held.detach().clone()
            held.copy_(self.weights[name])
            self.weights[name].copy_(kept)
