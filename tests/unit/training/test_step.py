import copy
import math
from collections.abc import Callable
from typing import Any, Never

import pytest
import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.training.loop import weights_sha256
from heedful.training.losses.loss_module import LossSum
from heedful.training.state import TrainState
from heedful.training.step import StepSettings, seed_of_step, train_step
from tests.support.jobs import FunctionLoss


def batches(small_run: Any, count: int = 1) -> list[Any]:
    stream = small_run.job.batches_from(0)
    return [next(stream) for _ in range(count)]


def moments(state: TrainState) -> list[Tensor]:
    return [value.clone() for slot in state.optimizer.state.values() for value in slot.values()]


def test_accumulated_batches_weigh_by_their_tokens(small: Callable[..., Any]) -> None:
    """Two batches of 8 and 4 rows give the update of one batch of 12, not the mean of two means."""
    first, second = batches(small(), 2)
    second = second.split(2)[0]
    whole = type(first)(torch.cat([first.inputs, second.inputs]), torch.cat([first.wanted, second.wanted]))
    apart, together = small(dropout=0.0), small(dropout=0.0)
    train_step(apart.state, apart.job.loss, [first, second], StepSettings(), learning_rate=0.1)
    train_step(together.state, together.job.loss, [whole], StepSettings(), learning_rate=0.1)
    for one, other in zip(apart.state.model.parameters(), together.state.model.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert apart.state.tally.num_items.item() == 12
    torch.testing.assert_close(apart.state.tally.loss_sum, together.state.tally.loss_sum)


def test_dropout_is_a_function_of_seed_and_step(small: Callable[..., Any]) -> None:
    one, other, different = small(dropout=0.5), small(dropout=0.5), small(dropout=0.5)
    train_step(one.state, one.job.loss, batches(one), StepSettings(seed=1), learning_rate=0.1)
    torch.rand(123)  # whatever else draws random numbers in between
    train_step(other.state, other.job.loss, batches(other), StepSettings(seed=1), learning_rate=0.1)
    train_step(different.state, different.job.loss, batches(different), StepSettings(seed=2), learning_rate=0.1)
    assert weights_sha256(one.state.model) == weights_sha256(other.state.model)
    assert weights_sha256(one.state.model) != weights_sha256(different.state.model)
    seeds = {seed_of_step(seed, step) for seed in range(30) for step in range(300)}
    assert len(seeds) == 9000
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_clipping_divides_the_gradient_by_its_norm(small: Callable[..., Any]) -> None:
    """Adam's first moment after one step is (1 - beta) times the gradient it was given."""
    clipped, free = small(dropout=0.0), small(dropout=0.0)
    train_step(clipped.state, clipped.job.loss, batches(clipped), StepSettings(clip_norm=0.01), learning_rate=0.1)
    train_step(free.state, free.job.loss, batches(free), StepSettings(), learning_rate=0.1)

    def norm_seen(state: TrainState) -> float:
        return math.sqrt(sum(slot["exp_avg"].square().sum().item() for slot in state.optimizer.state.values())) / 0.1

    assert norm_seen(clipped.state) == pytest.approx(0.01, rel=1e-4)
    assert norm_seen(free.state) == pytest.approx(free.state.tally.gradient_norm.item(), rel=1e-4)
    assert free.state.tally.gradient_norm.item() > 0.1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_step_that_is_not_finite_changes_nothing(small: Callable[..., Any], bad: float, where: str) -> None:
    made = small(ema_decay=0.5)

    def poisoned(model: nn.Module, batch: Any) -> LossSum:
        loss = made.job.loss.function(model, batch).loss_sum
        if where == "loss":
            return LossSum(loss * bad, batch.num_items)
        weight = model[0].weight
        # The value is an honest 0, its gradient is not: sqrt has an infinite slope at zero.
        return LossSum(loss + (weight - weight.detach()).clamp(min=0).sqrt().sum(), batch.num_items)

    train_step(made.state, made.job.loss, batches(made), StepSettings(), learning_rate=0.1)
    weights, average = weights_sha256(made.state.model), copy.deepcopy(made.state.average.weights)
    before, line = moments(made.state), made.state.tally.loss_sum.clone()
    train_step(made.state, FunctionLoss(made.state.model, poisoned), batches(made), StepSettings(), learning_rate=0.1)
    assert weights_sha256(made.state.model) == weights
    assert all(torch.equal(one, other) for one, other in zip(moments(made.state), before, strict=True))
    assert all(torch.equal(average[name], tensor) for name, tensor in made.state.average.weights.items())
    assert made.state.tally.skipped.item() == 1
    assert torch.equal(made.state.tally.loss_sum, line)
    train_step(made.state, made.job.loss, batches(made), StepSettings(), learning_rate=0.1)
    assert weights_sha256(made.state.model) != weights
    assert made.state.tally.skipped_in_a_row.item() == 0
    assert made.state.tally.skipped.item() == 1


def test_after_five_skipped_steps_in_a_row_no_step_counts(small: Callable[..., Any]) -> None:
    made = small()
    weights = weights_sha256(made.state.model)

    def poisoned(model: nn.Module, batch: Any) -> LossSum:
        return LossSum(made.job.loss.function(model, batch).loss_sum * math.nan, batch.num_items)

    loss = FunctionLoss(made.state.model, poisoned)
    for _ in range(5):
        train_step(made.state, loss, batches(made), StepSettings(), learning_rate=0.1)
    train_step(made.state, made.job.loss, batches(made), StepSettings(), learning_rate=0.1)
    assert weights_sha256(made.state.model) == weights
    assert made.state.tally.skipped_in_a_row.item() == 6


@pytest.mark.parametrize("rows_that_fit", [1, 2, 3, 5, 7])
@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("can't allocate memory")]
)
@pytest.mark.parametrize("in_backward", [False, True])
def test_out_of_memory_splits_the_batch_and_keeps_the_gradient(
    small: Callable[..., Any], rows_that_fit: int, error: RuntimeError | torch.OutOfMemoryError, in_backward: bool
) -> None:
    made, roomy = small(dropout=0.0), small(dropout=0.0)

    class Explode(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Tensor) -> Tensor:
            return value.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Never:
            raise error

    def cramped(model: nn.Module, batch: Any) -> LossSum:
        loss = made.job.loss.function(model, batch)
        if batch.num_items <= rows_that_fit:
            return loss
        if not in_backward:
            raise error
        # The gradient of the part outside is on the parameters already when the memory runs out.
        return LossSum(loss.loss_sum + Explode.apply(model[0].weight).sum() * 0, batch.num_items)

    loss, settings = FunctionLoss(made.state.model, cramped), StepSettings(report=made.heard.say)
    train_step(made.state, loss, batches(made, 2), settings, learning_rate=0.1)
    train_step(roomy.state, roomy.job.loss, batches(roomy, 2), StepSettings(), learning_rate=0.1)
    for one, other in zip(made.state.model.parameters(), roomy.state.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(made.state.tally.loss_sum, roomy.state.tally.loss_sum)
    assert made.state.num_parts == 2 ** math.ceil(math.log2(8 / rows_that_fit))
    assert made.said[0] == (
        "The memory of cpu ran out at step 1: batches are now cut into 2 parts. "
        "The result is the same; a lower `training.batch_tokens` is faster."
    )


@pytest.mark.parametrize("fits_later", [True, False])
def test_after_a_hundred_steps_in_parts_batches_are_tried_whole_again(
    small: Callable[..., Any], fits_later: bool
) -> None:
    made = small(dropout=0.0)

    def cramped(model: nn.Module, batch: Any) -> LossSum:
        if batch.num_items > 2 and not (fits_later and made.state.step >= 50):
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return made.job.loss.function(model, batch)

    loss, settings = FunctionLoss(made.state.model, cramped), StepSettings(report=made.heard.say)
    parts = []
    for _ in range(102):
        train_step(made.state, loss, batches(made), settings, learning_rate=0.01)
        parts.append(made.state.num_parts)
    assert set(parts[:100]) == {4}
    assert set(parts[100:]) == ({1} if fits_later else {4})
    assert len(made.said) == 2  # in two parts, in four; what was known is not told again


def test_memory_that_holds_not_even_one_row_is_said(small: Callable[..., Any]) -> None:
    made = small()

    def impossible(model: nn.Module, batch: Any) -> Never:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    loss = FunctionLoss(made.state.model, impossible)
    with pytest.raises(HeedfulError, match=r"^The memory of cpu does not hold even a single pair at step 1\. Lower"):
        train_step(made.state, loss, batches(made), StepSettings(), learning_rate=0.1)


def test_other_errors_of_the_model_pass_through(small: Callable[..., Any]) -> None:
    made = small()

    def broken(model: nn.Module, batch: Any) -> Never:
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        train_step(made.state, FunctionLoss(made.state.model, broken), batches(made), StepSettings(), learning_rate=0.1)


@pytest.mark.gpu
def test_a_step_never_waits_for_the_device(small: Callable[..., Any]) -> None:
    made = small(clip_norm=1.0, ema_decay=0.9)
    made.state.model.cuda()
    fresh = type(made.state)(
        made.state.model,
        type(made.state.optimizer)(made.state.model.parameters(), fused=True),
        type(made.state.tally).zeros(torch.device("cuda")),
    )
    stream = [batch.to(torch.device("cuda")) for batch in batches(made, 4)]
    train_step(fresh, made.job.loss, stream[:1], StepSettings(clip_norm=1.0), learning_rate=0.1)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in stream:
            train_step(fresh, made.job.loss, [batch], StepSettings(clip_norm=1.0, bf16=True), learning_rate=0.1)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert fresh.step == 5
