"""The likeness of all texts with all is sacreBLEU's, pair by pair."""

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

from heedful.evaluation.likeness import pairwise_bleu, pairwise_chrf

TEXTS = [
    "Der Hund schläft.",
    "der  Hund schlief",
    "",
    "x",
    "ab",
    "Ein Hund schläft heute nicht.",
    "狗在睡觉。",
    "狗睡了",
]


def test_chrf_of_all_pairs_is_that_of_sacrebleu() -> None:
    expected = [[CHRF().sentence_score(text, [reference]).score for reference in TEXTS] for text in TEXTS]
    np.testing.assert_allclose(pairwise_chrf(TEXTS), expected, atol=1e-9)


def test_bleu_is_not_symmetric_and_best_with_itself() -> None:
    found = pairwise_bleu(TEXTS[:2] + TEXTS[5:6], "13a")
    assert np.diag(found) == pytest.approx([100.0] * 3)
    assert (found < 100).sum() == 6
