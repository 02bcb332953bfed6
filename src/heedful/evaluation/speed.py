"""How fast something is: tokens a second, as the median of several runs.

The median, because the slow runs of a shared machine say nothing about the program. What is timed must have finished
when it returns; on a GPU that means that it waits for the device itself.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from heedful.errors import UserError


@dataclass(frozen=True, slots=True)
class Speed:
    """The outcome of a timing."""

    tokens_per_second: float
    """Median over the runs."""

    seconds: tuple[float, ...]
    """Duration of each run, in order."""

    num_tokens: int
    """Tokens of one run, the last."""


def measure_speed(
    work: Callable[[], int], *, num_runs: int = 5, num_warmups: int = 1, clock: Callable[[], float] = time.perf_counter
) -> Speed:
    """Time `work`, which returns how many tokens it produced, `num_runs` times after `num_warmups` untimed ones."""
    if num_runs < 1:
        raise UserError(f"`num_runs` must be at least 1, but is {num_runs}.")
    for _ in range(num_warmups):
        work()
    seconds: list[float] = []
    rates: list[float] = []
    num_tokens = 0
    for _ in range(num_runs):
        began = clock()
        num_tokens = work()
        seconds.append(clock() - began)
        rates.append(num_tokens / seconds[-1])
    return Speed(statistics.median(rates), tuple(seconds), num_tokens)
