"""Intervals and tests over cases and seeds: published tables, other functions of ours, and what must hold."""

import itertools

import numpy as np
import pytest

from heedful.comparisons.significance import Judged, by_length, gap_between, holm
from heedful.evaluation.case_statistics import decision_statistics, translation_statistics
from heedful.evaluation.intervals import student_quantile, student_tail
from heedful.evaluation.scores import compare_systems, score_corpus


def sentences(seed: int, rate: float) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(seed)
    references = [" ".join(f"w{word}" for word in random.integers(40, size=9)) for _ in range(60)]
    spoilt = [" ".join("x" if random.random() < rate else word for word in line.split()) for line in references]
    return spoilt, references


def judged(rates: list[float], num_seeds: int, num_cases: int = 400) -> list[Judged]:
    random = np.random.default_rng(7)
    return [Judged([decision_statistics(random.random(num_cases) < rate) for _ in range(num_seeds)]) for rate in rates]


def test_with_one_seed_the_numbers_are_those_of_evaluate() -> None:
    ours, references = sentences(1, 0.2)
    others, _ = sentences(1, 0.3)
    first, second = (Judged([translation_statistics(texts, references)[0]]) for texts in (others, ours))
    score = score_corpus(ours, references, metrics=["bleu"])[0]
    assert (second.quality.value, second.quality.low, second.quality.high) == pytest.approx(
        (score.value, score.low, score.high), abs=1e-9
    )
    comparison = compare_systems(others, ours, references, metrics=["bleu"])[0]
    gap = gap_between(first, second)
    assert (gap.difference, gap.low, gap.high) == pytest.approx(
        (comparison.difference, comparison.low, comparison.high), abs=1e-9
    )
    assert gap.p_value == pytest.approx(comparison.p_value)


def test_seeds_widen_an_interval_as_students_table_has_it() -> None:
    same = np.array([True] * 50 + [False] * 50)
    fewer = np.array([True] * 40 + [False] * 60)
    alone, apart = Judged([decision_statistics(same)]), Judged([decision_statistics(same), decision_statistics(fewer)])
    assert apart.quality.high - apart.quality.low > 2 * (alone.quality.high - alone.quality.low)
    assert student_quantile(2) == pytest.approx(4.3027, abs=1e-3)  # any table of Student's distribution
    assert student_tail(4.3027, 2) == pytest.approx(0.05, abs=1e-5)
    assert student_tail(2.2281, 10) == pytest.approx(0.05, abs=1e-5)
    assert student_tail(1.96, 1e6) == pytest.approx(0.05, abs=1e-4)


def test_a_large_difference_is_found_and_none_is_not() -> None:
    low, alike, high = judged([0.5, 0.5, 0.9], 3)
    assert gap_between(low, high).p_value < 0.01
    assert gap_between(low, high).low > 0
    assert gap_between(low, alike).p_value > 0.05
    same = gap_between(low, low)
    assert (same.difference, same.p_value) == (0.0, 1.0)


def test_under_the_null_the_test_is_wrong_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    found = 0
    for _ in range(100):
        pair = [Judged([decision_statistics(random.random(200) < 0.7) for _ in range(3)]) for _ in range(2)]
        found += gap_between(*pair).p_value < 0.05
    assert found <= 12  # of 100 at 5 %; more than 12 has a probability of 0.1 %


def test_holm_multiplies_the_smallest_most_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.6]) == [1.0, 1.0]


def test_groups_by_length_hold_every_case_once_and_score_like_their_cases() -> None:
    ours, references = sentences(5, 0.2)
    bleu = translation_statistics(ours, references)[0]
    lengths = [3 + number % 20 for number in range(60)]
    groups = by_length([bleu], lengths)
    assert sum(group.num_cases for group in groups) == 60
    assert all(first.longest < second.shortest for first, second in itertools.pairwise(groups))
    chosen = [number for number, length in enumerate(lengths) if length <= groups[0].longest]
    score = score_corpus([ours[it] for it in chosen], [references[it] for it in chosen], metrics=["bleu"])[0]
    assert groups[0].quality.value == pytest.approx(score.value, abs=1e-9)
    assert by_length([bleu], []) == []
