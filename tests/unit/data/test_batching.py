"""Plans by hand: padded lengths, full batches, what is carried on, and weights."""

from typing import Any

import numpy as np
import pytest

from heedful.data.packing import EpochPlan, PlannedBatch, epoch_plan, num_batches, padded_length, repetitions


def plan(sources: list[int], targets: list[int], batch_tokens: int, **settings: Any) -> EpochPlan:
    return epoch_plan(np.array(sources), np.array(targets), batch_tokens=batch_tokens, seed=1, epoch=0, **settings)


def batches_of(found: EpochPlan) -> list[PlannedBatch]:
    return [found[index] for index in range(len(found))]


def test_padded_lengths_come_from_a_small_set() -> None:
    lengths = np.array([1, 8, 9, 64, 65, 80, 81, 128, 129, 161, 256, 257])
    assert padded_length(lengths).tolist() == [2, 8, 10, 64, 80, 80, 96, 128, 160, 192, 256, 320]
    assert len(np.unique(padded_length(np.arange(1, 1025)))) == 32


def test_equal_lengths_make_full_batches_and_one_rest() -> None:
    batches = batches_of(plan([5] * 25, [7] * 25, 80))
    assert sorted(len(batch.example_ids) for batch in batches) == [5, 10, 10]
    assert {(batch.source_len, batch.target_len) for batch in batches} == {(6, 8)}


def test_what_is_left_of_a_group_goes_with_the_next_longer_one() -> None:
    """Budget 80: ten rows of 8 or five of 16. Twelve short pairs leave two; these go with three of the long ones."""
    batches = batches_of(plan([7] * 12 + [15] * 4, [7] * 12 + [15] * 4, 80))
    shapes = sorted((len(batch.example_ids), batch.source_len, batch.target_len) for batch in batches)
    assert shapes == [(1, 16, 16), (5, 16, 16), (10, 8, 8)]
    mixed = next(batch for batch in batches if len(batch.example_ids) == 5)
    assert sum(example < 12 for example in mixed.example_ids) == 2


def test_the_two_sides_are_padded_for_themselves() -> None:
    (batch,) = batches_of(plan([30, 31], [7, 5], 1000))
    assert (batch.source_len, batch.target_len) == (32, 8)


def test_a_pair_beyond_the_budget_is_a_batch_of_its_own() -> None:
    batches = batches_of(plan([100, 100, 4], [4, 4, 4], 50))
    assert sorted(len(batch.example_ids) for batch in batches) == [1, 1, 1]


def test_every_epoch_and_seed_has_its_own_order_and_the_same_number_of_batches() -> None:
    lengths = np.random.default_rng(0).integers(2, 60, size=(2, 500))
    plans = [
        epoch_plan(*lengths, batch_tokens=400, seed=seed, epoch=epoch)
        for seed, epoch in ((1, 0), (1, 0), (1, 1), (2, 0))
    ]
    assert np.array_equal(plans[0].example_ids, plans[1].example_ids)
    assert len({planned.example_ids.tobytes() for planned in plans}) == 3
    assert {len(planned) for planned in plans} == {num_batches(*lengths, batch_tokens=400)}
    with pytest.raises(IndexError):
        plans[0][len(plans[0])]


def test_weights_repeat_whole_and_draw_the_rest() -> None:
    weights = np.array([2.0] * 10 + [0.5] * 10 + [1.25] * 8)
    counts = repetitions(weights, seed=1, epoch=0)
    assert counts[:10].tolist() == [2] * 10
    assert sorted(counts[10:20].tolist()) == [0] * 5 + [1] * 5
    assert sorted(counts[20:].tolist()) == [1] * 6 + [2] * 2
    rare = [int(repetitions(np.full(7, 0.1), seed=1, epoch=epoch).sum()) for epoch in range(200)]
    assert set(rare) == {1}
    uneven = [int(repetitions(np.full(7, 0.5), seed=1, epoch=epoch).sum()) for epoch in range(200)]
    assert set(uneven) == {3, 4}
    assert 3.3 < np.mean(uneven) < 3.7
    drawn = {repetitions(weights, seed=1, epoch=epoch)[10:20].tobytes() for epoch in range(8)}
    assert len(drawn) > 1
