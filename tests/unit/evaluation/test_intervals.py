"""Student's intervals against the printed tables of the distribution, and power laws that are known."""

import numpy as np
import pytest

from heedful.evaluation.intervals import mean_interval, power_law, student_quantile


@pytest.mark.parametrize(
    ("freedom", "level", "printed"),
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (5, 0.95, 2.571), (30, 0.95, 2.042), (9, 0.99, 3.250), (4, 0.9, 2.132)],
)
def test_quantiles_are_those_of_the_printed_table(freedom: int, level: float, printed: float) -> None:
    assert student_quantile(freedom, level) == pytest.approx(printed, abs=5e-4)


def test_the_interval_of_a_mean_is_that_of_the_textbook() -> None:
    found = mean_interval([34.0, 35.0, 36.0])
    assert (found.value, found.high - found.value) == pytest.approx((35.0, 4.3027 / 3**0.5), abs=1e-3)
    assert found.low + found.high == pytest.approx(70.0)


def test_a_single_value_has_no_interval() -> None:
    assert mean_interval([7.0]) == mean_interval([7.0, 7.0])


def test_an_exact_law_is_found_with_no_interval_left() -> None:
    n, d = np.meshgrid([64.0, 128.0, 256.0], [8.0, 16.0])
    found = power_law({"n": n.ravel(), "d": d.ravel()}, (3e-9 * n**2 * d).ravel())
    assert (found["n"].value, found["d"].value) == pytest.approx((2.0, 1.0))
    assert found["n"].high - found["n"].low < 1e-6


def test_the_interval_holds_the_exponent_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    n = np.repeat([64.0, 128.0, 256.0, 512.0], 2)
    laws = [power_law({"n": n}, n**1.5 * np.exp(generator.normal(0, 0.1, n.size)))["n"] for _ in range(400)]
    assert 0.91 <= np.mean([1.5 in law for law in laws]) <= 0.98
