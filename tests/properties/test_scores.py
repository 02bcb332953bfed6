"""What holds for scores against several references, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.evaluation.scores import bleu, compare_systems, score_corpus

LINE = st.lists(st.sampled_from("abcdefg"), min_size=4, max_size=9).map(" ".join)
REFERENCES = st.lists(st.lists(LINE, min_size=1, max_size=3), min_size=1, max_size=5)


@given(REFERENCES, st.data())
def test_order_and_repetition_of_references_do_not_count(references: list[list[str]], data: st.DataObject) -> None:
    hypotheses = [data.draw(LINE) for _ in references]
    others = [[*data.draw(st.permutations(texts)), texts[0]] for texts in references]
    assert bleu(hypotheses, others, tokenize="none") == bleu(hypotheses, references, tokenize="none")


@given(REFERENCES, st.data())
def test_whichever_reference_was_written_the_translation_is_perfect(
    references: list[list[str]], data: st.DataObject
) -> None:
    hypotheses = [data.draw(st.sampled_from(texts)) for texts in references]
    for score in score_corpus(hypotheses, references, tokenize="none", num_resamples=4):
        perfect = 0.0 if score.name == "TER" else 100.0
        assert (score.value, score.low, score.high) == pytest.approx((perfect, perfect, perfect))


@given(REFERENCES, st.data())
def test_exchanging_the_systems_exchanges_the_sign(references: list[list[str]], data: st.DataObject) -> None:
    one, other = ([data.draw(LINE) for _ in references] for _ in range(2))
    there = compare_systems(one, other, references, metrics=["bleu", "chrf"], tokenize="none", num_resamples=40)
    back = compare_systems(other, one, references, metrics=["bleu", "chrf"], tokenize="none", num_resamples=40)
    for forwards, backwards in zip(there, back, strict=True):
        assert (forwards.difference, forwards.low, forwards.high) == pytest.approx(
            (-backwards.difference, -backwards.high, -backwards.low)
        )
        assert forwards.p_value == pytest.approx(backwards.p_value)
        assert forwards.low <= forwards.high
