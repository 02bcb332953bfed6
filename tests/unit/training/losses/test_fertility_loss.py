"""The loss of a model with fertilities: two cross-entropies; with a teacher, a divergence and a policy gradient."""

from dataclasses import fields

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from heedful.config.training import NoRegularizer, Teacher
from heedful.data.batch import Batch, FertilityBatch, collate
from heedful.models.fertilities import copied_places
from heedful.training.losses.fertility import FertilityLoss, _Judge, log_prob_of
from tests.support.fertile_models import drawn_model, drawn_teacher


def pairs() -> Batch:
    return collate([[5, 6, 7, 2], [8, 2]], [[9, 10, 11, 12, 2], [13, 14, 2]], bos_id=1, pad_id=0)


def with_fertilities(batch: Batch, fertilities: Tensor) -> FertilityBatch:
    return FertilityBatch(
        **{field.name: getattr(batch, field.name) for field in fields(batch)}, fertilities=fertilities
    )


COUNTED = torch.tensor([[2, 0, 2, 1], [2, 1, 0, 0]])


def test_it_is_the_sum_of_two_cross_entropies() -> None:
    model, batch = drawn_model(), with_fertilities(pairs(), COUNTED)
    loss = FertilityLoss(model, label_smoothing=0.0, regularizer=NoRegularizer())
    loss.eval()
    found = loss(batch)
    memory = model.encode(batch.source_ids, batch.source_mask)
    states = memory.chunk(2, dim=-1)[0]
    fertility = functional.cross_entropy(
        model.fertility(states)[batch.source_mask], COUNTED[batch.source_mask], reduction="sum"
    )
    places = torch.tensor([[0, 0, 2, 2, 3], [0, 0, 1, 1, 1]])
    logits = model.project(model.refine(memory, batch.source_mask, places, batch.target_mask)[-1])
    tokens = functional.cross_entropy(
        logits[batch.target_mask], batch.target_output_ids[batch.target_mask], reduction="sum"
    )
    torch.testing.assert_close(found.loss_sum, fertility + tokens)
    torch.testing.assert_close(found.metrics["nll"], tokens)
    assert found.num_items == 8


def test_without_an_aligner_the_most_probable_fertilities_are_taken() -> None:
    model = drawn_model()
    loss = FertilityLoss(model, label_smoothing=0.0, regularizer=NoRegularizer())
    loss.eval()
    plain = pairs()
    memory = model.encode(plain.source_ids, plain.source_mask)
    best = model.fertilities_of_length(memory, plain.source_mask, plain.target_mask.sum(dim=1), 5)
    assert best.sum(dim=1).tolist() == [5, 3]
    torch.testing.assert_close(loss(plain).loss_sum, loss(with_fertilities(plain, best)).loss_sum)


def test_a_fertility_beyond_the_largest_counts_as_the_largest() -> None:
    log_probs = torch.randn(1, 2, 5).log_softmax(dim=-1)
    found = log_prob_of(log_probs, torch.tensor([[9, 1]]))
    torch.testing.assert_close(found, torch.stack([log_probs[0, 0, 4], log_probs[0, 1, 1]]).unsqueeze(0))


def judge_of(batch: Batch) -> _Judge:
    model = drawn_model()
    return _Judge(model, drawn_teacher(), batch, model.encode(batch.source_ids, batch.source_mask), batch.source_mask)


def test_the_divergence_is_pytorchs_of_what_the_teacher_thinks_of_the_models_output() -> None:
    batch = pairs()
    judge = judge_of(batch)
    places, real = copied_places(COUNTED, 5)
    hidden = judge.model.refine(judge.memory, batch.source_mask, places, real)[-1]
    found = judge.divergence(hidden, real)
    for row in range(2):
        length = int(real[row].sum())
        log_probs = judge.model.project(hidden)[row, :length].log_softmax(dim=-1)
        inputs = torch.tensor([[1, *log_probs.argmax(dim=-1).tolist()[:-1]]])
        width = int(batch.source_mask[row].sum())
        wanted = judge.teacher(batch.source_ids[row : row + 1, :width], None, inputs)[0].log_softmax(dim=-1)
        each = functional.kl_div(wanted, log_probs, log_target=True, reduction="sum")
        torch.testing.assert_close(found[row], each, atol=1e-4, rtol=1e-4)
    assert (found > 0).all()


def test_a_draw_that_is_better_than_the_mean_becomes_more_probable() -> None:
    torch.manual_seed(3)
    judge = judge_of(pairs())
    log_probs = judge.model.fertility_log_probs(judge.memory, judge.source_mask).detach().requires_grad_()
    torch.manual_seed(5)
    judge.policy_loss(log_probs).backward()  # type: ignore[no-untyped-call]
    assert log_probs.grad is not None
    torch.manual_seed(5)
    uniform = torch.rand_like(log_probs).clamp(1e-12, 1 - 1e-7)
    drawn = (log_probs - (-uniform.log()).log()).argmax(dim=-1)
    for row in range(2):
        slopes = {float(log_probs.grad[row, place, int(drawn[row, place])]) for place in range(4)}
        assert len(slopes) == 1  # the excess of the row, on the drawn fertilities alone
    assert int((log_probs.grad != 0).sum()) <= drawn.numel()


def test_a_teacher_joins_in_training_after_its_steps_and_is_not_trained() -> None:
    regularizer = Teacher(kind="teacher", model="somewhere", after_steps=3, weight=0.5)
    loss = FertilityLoss(drawn_model(), label_smoothing=0.0, regularizer=regularizer, teacher=drawn_teacher())
    loss.train()
    batch = with_fertilities(pairs(), COUNTED)
    assert loss.early_steps == 3
    assert "divergence" in loss(batch).metrics
    loss.is_early = True
    assert "divergence" not in loss(batch).metrics
    loss.is_early = False
    loss.eval()
    assert "divergence" not in loss(batch).metrics
    assert {name.split(".")[0] for name, _ in loss.named_parameters()} == {"model"}


@pytest.mark.parametrize("has_teacher", [False, True])
def test_every_weight_learns(has_teacher: bool) -> None:
    regularizer = Teacher(kind="teacher", model="somewhere") if has_teacher else NoRegularizer()
    loss = FertilityLoss(
        drawn_model(), label_smoothing=0.1, regularizer=regularizer, teacher=drawn_teacher() if has_teacher else None
    )
    loss.train()
    loss(with_fertilities(pairs(), COUNTED)).loss_sum.backward()
    assert all(parameter.grad is not None and bool(parameter.grad.isfinite().all()) for parameter in loss.parameters())
