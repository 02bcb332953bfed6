"""Whether two models really differ on one test set: each case is judged by both, and the pairs are what is tested.

For decisions that are right or wrong, McNemar's exact test (1947): only cases that one of the two gets right can tell
them apart, and if the two were equally good, each of these would be a toss of a coin. For rates, such as bits per byte,
a bootstrap that draws the same pieces of text for both (Koehn, 2004). How translations are compared says scores.py.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NUM_RESAMPLES = 1000
_SEED = 12345


@dataclass(frozen=True)
class Difference:
    """By how much a system exceeds a baseline, with the interval that holds 95 % of what other test sets would give."""

    baseline: float
    difference: float
    low: float
    high: float
    p_value: float
    """Probability of a difference at least so large if the two were equally good."""


def compare_decisions(baseline: NDArray[np.bool_], system: NDArray[np.bool_]) -> Difference:
    """Compare shares of right decisions; baseline [batch] and system [batch] say which are right."""
    num_all = len(system)
    num_gained, num_lost = int((system & ~baseline).sum()), int((baseline & ~system).sum())
    # Drawing cases with replacement draws how many are gained, lost and the same: three numbers, not an array.
    shares = np.array([num_gained, num_lost, num_all - num_gained - num_lost]) / num_all
    gained, lost, _ = np.random.default_rng(_SEED).multinomial(num_all, shares, size=_NUM_RESAMPLES).T
    return Difference(
        float(baseline.mean()),
        (num_gained - num_lost) / num_all,
        *_interval((gained - lost) / num_all),
        p_value=mcnemar(num_gained, num_lost),
    )


def mcnemar(num_gained: int, num_lost: int) -> float:
    """Return how probable it is that so many tosses of a coin, gained and lost, fall at least so unevenly."""
    num_all = num_gained + num_lost
    ways, total = 1, 0  # ways to toss `heads` heads, and the sum of those up to the rarer side: whole numbers, exact
    for heads in range(min(num_gained, num_lost) + 1):
        total += ways
        ways = ways * (num_all - heads) // (heads + 1)
    return min(1.0, 2 * total / (1 << num_all))


def compare_rates(
    baseline: NDArray[np.floating], system: NDArray[np.floating], sizes: NDArray[np.integer]
) -> Difference:
    """Compare sums per size, such as bits per byte; baseline, system and sizes [batch] are those of pieces of a text.

    Pieces must be long enough to tell little of one another: a bootstrap over single bytes would be too sure.
    """
    differences = np.asarray(system, dtype=np.float64) - baseline
    num_pieces = len(sizes)
    even = np.full(num_pieces, 1 / num_pieces)
    counts = np.random.default_rng(_SEED).multinomial(num_pieces, even, size=_NUM_RESAMPLES)
    drawn = (counts @ differences) / (counts @ sizes)
    difference = float(differences.sum() / sizes.sum())
    return Difference(
        float(np.sum(baseline) / sizes.sum()), difference, *_interval(drawn), p_value=_p_value(drawn, difference)
    )


def _interval(drawn: NDArray[np.floating]) -> tuple[float, float]:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def _p_value(drawn: NDArray[np.floating], difference: float) -> float:
    """Return how often chance alone, the drawn differences around their mean, is as far off; 1 if nothing differs."""
    if not drawn.any():
        return 1.0
    num_larger = int((np.abs(drawn - drawn.mean()) >= abs(difference)).sum())
    return (num_larger + 1) / (len(drawn) + 1)
