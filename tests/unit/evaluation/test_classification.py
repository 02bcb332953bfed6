"""Scores of labels, against counting by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.evaluation.classification import (
    calibration_error,
    confusion_matrix,
    macro_f1,
    precision_recall_f1,
    score_labels,
    wilson_interval,
)

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def by_counting(pairs: list[tuple[int, int]], num_labels: int) -> list[tuple[float, float, float]]:
    """Precision, recall and F1 from their definitions, one label at a time."""
    found = []
    for label in range(num_labels):
        hits = sum(truth == decided == label for truth, decided in pairs)
        decided_so = sum(decided == label for _, decided in pairs)
        there = sum(truth == label for truth, _ in pairs)
        precision = hits / decided_so if decided_so else 0.0
        recall = hits / there if there else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        found.append((precision, recall, f1))
    return found


@given(LABELS)
def test_precision_recall_and_f1_are_their_definitions(pairs: list[tuple[int, int]]) -> None:
    truth, decided = (np.array(side) for side in zip(*pairs, strict=True))
    table = confusion_matrix(truth, decided, 4)
    assert table.sum() == len(pairs)
    expected = by_counting(pairs, 4)
    for row, other in zip(precision_recall_f1(table), expected, strict=True):
        assert row == pytest.approx(other)
    occurring = {label for pair in pairs for label in pair}
    assert macro_f1(table) == pytest.approx(sum(expected[label][2] for label in occurring) / len(occurring))


def test_a_table_by_hand() -> None:
    table = confusion_matrix(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0]), 3)
    assert table.tolist() == [[1, 1, 0], [0, 2, 0], [1, 0, 0]]
    assert macro_f1(table) == pytest.approx((1 / 2 + 4 / 5 + 0) / 3)


def test_calibration_error_by_hand() -> None:
    # Two bins of width 0.5: in (0.5, 1] are 0.6 (right), 0.9 (right), 0.9 (wrong); in (0, 0.5] is 0.4 (wrong).
    confidence, right = np.array([0.6, 0.9, 0.9, 0.4]), np.array([True, True, False, False])
    expected = (abs(2 - 2.4) + abs(0 - 0.4)) / 4
    assert calibration_error(confidence, right, num_bins=2) == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.booleans()), min_size=1, max_size=50), st.integers(1, 20))
def test_calibration_error_is_the_mean_gap_of_the_bins(rows: list[tuple[float, bool]], num_bins: int) -> None:
    confidence, right = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    total = 0.0
    for number in range(num_bins):
        inside = [row for row in rows if math.ceil(row[0] * num_bins) - 1 == number]
        if inside:
            share = sum(row[1] for row in inside) / len(inside)
            total += len(inside) / len(rows) * abs(share - sum(row[0] for row in inside) / len(inside))
    assert calibration_error(confidence, right, num_bins) == pytest.approx(total, abs=1e-9)


def test_wilson_interval_of_known_shares() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    low, high = wilson_interval(23_100, 25_000)
    assert high - low == pytest.approx(0.0066, abs=1e-4)


def test_all_scores_of_a_small_set() -> None:
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    scores = score_labels(probabilities, [0, 1, 1, 1])
    assert scores.accuracy.value == 0.75
    assert scores.accuracy.low < 0.75 < scores.accuracy.high
    assert scores.confusion.tolist() == [[1, 0], [1, 2]]
    assert scores.loss == pytest.approx(-sum(map(math.log, (0.9, 0.8, 0.4, 0.7))) / 4)
    assert scores.macro_f1.value == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert scores.macro_f1.low <= scores.macro_f1.value <= scores.macro_f1.high
    assert scores.per_label[1] == pytest.approx((1.0, 2 / 3, 4 / 5))


def test_a_probability_of_zero_costs_much_but_not_infinitely() -> None:
    assert math.isfinite(score_labels(np.array([[1.0, 0.0]]), [1]).loss)


def test_scores_are_the_same_each_time() -> None:
    probabilities = np.random.default_rng(0).dirichlet([1, 1, 1], size=50)
    truths = np.random.default_rng(1).integers(3, size=50).tolist()
    assert score_labels(probabilities, truths).measures == score_labels(probabilities, truths).measures
