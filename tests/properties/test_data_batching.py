"""Batching: nothing is lost or added, no batch exceeds the budget, few shapes, and order is a function of the seed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.packing import EpochPlan, PlannedBatch, epoch_plan, num_batches, padded_length, repetitions

lengths = st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1, max_size=200)
budgets = st.integers(1, 5000)
seeds = st.integers(0, 2**31)


def sides(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs)
    return both[:, 0], both[:, 1]


def batches_of(plan: EpochPlan) -> list[PlannedBatch]:
    return [plan[index] for index in range(len(plan))]


@given(lengths, budgets, seeds, st.integers(0, 1000))
def test_every_pair_is_in_exactly_one_batch(pairs: list[tuple[int, int]], budget: int, seed: int, epoch: int) -> None:
    plan = epoch_plan(*sides(pairs), batch_tokens=budget, seed=seed, epoch=epoch)
    assert sorted(plan.example_ids.tolist()) == list(range(len(pairs)))
    assert sum(len(batch.example_ids) for batch in batches_of(plan)) == len(pairs)
    assert all(len(batch.example_ids) for batch in batches_of(plan))
    assert len(plan) == num_batches(*sides(pairs), batch_tokens=budget)


@given(lengths, budgets, seeds)
def test_every_batch_holds_its_pairs_and_keeps_the_budget(pairs: list[tuple[int, int]], budget: int, seed: int) -> None:
    sources, targets = sides(pairs)
    for batch in batches_of(epoch_plan(sources, targets, batch_tokens=budget, seed=seed, epoch=0)):
        rows = len(batch.example_ids)
        assert sources[batch.example_ids].max() <= batch.source_len
        assert targets[batch.example_ids].max() <= batch.target_len
        assert rows == 1 or rows * max(batch.source_len, batch.target_len) <= budget
        assert padded_length(np.array([batch.source_len, batch.target_len])).tolist() == [
            batch.source_len,
            batch.target_len,
        ]


@given(lengths, budgets, seeds)
def test_all_but_few_batches_are_full(pairs: list[tuple[int, int]], budget: int, seed: int) -> None:
    """Only where lengths jump so far that the budget holds fewer rows than were carried is a batch not full."""
    plan = epoch_plan(*sides(pairs), batch_tokens=budget, seed=seed, epoch=0)
    widths = {max(batch.source_len, batch.target_len) for batch in batches_of(plan)}
    full = [
        len(batch.example_ids) == max(1, budget // max(batch.source_len, batch.target_len))
        for batch in batches_of(plan)
    ]
    assert full.count(False) <= len(widths)


@given(lengths, budgets, seeds)
def test_the_plan_is_a_pure_function(pairs: list[tuple[int, int]], budget: int, seed: int) -> None:
    one, other = (epoch_plan(*sides(pairs), batch_tokens=budget, seed=seed, epoch=3) for _ in range(2))
    assert np.array_equal(one.example_ids, other.example_ids)
    assert np.array_equal(one.shapes, other.shapes)


@given(st.lists(st.floats(0.01, 5), min_size=1, max_size=4), st.integers(1, 50), seeds)
def test_weights_are_kept_exactly(weights: list[float], size: int, seed: int) -> None:
    each = np.repeat(np.unique(weights), size)
    counts = repetitions(each, seed=seed, epoch=1)
    assert counts.any()
    for weight in np.unique(weights):
        drawn = counts[each == weight]
        assert drawn.min() >= int(weight)
        assert drawn.max() <= int(weight) + 1
        assert abs(drawn.sum() - weight * size) < 1 + 1e-9


@given(st.integers(1, 100_000))
def test_padding_is_little(length: int) -> None:
    padded = int(padded_length(np.array([length]))[0])
    assert length <= padded < length + max(2, length / 4)
    assert padded % 2 == 0
