"""A score as a function of sums over cases: sentences, documents, or stretches of a text.

BLEU and chrF are functions of sums of n-grams, accuracy of sums of right decisions, bits per byte of sums of bits. With
the numbers of every case kept, the score of the whole test set, of its long sentences or of any resampled set is one
product of matrices away, and no model has to be asked again. BLEU and chrF are sacreBLEU's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from heedful.evaluation.scores import Metric, References, metric_called, reference_streams

Floats = npt.NDArray[np.float64]
Kind = Literal["bleu", "chrf", "share", "rate"]


@dataclass(frozen=True)
class CaseStatistics:
    """What every case of a test set adds to a score."""

    name: str
    """The score as it is written: "BLEU", "chrF2", "accuracy", "bits per byte"."""

    kind: Kind
    """How sums become the score: sacreBLEU's BLEU or chrF, a share in percent, or a rate of which less is better."""

    rows: Floats
    """[cases, sums]: of a share or rate what is counted and what it is divided by."""

    @property
    def value(self) -> float:
        """The score of the whole test set."""
        return self.score(self.rows.sum(axis=0))

    @property
    def is_less_better(self) -> bool:
        """Whether the smaller of two scores is the better one."""
        return self.kind == "rate"

    def score(self, sums: Floats) -> float:
        """Return the score of the cases that `sums` are the sums of, each counted as often as it was added."""
        if self.kind in ("bleu", "chrf"):
            return float(_metric(self.kind)._compute_score_from_stats(sums.tolist()).score)
        scale = 100.0 if self.kind == "share" else 1.0
        return scale * float(sums[0]) / max(float(sums[1]), 1e-300)

    def scores(self, counts: Floats) -> Floats:
        """Return the scores of resampled test sets; counts [sets, cases] say how often each has every case."""
        return np.array([self.score(sums) for sums in counts @ self.rows])

    def of(self, chosen: npt.NDArray[np.intp]) -> "CaseStatistics":
        """Return the statistics of some of the cases."""
        return CaseStatistics(self.name, self.kind, self.rows[chosen])


def translation_statistics(
    hypotheses: Sequence[str], references: References, *, tokenize: str = "13a"
) -> list[CaseStatistics]:
    """Return what each sentence adds to BLEU and to chrF."""
    streams = reference_streams(references)

    def rows(metric: Metric) -> Floats:
        found = metric_called(metric, tokenize, lowercase=False)._extract_corpus_statistics(hypotheses, streams)
        return np.array(found, dtype=np.float64)

    return [CaseStatistics("BLEU", "bleu", rows("bleu")), CaseStatistics("chrF2", "chrf", rows("chrf"))]


def decision_statistics(are_right: npt.NDArray[np.bool_]) -> CaseStatistics:
    """Return what each decision adds to the accuracy, in percent."""
    right = np.asarray(are_right, dtype=np.float64)
    return CaseStatistics("accuracy", "share", np.column_stack([right, np.ones_like(right)]))


def rate_statistics(name: str, amounts: npt.NDArray[np.floating], sizes: npt.NDArray[np.integer]) -> CaseStatistics:
    """Return what each piece of a text adds to a rate, such as bits per byte: amounts [cases] over sizes [cases]."""
    return CaseStatistics(name, "rate", np.column_stack([amounts, sizes]).astype(np.float64))


@cache
def _metric(kind: Literal["bleu", "chrf"]) -> Any:
    """Return the metric whose formula turns sums into a score; how text was tokenised no longer matters."""
    return BLEU(tokenize="none", force=True) if kind == "bleu" else CHRF()
