"""Paired tests against closed forms, SciPy-free: coins counted by hand, and chance told from a difference."""

from math import comb

import numpy as np
import pytest

from heedful.evaluation.paired import compare_decisions, compare_rates, mcnemar


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (3, 3), (5, 1), (12, 30), (0, 9)])
def test_mcnemar_counts_the_tosses_of_a_coin(gained: int, lost: int) -> None:
    num_all, fewer = gained + lost, min(gained, lost)
    expected = min(1.0, 2 * sum(comb(num_all, heads) for heads in range(fewer + 1)) / 2**num_all)
    assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-12)


def test_mcnemar_has_the_value_of_the_textbook() -> None:
    # Agresti (2002), Categorical Data Analysis, table 10.1: 86 against 150 changed their minds; exact p = 3.7e-5.
    assert mcnemar(150, 86) == pytest.approx(3.7e-5, rel=0.02)


def test_mcnemar_survives_many_cases() -> None:
    assert mcnemar(6000, 6000) == 1.0
    assert 0 <= mcnemar(10_000, 2_000) < 1e-300


def test_two_equal_deciders_do_not_differ() -> None:
    right = np.array([True, False, True, True])
    found = compare_decisions(right, right)
    assert (found.baseline, found.difference, found.low, found.high, found.p_value) == (0.75, 0.0, 0.0, 0.0, 1.0)


def test_the_interval_of_a_difference_of_decisions_is_that_of_drawn_cases() -> None:
    generator = np.random.default_rng(3)
    baseline, system = generator.random(400) < 0.7, generator.random(400) < 0.8
    found = compare_decisions(baseline, system)
    draws = [generator.integers(400, size=400) for _ in range(4000)]
    by_hand = np.percentile([system[draw].mean() - baseline[draw].mean() for draw in draws], [2.5, 97.5])
    assert found.difference == pytest.approx(system.mean() - baseline.mean())
    assert [found.low, found.high] == pytest.approx(list(by_hand), abs=0.01)


def test_a_difference_of_rates_is_that_of_the_sums() -> None:
    baseline, system, sizes = np.array([2.0, 4.0]), np.array([1.0, 4.0]), np.array([10, 30])
    found = compare_rates(baseline, system, sizes)
    assert found.baseline == pytest.approx(6 / 40)
    assert found.difference == pytest.approx(-1 / 40)


def test_a_constant_difference_is_certain_and_noise_is_not() -> None:
    generator = np.random.default_rng(5)
    sizes = np.full(200, 100)
    baseline = generator.normal(300, 20, size=200)
    certain = compare_rates(baseline, baseline - generator.normal(5, 1, size=200), sizes)
    assert certain.p_value < 0.005
    assert certain.high < 0
    noise = generator.normal(0, 5, size=200)
    chance = compare_rates(baseline, baseline + noise - noise.mean() + 0.1, sizes)
    assert chance.p_value > 0.3
    assert chance.low < 0 < chance.high


def test_the_same_rates_do_not_differ() -> None:
    sums = np.array([3.0, 5.0])
    found = compare_rates(sums, sums, np.array([1, 2]))
    assert (found.difference, found.p_value) == (0.0, 1.0)
