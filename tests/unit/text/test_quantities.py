"""Numbers of a text and of its translation: the same digits, and as much."""

import time
from decimal import Decimal

import pytest

from heedful.text.quantities import find_quantities, lost_numbers


def test_numbers_are_compared_by_their_digits() -> None:
    assert lost_numbers("64,000 dollars in 1990", "64.000 Dollar im Jahr 1990") == []
    assert lost_numbers("64,000 dollars", "6400 Dollar") == ["64,000"]
    assert lost_numbers("2 cats", "zwei Katzen") == [], "small numbers are often words"
    assert lost_numbers("20 cats", "Katzen") == ["20"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("40 million euros", "40 Millionen Euro"),
        ("40 million euros", "4000万欧元"),
        ("40 million euros", "40 000 000 euros"),
        ("2.5 billion people", "2,5 Milliarden Menschen"),
        ("2.5 billion people", "25亿人"),
        ("2,5 Billionen Euro", "2.5 trillion euros"),
        ("64,000 dollars", "6.4万美元"),
        ("3 million people", "drei Millionen Menschen"),
        ("1.234,56 Euro", "1,234.56 euros"),
        ("15 Mio. Einwohner", "15 million inhabitants"),
        ("40 to 50 million", "4000万到5000万"),
        ("on 12.05.2024 at 14:30", "2024年5月12日14:30"),
    ],
)
def test_a_quantity_may_be_written_in_other_ways(source: str, text: str) -> None:
    assert lost_numbers(source, text) == []


@pytest.mark.parametrize(
    ("source", "text", "lost"),
    [
        ("40 million euros", "40万欧元", "40 million"),
        ("40 million euros", "400万欧元", "40 million"),
        ("2.5 billion people", "2.5亿人", "2.5 billion"),
        ("4000万欧元", "40,000 euros", "4000万"),
        ("3 million people", "3亿人", "3 million"),
        ("15 Milliarden Euro", "15 million euros", "15 Milliarden"),
    ],
)
def test_the_same_digits_of_another_magnitude_are_lost(source: str, text: str, lost: str) -> None:
    assert lost_numbers(source, text) == [lost]


def test_a_mark_may_group_or_divide() -> None:
    (found,) = find_quantities("1.234")
    assert found.values == {Decimal(1234), Decimal("1.234")}


@pytest.mark.parametrize("unit", ["1", "1,", "1 ", "1 000 ", "1.2.3", "1万", "1 million "])
def test_the_time_is_linear(unit: str) -> None:
    started = time.process_time()
    lost_numbers(unit * 5_000, unit * 5_000)
    assert time.process_time() - started < 2
