"""What the doctors of all tasks say: findings with a severity, and lengths in four numbers. Knows no corpus."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Severity = Literal["error", "warning", "note"]
"""What a run would refuse, what usually spoils one, what is good to know."""

Part = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class Finding:
    """One thing a person should know, as a sentence."""

    severity: Severity
    sentence: str


@dataclass(frozen=True)
class LengthSummary:
    """How long sentences or documents are, in tokens with the end symbol."""

    mean: float
    median: int
    percentile_99: int
    longest: int


def summarise(lengths: NDArray[np.int64]) -> LengthSummary:
    """Say in four numbers how long sentences or documents are."""
    median, high = np.percentile(lengths, [50, 99], method="nearest").tolist()
    return LengthSummary(float(lengths.mean()), int(median), int(high), int(lengths.max()))
