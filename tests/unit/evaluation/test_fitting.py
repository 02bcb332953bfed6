"""The two fits, against closed forms and against trying everything."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from heedful.evaluation.fitting import fit_isotonic, fit_logistic


def test_with_one_yes_or_no_the_weights_are_the_log_odds() -> None:
    features = np.repeat([[0.0], [1.0]], [40, 60], axis=0)
    is_so = np.array([True] * 10 + [False] * 30 + [True] * 45 + [False] * 15)
    intercept, slope = fit_logistic(features, is_so, ridge=1e-9)
    assert intercept == pytest.approx(np.log(10 / 30), abs=1e-5)
    assert intercept + slope == pytest.approx(np.log(45 / 15), abs=1e-5)


def test_weights_are_found_again_and_units_do_not_matter() -> None:
    generator = np.random.default_rng(3)
    features = generator.normal(size=(20_000, 2))
    is_so = generator.random(20_000) < 1 / (1 + np.exp(-(0.5 - 1.5 * features[:, 0] + 2.0 * features[:, 1])))
    weights = fit_logistic(features, is_so, ridge=0.01)
    assert weights == pytest.approx([0.5, -1.5, 2.0], abs=0.1)
    scaled = fit_logistic(features * [10.0, 0.1] + [5.0, -1.0], is_so, ridge=0.01)
    assert scaled[1:] * [10.0, 0.1] == pytest.approx(weights[1:], rel=1e-6)


def test_what_separates_perfectly_and_what_never_changes_give_finite_weights() -> None:
    features = np.column_stack([np.arange(20.0), np.full(20, 7.0)])
    weights = fit_logistic(features, np.arange(20) >= 10)
    assert np.isfinite(weights).all()
    assert weights[1] > 0


def test_isotonic_points_are_the_best_of_all_that_rise() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    is_so = np.array([False, True, False, False, True, True])
    places, shares = fit_isotonic(values, is_so, num_bins=6)
    assert (np.diff(places) > 0).all()
    assert (np.diff(shares) > 0).all()
    fitted = np.array([shares[np.abs(places - value).argmin()] for value in values])
    grid = np.linspace(0, 1, 13)
    best = min(((np.array(some) - is_so) ** 2).sum() for some in combinations_with_replacement(grid, 6))
    assert ((fitted - is_so) ** 2).sum() <= best + 1e-9


def test_many_values_become_few_points_of_equal_weight() -> None:
    values = np.linspace(0, 1, 3000)
    is_so = np.random.default_rng(1).random(3000) < values
    places, shares = fit_isotonic(values, is_so, num_bins=10)
    assert len(places) <= 10
    assert shares == pytest.approx(places, abs=0.08)
