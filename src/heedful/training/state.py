"""Everything a training run is at a moment, in one dataclass. What is here is what a checkpoint holds.

Sums for the journal live on the device so that no step waits for the host; they are part of the state because a
run resumed between two lines of the journal must write the same line.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from heedful.training.ema import MovingAverage

MAX_SKIPPED_IN_A_ROW = 5


@dataclass
class Tally:
    """Sums since the last line of the journal, and the count of steps that could not be used."""

    loss_sum: Tensor
    """float64 scalar: loss over the steps that counted."""

    num_items: Tensor
    """float64 scalar: what those steps were averaged over, such as target tokens."""

    metric_sums: dict[str, Tensor]
    """float64 scalars: further sums over the same items."""

    gradient_norm: Tensor
    """float32 scalar: norm of the newest gradient."""

    skipped: Tensor
    """float32 scalar: steps skipped in the whole run."""

    skipped_in_a_row: Tensor
    """float32 scalar: steps skipped since the last good one. At five, no further step counts."""

    @classmethod
    def zeros(cls, device: torch.device) -> "Tally":
        """Make the tally of a run that has done nothing yet."""
        wide = [torch.zeros((), dtype=torch.float64, device=device) for _ in range(2)]
        narrow = [torch.zeros((), device=device) for _ in range(3)]
        return cls(wide[0], wide[1], {}, narrow[0], narrow[1], narrow[2])

    def sum_of(self, metric: str) -> Tensor:
        """Return the sum of a metric, which begins at zero."""
        if metric not in self.metric_sums:
            self.metric_sums[metric] = torch.zeros_like(self.loss_sum)
        return self.metric_sums[metric]

    def start_new_line(self) -> None:
        """Forget the sums; the counts of skipped steps stay. In place: recorded steps know the tensors."""
        for total in (self.loss_sum, self.num_items, *self.metric_sums.values()):
            total.zero_()


@dataclass
class TrainState:
    """A run between two steps."""

    model: nn.Module
    optimizer: AdamW
    tally: Tally
    average: MovingAverage | None = None
    carried: dict[str, Tensor] = field(default_factory=dict)
    """What the loss hands on from batch to batch, such as Transformer-XL's memory; it writes them in place."""

    carried_rows: dict[str, int] = field(default_factory=dict)
    """Which dimension of a carried tensor counts the rows of a batch, where it is not the first."""

    step: int = 0
    """Updates done, skipped ones included."""

    scores: dict[int, float] = field(default_factory=dict)
    """Validated steps → the score that decides which is best."""

    num_parts: int = 1
    """Parts a batch is cut into; grows when the memory does not suffice. One is tried again from time to time."""

    stopped_early: bool = False
    """Training ended because validation stopped getting better."""

    weights: dict[str, nn.Parameter] = field(default_factory=dict)
    """What the optimiser updates, by the model's names: the parameters, or of a sharded model this process's shards."""

    def __post_init__(self) -> None:
        self.weights = self.weights or dict(self.model.named_parameters())

    def zero_grad(self) -> None:
        """Forget all gradients, those on the model and those the optimiser was handed."""
        for parameter in (*self.model.parameters(), *self.weights.values()):
            parameter.grad = None

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device
