"""Leaving something out on purpose."""

import random

import pytest

from heedful.tasks.translation.omissions import clauses, lacking_clauses, lacking_sentences, without_clause


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("If it rains tomorrow, we will stay.", ["If it rains tomorrow, ", "we will stay."]),
        ("I would come but I have no time.", ["I would come ", "but I have no time."]),
        ("Tom and Mary are here.", ["Tom and Mary are here."]),
        ("我住在北京，他住在上海。", ["我住在北京，", "他住在上海。"]),
        ("He has 3,000 books at home.", ["He has 3,000 books at home."]),
        ("", [""]),
    ],
)
def test_clauses_are_long_enough_to_be_missed_and_joined_are_the_sentence(text: str, parts: list[str]) -> None:
    assert clauses(text) == parts or (text == "" and "".join(clauses(text)) == "")
    assert "".join(clauses(text)) == text


def test_what_is_left_looks_like_a_sentence() -> None:
    parts = clauses("If it rains tomorrow, we will stay at home and read a book.")
    assert without_clause(parts, 0) == "We will stay at home and read a book."
    assert without_clause(parts, 2) == "If it rains tomorrow, we will stay at home."


def test_of_pairs_those_with_clauses_lose_one() -> None:
    pairs = [("a", "He is here."), ("b", "He came late, but he stayed with us.")]
    examples = lacking_clauses(pairs, random.Random(1))
    assert examples.good == pairs[1:]
    assert examples.lacking in ([("b", "He came late.")], [("b", "But he stayed with us.")])


def test_of_texts_one_sentence_is_left_out_and_chance_is_repeatable() -> None:
    pairs = [(f"S{number}.", f"T{number}.") for number in range(10)]
    examples = lacking_sentences(pairs, 3, random.Random(5), most=2)
    assert examples == lacking_sentences(pairs, 3, random.Random(5), most=2)
    assert len(examples.good) == len(examples.lacking) == 2
    for (source, whole), (same, lacking) in zip(examples.good, examples.lacking, strict=True):
        assert source == same
        assert whole == source.replace("S", "T")
        assert len(lacking.split()) == 2
        assert set(lacking.split()) < set(whole.split())
