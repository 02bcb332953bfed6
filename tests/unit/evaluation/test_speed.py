"""The timing helper, with a clock that says what it is told."""

import itertools

import pytest

from heedful.errors import UserError
from heedful.evaluation import measure_speed


def test_the_median_run_counts_and_warm_ups_do_not() -> None:
    runs: list[None] = []
    ticks = itertools.accumulate([0, 1, 0, 4, 0, 2])  # three runs of 1, 4 and 2 seconds

    def work() -> int:
        runs.append(None)
        return 100

    speed = measure_speed(work, num_runs=3, num_warmups=2, clock=lambda: float(next(ticks)))
    assert speed.tokens_per_second == 50.0
    assert speed.seconds == (1.0, 4.0, 2.0)
    assert speed.num_tokens == 100
    assert len(runs) == 5


def test_there_must_be_a_run() -> None:
    with pytest.raises(UserError, match="`num_runs` must be at least 1, but is 0"):
        measure_speed(lambda: 1, num_runs=0)
