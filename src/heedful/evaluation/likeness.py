"""How much texts are like each other, all of them compared with all: what minimum Bayes risk needs.

The numbers are sacreBLEU's chrF2 and sentence BLEU. chrF is computed here for all pairs at once, from tables of n-gram
counts: among 32 texts there are a thousand pairs, and sacreBLEU counts the n-grams of each pair again.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

Floats = NDArray[np.float64]
_ORDERS = range(1, 7)
_BETA_SQUARED = 4.0


def pairwise_chrf(texts: Sequence[str]) -> Floats:
    """Return the chrF2 of each text, as a row, with each text as the reference, as a column: [texts, texts]."""
    stripped = ["".join(text.split()) for text in texts]
    precision = np.zeros((len(texts), len(texts)))
    recall, num_orders = precision.copy(), precision.copy()
    for order in _ORDERS:
        counts = _ngram_counts(stripped, order)  # [texts, ngrams]
        totals = counts.sum(axis=1)
        matches = np.stack([np.minimum(row, counts).sum(axis=1) for row in counts])
        is_counted = (totals[:, None] > 0) & (totals[None, :] > 0)
        precision += np.where(is_counted, matches / np.maximum(totals[:, None], 1), 0.0)
        recall += np.where(is_counted, matches / np.maximum(totals[None, :], 1), 0.0)
        num_orders += is_counted
    precision /= np.maximum(num_orders, 1)
    recall /= np.maximum(num_orders, 1)
    below = _BETA_SQUARED * precision + recall
    return 100 * (1 + _BETA_SQUARED) * precision * recall / np.where(below > 0, below, 1.0)


def pairwise_bleu(texts: Sequence[str], tokenize: str) -> Floats:
    """Return the sentence BLEU of each text, as a row, with each text as the reference, as a column: [texts, texts]."""
    metric = BLEU(effective_order=True, tokenize=tokenize)
    return np.array([[metric.sentence_score(text, [reference]).score for reference in texts] for text in texts])


def _ngram_counts(texts: Sequence[str], order: int) -> Floats:
    found = [Counter(text[start : start + order] for start in range(len(text) - order + 1)) for text in texts]
    column_of = {ngram: column for column, ngram in enumerate(dict.fromkeys(it for counts in found for it in counts))}
    table = np.zeros((len(texts), len(column_of)))
    for row, counts in enumerate(found):
        table[row, [column_of[ngram] for ngram in counts]] = list(counts.values())
    return table
