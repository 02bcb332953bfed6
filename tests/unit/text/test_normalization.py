"""Normalisations: what each makes equal, what it leaves, and the way back to the original characters."""

import pytest

from heedful.errors import UserError
from heedful.text.chinese import CharacterTable
from heedful.text.normalization import (
    Nfc,
    Nfkc,
    NfkcCasefold,
    Normalization,
    Simplified,
    Untouched,
    normalization_from_dict,
    normalize,
    normalize_aligned,
)

TABLE = CharacterTable("書語", "书语")
ALL = [Nfkc(), NfkcCasefold(), Nfc(), Untouched(), Simplified(Nfc(), TABLE)]


@pytest.mark.parametrize(
    ("normalization", "text", "expected"),
    [
        (Nfkc(), " ﬁ ½\u3000，Ａ ", "fi 1⁄2 ,A"),
        (NfkcCasefold(), "STRAẞE ﬁ", "strasse fi"),
        (Nfc(), "ﬁ ，Ａ１ e\u0301", "ﬁ ，A1 é"),
        (Nfc(), "Ａ\u0301", "Á"),
        (Untouched(), "  ﬁ\t ", "  ﬁ\t "),
        (Simplified(Nfc(), TABLE), "書 語！", "书 语！"),
    ],
)
def test_each_makes_equal_what_it_says(normalization: Normalization, text: str, expected: str) -> None:
    assert normalize(text, normalization) == expected


@pytest.mark.parametrize("normalization", ALL, ids=lambda one: one.to_dict()["kind"])
def test_it_comes_back_from_its_description_and_twice_is_once(normalization: Normalization) -> None:
    assert normalization_from_dict(normalization.to_dict()) == normalization
    once = normalize("Ｇroße ﬁ 書\u0301 ㄱㅏ ½ ①\u200d", normalization)
    assert normalize(once, normalization) == once


@pytest.mark.parametrize("normalization", ALL, ids=lambda one: one.to_dict()["kind"])
def test_aligned_it_is_the_same_text_and_every_character_knows_where_it_came_from(normalization: Normalization) -> None:
    text = "  Ａe\u0301 ﬁ\u3000書 x\u0301\u0323 ｶﾞ  "
    aligned = normalize_aligned(text, normalization)
    assert aligned.text == normalize(text, normalization)
    assert len(aligned.spans) == len(aligned.text)
    for character, (start, end) in zip(aligned.text, aligned.spans, strict=True):
        assert 0 <= start < end <= len(text)
        if character not in " ":
            assert character in normalize(text[start:end], normalization)


def test_what_is_no_character_is_replaced() -> None:
    assert normalize("a\ud800b\U0010ffff", Untouched()) == "a\ufffdb\ufffd"


@pytest.mark.parametrize("description", [{}, {"kind": "nfd"}, {"kind": "nfkc", "more": "x"}])
def test_an_unknown_description_is_refused(description: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r'^The normalisation must be "nfkc", "nfkc_casefold", "nfc", "none", '):
        normalization_from_dict(description)


def test_a_character_map_that_is_no_base64_is_refused() -> None:
    with pytest.raises(UserError, match=r"^The character map of the tokenizer must be base64, but is not"):
        normalization_from_dict({"kind": "charsmap", "charsmap": "!"})
