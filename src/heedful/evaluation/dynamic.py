"""Dynamic evaluation: the model goes on learning from the text it is being scored on (Krause et al., 2018; 2019).

Each segment is scored before it is learned from, so no symbol is seen before it is predicted. An update moves against
the segment's gradient, and a part of the way back to the trained weights, which keeps the model from losing itself:

    sgd   θ ← θ - rate · g + decay · (θ₀ - θ)
    rms   θ ← θ - rate · g / (√m + ε) + decay · n · (θ₀ - θ)

where m is the mean square of the gradients on training text, and n is √m over its mean: weights that matter are held
back more. The model's weights are as before when the scoring ends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.models.segment_memory import SegmentModel

Ids = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Adaptation:
    """How the model moves."""

    kind: Literal["sgd", "rms"] = "rms"
    rate: float = 2e-5
    decay: float = 1e-3
    epsilon: float = 1e-5


class SegmentPass:
    """Reads one text in segments and leaves the gradient of each on the model."""

    def __init__(self, model: nn.Module, ids: Ids, *, start_id: int, memory_len: int, segment_len: int) -> None:
        self._model: SegmentModel = model  # type: ignore[assignment]
        device = next(model.parameters()).device
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._segment_len = segment_len
        self._targets = torch.from_numpy(ids.astype(np.int64)).to(device).unsqueeze(0)  # [1, length]
        start = torch.tensor([[start_id]], device=device)
        self._inputs = torch.cat([start, self._targets[:, :-1]], dim=1)
        self._memory = self._model.empty_memory(1, memory_len)

    def gradients(self) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Yield the nats of each segment, on the device, and the gradient of its mean in every parameter."""
        for start in range(0, self._targets.size(1), self._segment_len):
            span = slice(start, start + self._segment_len)
            with torch.enable_grad():
                hidden, memory = self._model(self._inputs[:, span], self._memory)
                logits = self._model.project(hidden).flatten(0, 1).float()
                nats = functional.cross_entropy(logits, self._targets[0, span], reduction="sum")
                found = torch.autograd.grad(nats / logits.size(0), self._parameters)
            self._memory = memory
            yield nats.detach(), list(found)


def mean_squares(model: nn.Module, ids: Ids, *, start_id: int, memory_len: int, segment_len: int) -> dict[str, Tensor]:
    """Return the mean square of the gradients over the segments of a training text, by the names of the parameters."""
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    sums = [torch.zeros_like(parameter) for parameter in model.parameters() if parameter.requires_grad]
    count = 0
    reading = SegmentPass(model, ids, start_id=start_id, memory_len=memory_len, segment_len=segment_len)
    for _, gradients in reading.gradients():
        torch._foreach_addcmul_(sums, gradients, gradients)
        count += 1
    assert count, "a text has at least one segment"
    return {name: total / count for name, total in zip(names, sums, strict=True)}


def score_dynamically(
    model: nn.Module,
    ids: Ids,
    adaptation: Adaptation,
    *,
    start_id: int,
    memory_len: int,
    segment_len: int,
    squares: Mapping[str, Tensor] | None = None,
) -> float:
    """Return the nats of all symbols, the model adapting to each segment after it has been scored.

    squares are those of `mean_squares`, which `rms` needs.
    """
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    moves = _Moves(named, adaptation, squares)
    total = torch.zeros((), dtype=torch.float64, device=next(model.parameters()).device)  # read once: no waiting
    reading = SegmentPass(model, ids, start_id=start_id, memory_len=memory_len, segment_len=segment_len)
    try:
        with torch.no_grad():
            for nats, gradients in reading.gradients():
                total += nats
                moves.apply(gradients)
    finally:
        moves.undo()
    return float(total.item())


class _Moves:
    """The updates of all parameters, in a few operations for all of them together."""

    def __init__(
        self, named: Mapping[str, nn.Parameter], adaptation: Adaptation, squares: Mapping[str, Tensor] | None
    ) -> None:
        self._parameters = [parameter.detach() for parameter in named.values()]
        self._trained = [parameter.clone() for parameter in self._parameters]
        if adaptation.kind == "sgd":
            self._rates = [parameter.new_tensor(adaptation.rate) for parameter in self._trained]
            self._decays = [parameter.new_tensor(adaptation.decay) for parameter in self._trained]
            return
        assert squares is not None, "rms needs the gradients of training text"
        roots = [squares[name].sqrt() for name in named]
        self._rates = [adaptation.rate / (root + adaptation.epsilon) for root in roots]
        # At most the whole way back in one step.
        self._decays = [(adaptation.decay * root / root.mean().clamp(min=1e-30)).clamp(max=1.0) for root in roots]

    def apply(self, gradients: list[Tensor]) -> None:
        """Move against the gradients and towards where the weights began."""
        steps = torch._foreach_sub(self._trained, self._parameters)
        torch._foreach_mul_(steps, self._decays)
        torch._foreach_addcmul_(steps, self._rates, gradients, value=-1.0)
        torch._foreach_add_(self._parameters, steps)

    def undo(self) -> None:
        """Put the weights back where they began."""
        torch._foreach_copy_(self._parameters, self._trained)
