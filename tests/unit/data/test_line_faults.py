"""What is wrong with a pair, and what is not."""

import pytest

from heedful.data.line_faults import Found, Languages, foreign_language, pair_faults, prevailing_language, recognisable
from tests.support.spoilt_corpora import sentences

TO_GERMAN = Languages("en", "de")
ENGLISH, GERMAN, FRENCH = sentences(1)[0]


@pytest.mark.parametrize(
    ("source", "target", "faults"),
    [
        (ENGLISH, GERMAN, []),
        (ENGLISH, ENGLISH, [Found("copy", 1)]),
        (ENGLISH, ENGLISH.upper().replace(".", " !"), [Found("copy", 1)]),
        (GERMAN, ENGLISH, [Found("exchanged")]),
        (ENGLISH, FRENCH, [Found("other_language", 1, "fr")]),
        (FRENCH, GERMAN, [Found("other_language", 0, "fr")]),
        ("Angela Merkel", "Angela Merkel", []),
        ("Taxi!", "Taxi!", []),
        ("12 13 14 15 16", "12 13 14 15 16", []),
    ],
)
def test_the_languages_of_a_pair(source: str, target: str, faults: list[Found]) -> None:
    assert list(pair_faults(source, target, TO_GERMAN)) == faults


def test_copies_are_none_where_both_sides_are_one_language_or_unknown() -> None:
    assert list(pair_faults(ENGLISH, ENGLISH, Languages("en", "en"))) == []
    assert list(pair_faults(ENGLISH, ENGLISH, Languages(None, None))) == []
    assert list(pair_faults("a b c d e", "a b c d e", Languages(None, None, True))) == [Found("copy", 1)]


def test_no_sentence_is_taken_for_another_language() -> None:
    wrong = [
        text
        for triple in sentences(300)
        for text, language in zip(triple, ("en", "de", "fr"), strict=True)
        if foreign_language(text, language)
    ]
    assert wrong == []


def test_the_language_that_prevails_and_codes_that_can_be_recognised() -> None:
    assert prevailing_language(german for _, german, _ in sentences(30)) == "de"
    assert prevailing_language(["1 2 3", ""]) is None
    assert recognisable("zh-Hans") == "zh"
    assert recognisable("en_GB") == "en"
    assert recognisable("source") is None
