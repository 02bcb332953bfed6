"""One update of the weights: gradients of all micro-batches, norm, clipping, Adam.

Three things make it more than a loop body. The loss is normalised by the items of the whole step (target tokens,
symbols, documents), however it is cut. A step whose loss or gradient is not finite is skipped *on the device*: fused
AdamW takes a flag and leaves weights and moments bitwise as they were, so the host need not look. And when memory runs
out, the step starts over with each batch cut into twice as many parts; the gradient is the same. Every hundred steps
batches are tried whole again: the memory may have been another process's for a while. Where several processes train
together, the others are in the middle of the same step and cannot start over: there the run ends with a wish for
smaller pieces, and whoever starts it again grants it (`loop.py`).

`gradients_of` and `update_weights` are what happens on the device, and nothing in them asks the host for anything:
`recorded_step.py` records the two and replays them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from heedful.data.named_batch import BatchT
from heedful.errors import HeedfulError, is_out_of_memory
from heedful.training.distribution.shares import Share, shares_of
from heedful.training.distribution.wrapping import Team, local
from heedful.training.losses.loss_module import LossSum
from heedful.training.optimizer import set_learning_rate
from heedful.training.state import MAX_SKIPPED_IN_A_ROW, Tally, TrainState

_STEPS_IN_PARTS = 100
"""After how many steps in parts batches are tried whole again."""

Loss = Callable[[BatchT], LossSum]
"""A loss module, or one inside a wrapper of PyTorch's: whatever turns a batch into the sum of its loss."""


@dataclass(frozen=True)
class StepSettings:
    """What is the same for all steps of a run."""

    clip_norm: float | None = None
    """Longest gradient; None clips nothing."""

    bf16: bool = False
    """Products are taken in bfloat16 (autocast)."""

    seed: int = 0
    """Together with the number of the step it decides all dropout."""

    report: Callable[[str], None] = lambda _: None
    """Is told sentences about what happened."""

    team: Team = field(default_factory=Team)
    """With whom a step is done, and which parts of it are done here."""


class CrampedError(HeedfulError):
    """The memory of one of several processes ran out; with `num_pieces` pieces to a part it may suffice."""

    def __init__(self, rank: int, step: int, num_pieces: int) -> None:
        self.num_pieces = num_pieces
        super().__init__(
            f"The memory of process {rank} ran out at step {step + 1}. Started again with --resume, the run goes on "
            f"from its last checkpoint with each part of a batch cut into {num_pieces}; a lower "
            "`training.batch_tokens` or more `training.distribution.parts` is faster."
        )


@dataclass(frozen=True)
class StepSums:
    """What the micro-batches of a step sum to, all scalars on the device."""

    loss_sum: Tensor
    """float64."""

    num_items: Tensor
    """float32: exact for any batch that fits a memory."""

    metrics: dict[str, Tensor]
    """float64."""


def train_step(
    state: TrainState,
    loss: Loss[BatchT],
    batches: Sequence[BatchT],
    settings: StepSettings,
    *,
    learning_rate: float,
) -> None:
    """Do update `state.step` + 1 on the batches taken together. Reads nothing back from the device.

    Dropout is a function of (seed, step) alone: a resumed run draws what the uninterrupted one would have drawn.
    """
    sums = _gradients_in_memory(state, loss, batches, settings)
    set_learning_rate(state.optimizer, learning_rate)
    update_weights(state, sums, settings)
    state.step += 1


def gradients_of(
    loss: Loss[BatchT], shares: Sequence[Share[BatchT]], num_items: Tensor, settings: StepSettings
) -> StepSums:
    """Leave on the parameters the gradient of the mean loss over `num_items` (float32 scalar) of all ranks' shares."""
    device, team = num_items.device, settings.team
    total = torch.zeros((), dtype=torch.float64, device=device)
    metrics: dict[str, Tensor] = {}
    # PyTorch's wrappers take the mean over the ranks, and a step needs the sum.
    divisor = num_items / team.ranks.world if team.ranks.world > 1 else num_items
    for number, share in enumerate(shares, start=1):
        if share.seed is not None:
            torch.manual_seed(share.seed)
        on_device = share.batch.to(device, non_blocking=True)
        with team.gathering(is_last=number == len(shares)):
            with torch.autocast(device.type, torch.bfloat16, enabled=settings.bf16):
                found = loss(on_device)
            weighed = found.loss_sum / divisor if share.counts else found.loss_sum * 0.0
            weighed.backward()  # type: ignore[no-untyped-call]
        if share.counts:
            found.after_gradients()
            total = total + found.loss_sum.detach()
        for name, value in found.metrics.items():
            metrics[name] = metrics.get(name, 0.0) + (value.detach().double() if share.counts else 0.0 * total)
    if team.ranks.is_group:
        total, metrics = _added_up(team, total, metrics)
    return StepSums(total, num_items, metrics)


