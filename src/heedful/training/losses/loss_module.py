"""What a loss is: a module that holds the model and turns a batch into a sum, in one forward pass.

One forward, because that is where PyTorch's own machinery hooks in: `DistributedDataParallel` and `fully_shard` wrap
a loss module as they wrap any other, projection to the vocabulary included (decision 009). The names of the model's
weights are still the model's: checkpoints hold `loss.model`, not the loss. This file knows no kind of batch or model.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple

import torch
from torch import Tensor, nn

from heedful.data.named_batch import BatchT


class LossSum(NamedTuple):
    """What one forward pass contributes to a step; a tuple, because wrappers look for tensors in what they know."""

    loss_sum: Tensor
    """Differentiable scalar: the loss, summed over items."""

    num_items: int
    """What was summed over, target tokens, symbols or documents; padding left out."""

    metrics: Mapping[str, Tensor] = MappingProxyType({})
    """Further detached sums over the same items, written to the journal as means."""

    after_gradients: Callable[[], None] = lambda: None
    """To be called once the gradients are taken: what the pass leaves for the next may overwrite what it has read."""


class LossModule(nn.Module, ABC, Generic[BatchT]):
    """A model together with what it minimises.

    In its first `early_steps` steps a loss may be another one, of the same model: whoever trains sets `is_early`.
    """

    def __init__(self, model: nn.Module, *, early_steps: int = 0) -> None:
        super().__init__()
        self.model = model
        self.early_steps = early_steps
        self.is_early = False
        self.carried: dict[str, Tensor] = {}
        """What is handed on from batch to batch, by the names a checkpoint has; written in place."""

        self.carried_rows: dict[str, int] = {}
        """Which dimension of a carried tensor counts the rows of a batch, where it is not the first."""

    @property
    def device(self) -> torch.device:
        """Where the weights are, and batches have to be."""
        return next(self.parameters()).device

    @abstractmethod
    def forward(self, batch: BatchT) -> LossSum:
        """Sum the loss over a batch that is on the model's device."""
