"""Scores on corpora whose value is known, and the sentences for corpora that have none."""

from collections.abc import Callable
from typing import Any

import pytest

from heedful.errors import UserError
from heedful.evaluation import bleu, compare_systems, score_corpus

REFERENCES = ["the cat sat on the mat .", "a dog ran through the old park .", "nobody knows what the river said ."]
WORSE = ["the cat on mat", "a dog walked in some park .", "who knows what the river said ."]


def test_a_perfect_translation_has_the_best_score_and_a_point_for_an_interval() -> None:
    scores = {score.name: score for score in score_corpus(REFERENCES, REFERENCES, num_resamples=20)}
    assert [round(scores[name].value, 6) for name in ("BLEU", "chrF2", "TER")] == [100.0, 100.0, 0.0]
    for score in scores.values():
        assert score.low == pytest.approx(score.value)
        assert score.high == pytest.approx(score.value)


def test_bleu_by_hand() -> None:
    # 4 of 5 words, 3 of 4, 2 of 3 and 1 of 2 n-grams match; as long as the reference, so no brevity penalty.
    expected = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert bleu(["a b c d x"], ["a b c d e"], tokenize="none") == pytest.approx(expected)


def test_case_counts_unless_it_is_told_not_to() -> None:
    upper = [line.upper() for line in REFERENCES]
    assert bleu(upper, REFERENCES) < 50
    assert bleu(upper, REFERENCES, lowercase=True) == pytest.approx(100.0)
    scores = score_corpus(upper, REFERENCES, lowercase=True, num_resamples=5)
    assert [round(score.value, 6) for score in scores] == [100.0, 100.0, 0.0]


def test_chinese_is_scored_by_characters_when_asked() -> None:
    assert bleu(["我爱北京天安门。"], ["我爱北京天安门！"], tokenize="zh") > 50
    assert bleu(["我爱北京天安门。"], ["我爱北京天安门！"], tokenize="none") == 0.0


def test_a_signature_says_what_was_done() -> None:
    [score] = score_corpus(WORSE, REFERENCES, metrics=["bleu"], tokenize="intl", lowercase=True, num_resamples=7)
    parts = dict(part.split(":") for part in score.signature.split("|"))
    assert parts["tok"] == "intl"
    assert parts["case"] == "lc"
    assert parts["bs"] == "7"
    assert "version" in parts
    assert str(score).startswith(f"BLEU {score.value:.2f} [")


def test_the_interval_is_the_same_every_time_and_contains_the_mean() -> None:
    once, again = (score_corpus(WORSE, REFERENCES, num_resamples=50) for _ in range(2))
    assert once == again
    assert all(score.low < score.high for score in once)


def test_an_interval_never_leaves_the_scale() -> None:
    hypotheses = [*REFERENCES * 5, WORSE[0]]
    for score in score_corpus(hypotheses, [*REFERENCES * 5, REFERENCES[0]], num_resamples=200):
        assert 0.0 <= score.low <= score.value <= score.high <= 100.0 + 1e-9
        assert score.low < score.high


def test_a_system_does_not_differ_from_itself_but_from_a_worse_one() -> None:
    many, worse = REFERENCES * 20, WORSE * 20
    for comparison in compare_systems(worse, worse, many, num_resamples=100):
        assert comparison.difference == comparison.low == comparison.high == 0.0
        assert comparison.p_value == 1.0
    found = {it.system.name: it for it in compare_systems(worse, many, many, num_resamples=200)}
    assert found["BLEU"].difference > 10
    assert found["TER"].difference < -10
    assert all(it.p_value < 0.05 for it in found.values())
    for it in found.values():
        assert it.low <= it.difference <= it.high
        assert it.low > 0 or it.high < 0


def test_several_references_by_hand() -> None:
    # "a b c d": the unigrams a, b, c and d are in one reference or the other, as are the bigrams a-b and c-d but not
    # b-c, and no longer n-gram is, which smoothing counts as 1/2 of 2 and 1/4 of 1. The nearest length is 4.
    references = [["a b x y", "x c d"]]
    expected = 100 * (4 / 4 * 2 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** 0.25
    assert bleu(["a b c d"], references, tokenize="none") == pytest.approx(expected)


def test_lines_may_have_different_numbers_of_references() -> None:
    references = [[REFERENCES[0], "on the mat sat a cat ."], [REFERENCES[1]], [REFERENCES[2], "x", "y"]]
    scores = score_corpus(WORSE, references, num_resamples=20)
    for several, single in zip(scores, score_corpus(WORSE, REFERENCES, num_resamples=20), strict=True):
        assert several.signature == single.signature.replace("nrefs:1", "nrefs:var")
    assert bleu([REFERENCES[0], REFERENCES[1], "y"], references) > bleu([REFERENCES[0], REFERENCES[1], "y"], REFERENCES)


def test_one_reference_a_line_may_be_written_either_way() -> None:
    listed = [[reference] for reference in REFERENCES]
    assert score_corpus(WORSE, listed, num_resamples=20) == score_corpus(WORSE, REFERENCES, num_resamples=20)


def test_empty_lines_are_scored_like_any_others() -> None:
    [score] = score_corpus(["", "", ""], REFERENCES, metrics=["bleu"], num_resamples=10)
    assert score.value == 0.0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: bleu([], []), "`references` must have at least 1 line, but have 0."),
        (
            lambda: bleu(WORSE[:1], REFERENCES),
            "`hypotheses` must have as many lines as `references` (3), but has 1 line.",
        ),
        (
            lambda: compare_systems(WORSE, [*WORSE, ""], REFERENCES),
            "`system` must have as many lines as `references` (3), but has 4 lines.",
        ),
        (
            lambda: score_corpus(WORSE, [["a"], ["b", "c"], []]),
            "`references` must have at least 1 text for every line, but have 0 for line 3.",
        ),
        (
            lambda: score_corpus(WORSE, REFERENCES, num_resamples=0),
            "`num_resamples` must be at least 1, but is 0.",
        ),
    ],
)
def test_what_cannot_be_scored_gets_a_sentence(call: Callable[..., Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        call()
    assert str(caught.value) == sentence


def test_an_unknown_tokenizer_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r'must be one of "13a", "char".*, but is "14a"'):
        bleu(WORSE, REFERENCES, tokenize="14a")
