"""Scores from the sums of cases are the scores of the whole, of a part, and of any resampled set."""

import numpy as np
import pytest
import sacrebleu

from heedful.evaluation.case_statistics import decision_statistics, rate_statistics, translation_statistics
from heedful.evaluation.scores import draw_cases

OURS = ["the cat sat on the mat", "a dog barks at night", "nothing is alike here", "four words and one more"]
REFERENCES = ["the cat sat on a mat", "a dog barked at night", "all of it differs", "four words and one more"]


def test_bleu_and_chrf_are_sacrebleus_of_the_whole_and_of_a_part() -> None:
    bleu, chrf = translation_statistics(OURS, REFERENCES)
    assert bleu.value == pytest.approx(sacrebleu.corpus_bleu(OURS, [REFERENCES]).score, abs=1e-12)
    assert chrf.value == pytest.approx(sacrebleu.corpus_chrf(OURS, [REFERENCES]).score, abs=1e-12)
    chosen = np.array([0, 3])
    part = sacrebleu.corpus_bleu([OURS[0], OURS[3]], [[REFERENCES[0], REFERENCES[3]]])
    assert bleu.of(chosen).value == pytest.approx(part.score, abs=1e-12)


def test_a_resampled_set_scores_as_if_its_lines_had_been_written_out() -> None:
    bleu, _ = translation_statistics(OURS, REFERENCES)
    counts = draw_cases(5, len(OURS))
    for row, score in zip(counts, bleu.scores(counts), strict=True):
        lines = [line for line, count in enumerate(row) for _ in range(int(count))]
        written_out = sacrebleu.corpus_bleu([OURS[line] for line in lines], [[REFERENCES[line] for line in lines]])
        assert score == pytest.approx(written_out.score, abs=1e-9)


def test_shares_are_in_percent_and_rates_are_sums_over_sizes() -> None:
    assert decision_statistics(np.array([True, True, False, True])).value == 75.0
    rate = rate_statistics("bits per byte", np.array([10.0, 30.0]), np.array([4, 6]))
    assert rate.value == 4.0
    assert rate.is_less_better
