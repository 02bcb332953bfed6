"""Intervals of confidence by Student's distribution: of a mean over seeds, and of the exponents of a power law."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = Sequence[float] | NDArray[np.floating]


@dataclass(frozen=True)
class Estimate:
    """A value and the interval it is in at a level of confidence."""

    value: float
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        """Tell whether a value lies in the interval."""
        return self.low <= value <= self.high


def student_quantile(freedom: float, level: float = 0.95) -> float:
    """Return the t that |T| stays below with probability `level`, T of Student's distribution with `freedom` degrees.

    With t = √freedom · tan θ its density is proportional to cos^(freedom - 1) θ, which is summed here.
    """
    angles, mass = _student_mass(freedom)
    angle = float(np.interp(level * mass[-1], mass, angles))
    return math.sqrt(freedom) * math.tan(angle)


def student_tail(t: float, freedom: float) -> float:
    """Return the probability that |T| is at least |t|: the p-value of a two-sided test."""
    angles, mass = _student_mass(freedom)
    angle = math.atan(abs(t) / math.sqrt(freedom))
    return max(0.0, 1.0 - float(np.interp(angle, angles, mass)) / float(mass[-1]))


def _student_mass(freedom: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return angles from 0 to π/2, and what of Student's distribution lies below each, not yet divided by its sum."""
    assert 1 <= freedom <= 1e6
    angles = np.linspace(0.0, math.pi / 2, 200_001)
    density = np.cos(angles) ** (freedom - 1)
    return angles, np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])


def mean_interval(values: Sequence[float], level: float = 0.95) -> Estimate:
    """Return the mean of values and its interval; of a single value nothing is known but itself."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean, mean, mean)
    half = student_quantile(len(values) - 1, level) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half)


def power_law(sizes: Mapping[str, Column], values: Column, level: float = 0.95) -> dict[str, Estimate]:
    """Fit values = c · Π size^exponent by least squares on logarithms; return the exponent of each size.

    The intervals are those of linear regression: they hold what is left over after the fit, be it noise or a law that
    is none.
    """
    columns = [np.ones(len(values)), *(np.log(np.asarray(column, float)) for column in sizes.values())]
    design, logs = np.stack(columns, axis=1), np.log(np.asarray(values, float))
    freedom = len(values) - design.shape[1]
    assert freedom >= 1, f"{len(values)} values cannot say {len(sizes)} exponents"
    found, *_ = np.linalg.lstsq(design, logs, rcond=None)
    variance = float(np.sum((logs - design @ found) ** 2)) / freedom
    halves = student_quantile(freedom, level) * np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    exponents = zip(sizes, found[1:], halves[1:], strict=True)
    return {name: Estimate(float(value), float(value - half), float(value + half)) for name, value, half in exponents}
