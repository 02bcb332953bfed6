"""Two small fits for calibration: logistic regression, and isotonic regression as a few points to go between.

Both answer the same question, how often something is so where some numbers are these. Knows numbers only.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MOST_STEPS, _CLOSE = 100, 1e-8


def fit_logistic(features: Floats, is_so: NDArray[np.bool_], *, ridge: float = 2.0) -> Floats:
    """Return the weights w of P(is so) = 1 / (1 + e^-(w₀ + w₁x₁ + …)) by Newton's method, [features + 1].

    features [examples, features]. `ridge` is the L2 penalty of the weights of standardised features, which are then
    given back for the features as they came.
    """
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    inputs = np.column_stack([np.ones(len(features)), (features - mean) / scale])
    penalty = np.diag([1e-6, *[ridge] * features.shape[1]])
    weights = np.zeros(inputs.shape[1])
    for _ in range(_MOST_STEPS):
        shares = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (shares - is_so) + penalty @ weights
        curvature = (inputs * (shares * (1 - shares))[:, None]).T @ inputs + penalty
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < _CLOSE:
            break
    raw = weights[1:] / scale
    return np.array([weights[0] - raw @ mean, *raw])


def fit_isotonic(values: Floats, is_so: NDArray[np.bool_], *, num_bins: int = 15) -> tuple[Floats, Floats]:
    """Return points between which the share of what is so rises with a value: places and shares, both ascending.

    values [examples] are first put into bins of equal numbers; neighbours whose shares fall are pooled (Ayer et al.,
    1955). The points are the means of what is left.
    """
    order = np.argsort(values, kind="stable")
    pools: list[tuple[float, float, int]] = []  # sum of the values, number of what is so, number of all
    for chosen in np.array_split(order, min(num_bins, len(order))):
        pools.append((float(values[chosen].sum()), float(is_so[chosen].sum()), len(chosen)))
        while len(pools) > 1 and pools[-2][1] * pools[-1][2] >= pools[-1][1] * pools[-2][2]:
            last, before = pools.pop(), pools.pop()
            pools.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return np.array([pool[0] / pool[2] for pool in pools]), np.array([pool[1] / pool[2] for pool in pools])
