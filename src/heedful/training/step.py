"""One update of the weights: gradients of all micro-batches, norm, clipping, Adam.

Three things make it more than a loop body. The loss is normalised by the target tokens of the whole step, however
it is cut. A step whose loss or gradient is not finite is skipped *on the device*: fused AdamW takes a flag and leaves
weights and moments bitwise as they were, so the host need not look. And when memory runs out, the step starts over
with each batch cut into twice as many parts; the gradient is the same.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.training.loss import LossSum
from heedful.training.optimizer import set_learning_rate
from heedful.training.state import MAX_SKIPPED_IN_A_ROW, Tally, TrainState


class TrainBatch(Protocol):
    """What a step must know of a batch."""

    @property
    def num_target_tokens(self) -> int:
        """Real target tokens, known to the host."""

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Self:
        """Copy the tensors to the device."""

    def split(self, count: int, /) -> Sequence[Self]:
        """Cut the rows into `count` batches, or as many as there are rows."""


BatchT = TypeVar("BatchT", bound=TrainBatch)
LossFunction = Callable[[nn.Module, BatchT], LossSum]


def train_step(
    state: TrainState,
    loss_function: LossFunction[BatchT],
    batches: Sequence[BatchT],
    *,
    learning_rate: float,
    clip_norm: float | None = None,
    bf16: bool = False,
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Do update `state.step` + 1 on the batches taken together. Reads nothing back from the device.

    Dropout is a function of (seed, step) alone: a resumed run draws what the uninterrupted one would have drawn.
    """
    loss = _gradients_in_memory(state, loss_function, batches, bf16=bf16, seed=seed, report=report)
    norm = _gradient_norm(state.model)
    usable = loss.loss_sum.isfinite() & norm.isfinite() & (state.tally.skipped_in_a_row < MAX_SKIPPED_IN_A_ROW)
    skipped = (~usable).float()
    set_learning_rate(state.optimizer, learning_rate)
    # Fused AdamW divides gradients by `grad_scale` and does nothing at all where `found_inf` is 1.
    state.optimizer.grad_scale = None if clip_norm is None else (norm / clip_norm).clamp(min=1.0)  # type: ignore[attr-defined]
    state.optimizer.found_inf = skipped  # type: ignore[attr-defined]
    state.optimizer.step()
    if state.average is not None:
        state.average.update(state.model, skipped)
    state.optimizer.zero_grad(set_to_none=True)
    _count(state.tally, loss, norm, skipped)
    state.step += 1


def seed_of_step(seed: int, step: int) -> int:
    """Mix seed and step into 63 bits (splitmix64), so that neighbouring steps draw unrelated dropout."""
    mixed = (seed * 0x9E3779B97F4A7C15 + step * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & (2**64 - 1)
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return (mixed ^ (mixed >> 31)) >> 1


def _gradients_in_memory(
    state: TrainState,
    loss_function: LossFunction[BatchT],
    batches: Sequence[BatchT],
    *,
    bf16: bool,
    seed: int,
    report: Callable[[str], None],
) -> LossSum:
    """Leave the step's gradient on the parameters; when memory runs out, start over in smaller parts."""
    while True:
        parts = [part for batch in batches for part in _split(batch, state.num_parts)]
        torch.manual_seed(seed_of_step(seed, state.step))
        try:
            return _gradients(state.model, loss_function, parts, bf16=bf16)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
        # Outside the handler: the exception no longer holds the frames, and with them the tensors, of the failed pass.
        # What the pass has left on the parameters is incomplete and must not be added to.
        state.optimizer.zero_grad(set_to_none=True)
        if state.device.type == "cuda":
            torch.cuda.empty_cache()
        _cut_smaller(state, batches, report)


def _gradients(
    model: nn.Module, loss_function: LossFunction[BatchT], parts: Sequence[BatchT], *, bf16: bool
) -> LossSum:
    num_tokens = sum(part.num_target_tokens for part in parts)
    device = next(model.parameters()).device
    total = torch.zeros((), dtype=torch.float64, device=device)
    metrics: dict[str, Tensor] = {}
    for part in parts:
        on_device = part.to(device, non_blocking=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            loss = loss_function(model, on_device)
        (loss.loss_sum / num_tokens).backward()  # type: ignore[no-untyped-call]
        total = total + loss.loss_sum.detach()
        for name, value in loss.metrics.items():
            metrics[name] = metrics.get(name, 0.0) + value.detach().double()
    return LossSum(total, num_tokens, metrics)


def _split(batch: BatchT, num_parts: int) -> Sequence[BatchT]:
    return [batch] if num_parts == 1 else batch.split(num_parts)


def _cut_smaller(state: TrainState, batches: Sequence[BatchT], report: Callable[[str], None]) -> None:
    if all(len(_split(batch, state.num_parts * 2)) <= len(_split(batch, state.num_parts)) for batch in batches):
        raise HeedfulError(
            f"The memory of {state.device} does not hold even a single pair at step {state.step + 1}. "
            "Lower `data.filters.max_tokens`, choose a smaller model, or set `training.precision` to bf16."
        )
    state.num_parts *= 2
    report(
        f"The memory of {state.device} ran out at step {state.step + 1}: batches are now cut into "
        f"{state.num_parts} parts. The result is the same; a lower `training.batch_tokens` is faster."
    )


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _gradient_norm(model: nn.Module) -> Tensor:
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return torch.nn.utils.get_total_norm(gradients)


def _count(tally: Tally, loss: LossSum, norm: Tensor, skipped: Tensor) -> None:
    """Add the step to the sums; what was skipped adds nothing, least of all its NaN."""
    used = skipped == 0
    tally.loss_sum = tally.loss_sum + torch.where(used, loss.loss_sum, 0.0)
    tally.num_tokens = tally.num_tokens + torch.where(used, float(loss.num_tokens), 0.0)
    for name, value in loss.metrics.items():
        tally.metric_sums[name] = tally.metric_sums.get(name, 0.0) + torch.where(used, value, 0.0)
    tally.gradient_norm = norm.detach().float()
    tally.skipped = tally.skipped + skipped
    tally.skipped_in_a_row = (tally.skipped_in_a_row + 1) * skipped
