"""The generated corpus: known words for known numbers, and no line in two parts."""

import pytest

from heedful.demo.corpus import (
    english_number,
    english_ordinal,
    english_year,
    german_number,
    german_ordinal,
    german_year,
    make_corpus,
)


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (0, "zero", "null"),
        (1, "one", "eins"),
        (21, "twenty-one", "einundzwanzig"),
        (101, "one hundred and one", "einhunderteins"),
        (1000, "one thousand", "eintausend"),
        (21_000, "twenty-one thousand", "einundzwanzigtausend"),
        (101_001, "one hundred and one thousand and one", "einhunderteintausendeins"),
        (987_654, "nine hundred and eighty-seven thousand six hundred and fifty-four",
         "neunhundertsiebenundachtzigtausendsechshundertvierundfünfzig"),
    ],
)  # fmt: skip
def test_numbers_in_words(number: int, english: str, german: str) -> None:
    assert (english_number(number), german_number(number)) == (english, german)


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [(1, "first", "ersten"), (7, "seventh", "siebten"), (12, "twelfth", "zwölften"), (20, "twentieth", "zwanzigsten"),
     (23, "twenty-third", "dreiundzwanzigsten"), (31, "thirty-first", "einunddreißigsten")],
)  # fmt: skip
def test_ordinals_in_words(number: int, english: str, german: str) -> None:
    assert (english_ordinal(number), german_ordinal(number)) == (english, german)


@pytest.mark.parametrize(
    ("year", "english", "german"),
    [(1987, "nineteen eighty-seven", "neunzehnhundertsiebenundachtzig"),
     (1905, "nineteen oh five", "neunzehnhundertfünf"),
     (2009, "two thousand and nine", "zweitausendneun"), (2024, "twenty twenty-four", "zweitausendvierundzwanzig"),
     (1100, "eleven hundred", "elfhundert")],
)  # fmt: skip
def test_years_in_words(year: int, english: str, german: str) -> None:
    assert (english_year(year), german_year(year)) == (english, german)


def test_no_line_is_in_two_parts_and_the_corpus_is_the_same_each_time() -> None:
    corpus = make_corpus(num_train=500, num_validation=50, num_test=50)
    sources = [source for part in (corpus.train, corpus.validation, corpus.test) for source, _ in part]
    assert len(set(sources)) == len(sources) == 600
    assert corpus == make_corpus(num_train=500, num_validation=50, num_test=50)
    assert corpus != make_corpus(num_train=500, num_validation=50, num_test=50, seed=2)