def _added_up(team: Team, total: Tensor, metrics: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    """Add up what the ranks have summed, in one message."""
    sums = torch.stack([total, *metrics.values()])
    team.ranks.add_up(sums)
    return sums[0], dict(zip(metrics, sums[1:], strict=True))


def update_weights(state: TrainState, sums: StepSums, settings: StepSettings) -> None:
    """Apply the gradient on the parameters, unless it is not finite, and count the step."""
    clip_norm = settings.clip_norm
    norm = _gradient_norm(state, settings.team)
    usable = sums.loss_sum.isfinite() & norm.isfinite() & (state.tally.skipped_in_a_row < MAX_SKIPPED_IN_A_ROW)
    skipped = (~usable).float()
    # Fused AdamW divides gradients by `grad_scale` and does nothing at all where `found_inf` is 1.
    state.optimizer.grad_scale = None if clip_norm is None else (norm / clip_norm).clamp(min=1.0)  # type: ignore[attr-defined]
    state.optimizer.found_inf = skipped  # type: ignore[attr-defined]
    state.optimizer.step()
    if state.average is not None:
        state.average.update(state.model, skipped)
    state.zero_grad()
    _count(state.tally, sums, norm, skipped)


def seed_of_step(seed: int, step: int) -> int:
    """Mix seed and step into 63 bits (splitmix64), so that neighbouring steps draw unrelated dropout."""
    mixed = (seed * 0x9E3779B97F4A7C15 + step * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & (2**64 - 1)
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return (mixed ^ (mixed >> 31)) >> 1


def _gradients_in_memory(
    state: TrainState, loss: Loss[BatchT], batches: Sequence[BatchT], settings: StepSettings
) -> StepSums:
    """Leave the step's gradient on the parameters; when memory runs out, start over in smaller parts."""
    carried = {name: tensor.clone() for name, tensor in state.carried.items()}
    ranks, parts_known = settings.team.ranks, state.num_parts
    if state.step and state.step % _STEPS_IN_PARTS == 0 and not ranks.is_group:
        state.num_parts = 1
    while True:
        shares = shares_of(batches, settings.team.cut, state.num_parts, seed_of_step(settings.seed, state.step))
        try:
            num_items = torch.full((), float(sum(batch.num_items for batch in batches)), device=state.device)
            return gradients_of(loss, shares, num_items, settings)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if ranks.is_group:
                raise CrampedError(ranks.rank, state.step, state.num_parts * 2) from None
        # Outside the handler: the exception no longer holds the frames, and with them the tensors, of the failed pass.
        # What the pass has left on the parameters is incomplete and must not be added to.
        state.zero_grad()
        for name, tensor in carried.items():
            state.carried[name].copy_(tensor)
        if state.device.type == "cuda":
            torch.cuda.empty_cache()
        _cut_smaller(state, batches)
        if state.num_parts > parts_known:
            settings.report(
                f"The memory of {state.device} ran out at step {state.step + 1}: batches are now cut into "
                f"{state.num_parts} parts. The result is the same; a lower `training.batch_tokens` is faster."
            )


def _split(batch: BatchT, num_parts: int) -> Sequence[BatchT]:
    return [batch] if num_parts == 1 else batch.split(num_parts)


def _cut_smaller(state: TrainState, batches: Sequence[BatchT]) -> None:
    if all(len(_split(batch, state.num_parts * 2)) <= len(_split(batch, state.num_parts)) for batch in batches):
        raise HeedfulError(
            f"The memory of {state.device} does not hold even a single pair at step {state.step + 1}. "
            "Lower `data.filters.max_tokens`, choose a smaller model, or set `training.precision` to bf16."
        )
    state.num_parts *= 2


def _gradient_norm(state: TrainState, team: Team) -> Tensor:
    """Hand the gradients to what the optimiser updates, and return the norm of all of them."""
    gradients = []
    for name, parameter in state.model.named_parameters():
        if parameter.grad is not None:
            state.weights[name].grad = gradient = local(parameter.grad)
            gradients.append(gradient)
    return team.norm(gradients)


def _count(tally: Tally, sums: StepSums, norm: Tensor, skipped: Tensor) -> None:
    """Add the step to the sums, in place; what was skipped adds nothing, least of all its NaN."""
    used = skipped == 0
    tally.loss_sum += torch.where(used, sums.loss_sum, 0.0)
    tally.num_items += torch.where(used, sums.num_items, 0.0)
    for name, value in sums.metrics.items():
        tally.sum_of(name).add_(torch.where(used, value, 0.0))
    tally.gradient_norm.copy_(norm.detach())
    tally.skipped += skipped
    tally.skipped_in_a_row.add_(1).mul_(skipped)
