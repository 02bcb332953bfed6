"""Numbers and how much they say: "40 million", "40 Millionen" and "4000万" are one quantity, "40万" is another.

Digits are read in whatever way a language groups them, together with the word of magnitude behind them, in English,
German, French and Chinese. Where a word means two things (billion), or a mark may group or divide (1.234), every
reading counts. Numbers written as words are not read. This file knows no translation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_LEAST_CHECKED = 13
"""Numbers below are often written as words, and rightly so."""

_MAGNITUDES: dict[str, tuple[int, ...]] = {
    "thousand": (3,), "million": (6,), "millions": (6,), "billion": (9, 12), "billions": (9, 12), "trillion": (12, 18),
    "trillions": (12, 18), "bn": (9,), "tausend": (3,), "tsd": (3,), "millionen": (6,), "mio": (6,), "milliarde": (9,),
    "milliarden": (9,), "mrd": (9,), "billionen": (12,), "mille": (3,), "milliard": (9,), "milliards": (9,),
    "十": (1,), "百": (2,), "千": (3,), "万": (4,), "萬": (4,), "十万": (5,), "百万": (6,), "百萬": (6,), "千万": (7,),
    "千萬": (7,), "亿": (8,), "億": (8,), "十亿": (9,), "百亿": (10,), "千亿": (11,), "万亿": (12,), "萬億": (12,),
}  # fmt: skip
_WORDS = sorted((word for word in _MAGNITUDES if word.isascii()), key=len, reverse=True)
_SIGNS = sorted((word for word in _MAGNITUDES if not word.isascii()), key=len, reverse=True)
_NUMBER = re.compile(
    r"\d{1,40}(?:[.,'’\u00a0\u202f]\d{1,40}){0,12}(?: \d{3}(?!\d)){0,6}"
    rf"(?:[ \u00a0\u202f-]?({'|'.join(_WORDS)})\b|[ \u00a0]?({'|'.join(_SIGNS)}))?",
    re.ASCII | re.IGNORECASE,
)
_MAGNITUDE = re.compile(rf"{_NUMBER.pattern.removesuffix('?')}", _NUMBER.flags)
_GROUPS = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d{3}(?!\d))*", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+", re.ASCII)
_A_DIGIT = re.compile(r"\d", re.ASCII)
_NO_DIGIT = re.compile(r"\D", re.ASCII)


@dataclass(frozen=True)
class Quantity:
    """A number of a text."""

    text: str
    """As it stands there, with its word of magnitude."""

    digits: str
    """Its digits alone."""

    values: frozenset[Decimal]
    """What it may mean."""

    has_magnitude: bool


def find_quantities(text: str) -> Iterator[Quantity]:
    """Yield the numbers of a text, in order."""
    for match in _NUMBER.finditer(text):
        word = match[1] or match[2]
        number = match[0].removesuffix(word or "").rstrip(" \u00a0\u202f-")
        powers = _MAGNITUDES[word.lower()] if word else (0,)
        values = frozenset(value.scaleb(power).normalize() for value in _readings(number) for power in powers)
        yield Quantity(match[0], _NO_DIGIT.sub("", number), values, word is not None)


def lost_numbers(source: str, text: str) -> list[str]:
    """Return the numbers of a text that its translation does not have, in whatever way they are written with digits."""
    if _A_DIGIT.search(source) is None:
        return []
    written = list(find_quantities(text))
    values = frozenset[Decimal]().union(*(quantity.values for quantity in written))
    digits = {quantity.digits for quantity in written}
    lost = [
        quantity.text
        for quantity in find_quantities(source)
        if quantity.has_magnitude and values.isdisjoint(quantity.values)
        if _is_large(quantity.digits) or quantity.digits in digits
    ]
    plain = [number for number in _GROUPS.findall(_MAGNITUDE.sub(" ", source)) if values.isdisjoint(_readings(number))]
    joined = _NO_DIGIT.sub("", text)  # a long number may be cut in two
    lost += [number for number in plain if _is_large(only := _NO_DIGIT.sub("", number)) and only not in joined]
    return list(dict.fromkeys(lost))


def _is_large(digits: str) -> bool:
    return len(digits) > 4 or int(digits) >= _LEAST_CHECKED


def _readings(number: str) -> Iterator[Decimal]:
    """Yield what a number may mean: marks between its digits group them, and the last one may divide."""
    parts = _NO_DIGIT.split(number)
    if len(parts) == 1 or _GROUPED.fullmatch(number) or len(parts) > 2:
        yield Decimal("".join(parts))
    if len(parts) > 1 and number[-len(parts[-1]) - 1] in ".,":
        yield Decimal(f"{''.join(parts[:-1])}.{parts[-1]}")
