"""Of a large corpus a part is looked at, and the part is like the whole."""

import pytest

from heedful.data.corpus_faults import Thinning


@pytest.mark.parametrize("period", [2, 3, 4, 7])
def test_what_comes_at_regular_intervals_is_looked_at_as_often_as_the_rest(period: int) -> None:
    thinning = Thinning(1000)
    taken = [number for number in range(20_000) if thinning.takes_next()]
    assert 1000 < len(taken) < 6000
    assert taken[-1] > 19_000
    later = [number for number in taken if number >= 2000]
    assert sum(number % period == 0 for number in later) / len(later) == pytest.approx(1 / period, abs=0.04)
