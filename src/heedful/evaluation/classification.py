"""How good labels are: accuracy, macro-F1, calibration, the confusion matrix, each with its interval.

Formulas over arrays, nothing else: labels are numbers, probabilities are rows. The tests compute the same by hand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NUM_BINS = 15
_NUM_RESAMPLES = 1000
_SEED = 12345


@dataclass(frozen=True)
class Measure:
    """A number with the interval that holds 95 % of what other test sets of this size would give."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ClassificationScores:
    """What a classifier did on one test set."""

    accuracy: Measure
    macro_f1: Measure
    calibration_error: Measure
    """Expected calibration error: how far from the truth the probability of the decision is, on average."""

    loss: float
    """Mean negative log-likelihood of the true label, in nats."""

    confusion: NDArray[np.int64]
    """[true label, decided label]: how many documents."""

    per_label: list[tuple[float, float, float]]
    """For each label precision, recall and F1; 0 where nothing was decided or nothing is there."""

    @property
    def measures(self) -> list[Measure]:
        """The three measures with intervals."""
        return [self.accuracy, self.macro_f1, self.calibration_error]


def score_labels(probabilities: NDArray[np.floating], truths: Sequence[int]) -> ClassificationScores:
    """Score probabilities [batch, classes] against the numbers of the true labels."""
    probabilities = np.asarray(probabilities, dtype=np.float64)
    truth = np.asarray(truths, dtype=np.int64)
    decided = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(truth)), decided]
    num_labels = probabilities.shape[1]
    right = decided == truth
    of_truth = probabilities[np.arange(len(truth)), truth]
    table = confusion_matrix(truth, decided, num_labels)

    def resampled_f1(chosen: NDArray[np.int64]) -> float:
        return macro_f1(confusion_matrix(truth[chosen], decided[chosen], num_labels))

    return ClassificationScores(
        accuracy=Measure("accuracy", float(right.mean()), *wilson_interval(int(right.sum()), len(truth))),
        macro_f1=Measure("macro-F1", macro_f1(table), *bootstrap_interval(resampled_f1, len(truth))),
        calibration_error=Measure(
            "calibration error",
            calibration_error(confidence, right),
            *bootstrap_interval(lambda chosen: calibration_error(confidence[chosen], right[chosen]), len(truth)),
        ),
        loss=float(-np.log(np.maximum(of_truth, np.finfo(np.float64).tiny)).mean()),
        confusion=table,
        per_label=precision_recall_f1(table),
    )


def confusion_matrix(truth: NDArray[np.int64], decided: NDArray[np.int64], num_labels: int) -> NDArray[np.int64]:
    """Count documents by true and by decided label, [true label, decided label]."""
    counts = np.bincount(truth * num_labels + decided, minlength=num_labels * num_labels)
    return counts.reshape(num_labels, num_labels).astype(np.int64)


def precision_recall_f1(confusion: NDArray[np.int64]) -> list[tuple[float, float, float]]:
    """Return precision, recall and F1 of each label, 0 where they are not defined."""
    hits = np.diag(confusion).astype(np.float64)
    decided, there = confusion.sum(axis=0), confusion.sum(axis=1)
    precision = np.divide(hits, decided, out=np.zeros_like(hits), where=decided > 0)
    recall = np.divide(hits, there, out=np.zeros_like(hits), where=there > 0)
    f1 = np.divide(2 * hits, decided + there, out=np.zeros_like(hits), where=decided + there > 0)
    return list(zip(precision.tolist(), recall.tolist(), f1.tolist(), strict=True))


def macro_f1(confusion: NDArray[np.int64]) -> float:
    """Return the mean F1 over the labels that are there or were decided: every label counts the same."""
    occurs = (confusion.sum(axis=0) + confusion.sum(axis=1)) > 0
    f1 = np.array([row[2] for row in precision_recall_f1(confusion)])
    return float(f1[occurs].mean()) if occurs.any() else 0.0


def calibration_error(confidence: NDArray[np.floating], right: NDArray[np.bool_], num_bins: int = _NUM_BINS) -> float:
    """Return the expected calibration error (Guo et al., 2017, equation 3), with bins of equal width.

    confidence [batch] is the probability of each decision. In every bin: |share of right ones - mean probability|,
    averaged with the number of documents in the bin.
    """
    bins = np.clip(np.ceil(np.asarray(confidence) * num_bins).astype(np.int64) - 1, 0, num_bins - 1)
    gaps = np.bincount(bins, weights=right.astype(np.float64) - confidence, minlength=num_bins)
    return float(np.abs(gaps).sum() / max(1, len(confidence)))


def wilson_interval(num_right: int, num_all: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the interval of a share (Wilson, 1927): right for few documents and for shares near 0 and 1 as well."""
    if num_all == 0:
        return 0.0, 1.0
    share = num_right / num_all
    centre = share + z * z / (2 * num_all)
    spread = z * float(np.sqrt(share * (1 - share) / num_all + z * z / (4 * num_all * num_all)))
    whole = 1 + z * z / num_all
    return max(0.0, (centre - spread) / whole), min(1.0, (centre + spread) / whole)


def bootstrap_interval(measure: Callable[[NDArray[np.int64]], float], num_all: int) -> tuple[float, float]:
    """Return the middle 95 % of a measure over test sets drawn with replacement; always the same draws."""
    generator = np.random.default_rng(_SEED)
    values = [measure(generator.integers(num_all, size=num_all)) for _ in range(_NUM_RESAMPLES)]
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
