"""How good something is and by how much it is better, with what is known of the choice of cases and of the seed.

With one seed an interval is the bootstrap's over the cases, and a difference is tested by the paired bootstrap (Koehn,
2004): the numbers of `heedful evaluate --against`. With several seeds the score is their mean, and two variances add:
that of the mean over resampled cases, drawn for both of a pair together, and that over seeds. The interval is Student's
with the degrees of freedom of Satterthwaite (1946). Knows sums of cases; it knows no models.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heedful.evaluation.case_statistics import CaseStatistics
from heedful.evaluation.intervals import student_quantile, student_tail
from heedful.evaluation.scores import NUM_RESAMPLES, draw_cases, middle_95, paired_p_value

Floats = npt.NDArray[np.float64]
_MOST_GROUPS, _LEAST_IN_A_GROUP = 5, 10
_MOST_FREEDOM = 1e6


@dataclass(frozen=True)
class Quality:
    """A score over seeds with its 95 % interval."""

    value: float
    low: float
    high: float
    by_seed: tuple[float, ...]


@dataclass(frozen=True)
class Gap:
    """By how much one thing's score exceeds another's."""

    difference: float
    low: float
    high: float
    p_value: float
    """Probability of a difference at least so large if the two were equally good."""


@dataclass(frozen=True)
class LengthGroup:
    """The score of cases of similar length."""

    shortest: int
    longest: int
    mean_length: float
    num_cases: int
    quality: Quality


class Judged:
    """One thing's scores on one test set: a `CaseStatistics` for each seed, over the same cases."""

    def __init__(self, by_seed: Sequence[CaseStatistics]) -> None:
        self.by_seed = by_seed
        self.values = tuple(it.value for it in by_seed)
        counts = draw_cases(NUM_RESAMPLES, len(by_seed[0].rows))
        self.samples: Floats = np.mean([it.scores(counts) for it in by_seed], axis=0)

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(self.values))

    @property
    def seed_variance(self) -> float | None:
        """How much a single score varies with the seed; None when there is only one."""
        return float(np.var(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def quality(self) -> Quality:
        """The mean with its interval."""
        if self.seed_variance is None:
            return Quality(self.mean, *middle_95(self.samples), self.values)
        half, _ = _half_width(float(np.var(self.samples, ddof=1)), [(self.seed_variance, len(self.values))])
        return Quality(self.mean, self.mean - half, self.mean + half, self.values)


def gap_between(baseline: Judged, system: Judged) -> Gap:
    """Compare two things on the same cases.

    Where only one of them has several seeds, the other is taken to vary as much.
    """
    samples, difference = system.samples - baseline.samples, system.mean - baseline.mean
    variances = [it.seed_variance for it in (baseline, system)]
    known = [variance for variance in variances if variance is not None]
    if not known:
        return Gap(difference, *middle_95(samples), paired_p_value(np.abs(samples), abs(difference)))
    seeds = [
        (known[0] if variance is None else variance, len(it.values))
        for variance, it in zip(variances, (baseline, system), strict=True)
    ]
    half, p_value = _half_width(float(np.var(samples, ddof=1)), seeds, difference)
    return Gap(difference, difference - half, difference + half, p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values for several tests at once (Holm, 1979): one below 0.05 stays so whatever the others are."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def by_length(by_seed: Sequence[CaseStatistics], lengths: Sequence[int]) -> list[LengthGroup]:
    """Return the score of short cases, of long ones and of those between, in groups of nearly equal size."""
    if not lengths:
        return []
    whole = np.asarray(lengths)
    num_groups = max(1, min(_MOST_GROUPS, len(whole) // _LEAST_IN_A_GROUP))
    bounds = sorted({int(bound) for bound in np.quantile(whole, np.linspace(0, 1, num_groups + 1)[1:], method="lower")})
    groups, below = [], -1
    for bound in bounds:
        chosen = np.flatnonzero((whole > below) & (whole <= bound))
        its = whole[chosen]
        quality = Judged([it.of(chosen) for it in by_seed]).quality
        groups.append(LengthGroup(int(its.min()), int(its.max()), float(its.mean()), len(chosen), quality))
        below = bound
    return groups


def _half_width(
    case_variance: float, seeds: Sequence[tuple[float, int]], difference: float = 0.0
) -> tuple[float, float]:
    """Return half the 95 % interval of a mean, or of a difference of means, and the p-value of the difference.

    `seeds` are the variances of single scores and the numbers of seeds; that over cases is known well.
    """
    parts = [variance / count for variance, count in seeds]
    total = case_variance + sum(parts)
    if total <= 0:
        return 0.0, 1.0 if difference == 0 else 0.0
    spread = sum(part**2 / max(1, count - 1) for part, (_, count) in zip(parts, seeds, strict=True))
    freedom = min(_MOST_FREEDOM, total**2 / spread) if spread else _MOST_FREEDOM
    error = math.sqrt(total)
    return student_quantile(freedom) * error, student_tail(difference / error, freedom)
