"""Sides that have come apart are found, with the line and the offset, and sound ones are left alone."""

import pytest

from heedful.data.readers import Pair
from heedful.data.shifted_lines import Shift, find_shifts
from tests.support.spoilt_corpora import Pairs, shifted, sound


def shifts_of(pairs: Pairs, *, every: int = 1) -> list[Shift]:
    return find_shifts(lambda: (Pair(*pair, line) for line, pair in enumerate(pairs, start=1)), every=every)


def moved(pairs: Pairs, offset: int) -> Pairs:
    """The target of every source `offset` lines later."""
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    if offset > 0:
        return list(zip(sources[offset:], targets[: len(pairs) - offset], strict=True))
    return list(zip(sources[: len(pairs) + offset], targets[-offset:], strict=True))


def test_sound_pairs_are_not_shifted() -> None:
    assert shifts_of(sound(1000)) == []


def test_a_handful_of_pairs_says_nothing() -> None:
    assert shifts_of(moved(sound(20), 1)) == []


@pytest.mark.parametrize("offset", [-3, -2, -1, 1, 2, 3])
def test_a_whole_corpus_that_is_shifted(offset: int) -> None:
    assert shifts_of(moved(sound(), offset)) == [Shift(1, None, offset)]


def test_the_line_where_a_shift_begins_is_found() -> None:
    (shift,) = shifts_of(shifted(600, lost=250))
    assert abs(shift.first - 250) <= 3
    assert (shift.last, shift.offset) == (None, 1)


def test_a_shift_that_ends_again() -> None:
    pairs = sound(600)
    part = [(pairs[number][0], pairs[number - 2][1]) for number in range(200, 300)]
    (shift,) = shifts_of([*pairs[:200], *part, *pairs[300:]])
    assert shift.offset == -2 or shift.offset == 2
    assert shift.last is not None
    assert abs(shift.first - 201) <= 3
    assert abs(shift.last - 300) <= 3


def test_of_a_large_corpus_some_blocks_are_looked_at() -> None:
    (shift,) = shifts_of(shifted(4000, lost=1700), every=2)
    assert shift.offset == 1
    assert 1500 <= shift.first <= 2003  # lines 1501 to 2000 are not looked at
