"""One definition of word: scripts with spaces, scripts without, and rows of pieces."""

import re

import pytest

from heedful.demo.bundled import Word, words_of
from heedful.tasks.translation.doubts import leftover_words
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.translated import Alternative
from heedful.text.language_detection import detect
from heedful.text.sentences import split_sentences
from heedful.text.tokens import Token, merge_words
from heedful.text.words import HAN, UNIT, WORD, begins_word, is_unspaced

IDEOGRAPHS = {
    "iteration mark": "々",
    "zero": "〇",
    "extension A": "㐀",
    "unified": "一",
    "last unified": "\u9fff",
    "compatibility": "豈",
    "extension B": "\U00020000",
    "extension C": "\U0002a700",
    "extension D": "\U0002b740",
    "extension E": "\U0002b820",
    "extension F": "\U0002ceb0",
    "compatibility supplement": "\U0002f800",
    "extension G": "\U00030000",
    "extension H": "\U00031350",
}
OTHERS_WITHOUT_SPACES = {
    "radical": "⺀",
    "full stop": "。",
    "hiragana": "あ",
    "katakana": "ア",
    "bopomofo": "ㄅ",
    "small katakana": "ㇰ",
    "vertical bracket": "︵",
    "full-width comma": "，",
    "half-width katakana": "ｱ",
    "kana supplement": "\U0001b000",
}
WITH_SPACES = ["aé", "ж", "א", "ع", "अ", "ก", "한", "ㄱ", "ᄀ", "ﾡ", ".", "-", "5", "😀", "\xad"]


@pytest.mark.parametrize("character", IDEOGRAPHS.values(), ids=IDEOGRAPHS)
def test_every_block_of_ideographs_is_chinese_everywhere(character: str) -> None:
    assert re.fullmatch(f"[{HAN}]", character)
    assert is_unspaced(character)
    assert leftover_words(f"the {character} word", "en") == [character]
    assert detect(character * 9, ["en", "zh"])[0].language == "zh"
    assert split_sentences(f"{character}?{character}") == [f"{character}?", character]


@pytest.mark.parametrize("character", OTHERS_WITHOUT_SPACES.values(), ids=OTHERS_WITHOUT_SPACES)
def test_what_stands_beside_them_has_no_spaces_either_but_is_no_ideograph(character: str) -> None:
    assert is_unspaced(character)
    assert not re.fullmatch(f"[{HAN}]", character)
    assert join_parts([f"一{character}", f"{character}一"]) == f"一{character}{character}一"


@pytest.mark.parametrize("character", WITH_SPACES)
def test_all_else_has_spaces(character: str) -> None:
    assert not is_unspaced(character[0])
    assert join_parts([character, character]) == f"{character} {character}"


def test_words_are_between_spaces_and_an_apostrophe_belongs_to_them() -> None:
    text = "Don’t l'homme 他们3km 한국어_가 😀"
    assert WORD.findall(text) == ["Don’t", "l'homme", "km", "한국어", "가"]
    assert UNIT.findall(text) == ["Don’t", "l'homme", "他", "们", "3", "km", "한국어", "가"]


@pytest.mark.parametrize(
    ("before", "piece", "begins"),
    [
        ("▁won", "derful", False),
        ("▁a", "▁b", True),
        ("▁", "b", False),
        ("▁", "。", False),
        ("▁a", ".", True),
        (".", "”", False),
        ("山", "书", True),
        ("a", "山", True),
        ("a", "\U00020000", True),
        ("한", "국", False),
        ("<0xE4>", "<0xB8>", False),
        ("a", "<0xE4>", False),
        ("😀", "😀", False),
    ],
)
def test_a_word_begins_at_a_space_without_spaces_and_at_punctuation(before: str, piece: str, begins: bool) -> None:
    assert begins_word(before, piece) is begins


def test_demonstration_and_insight_cut_the_same_words() -> None:
    pieces = ["▁«", "Bon", "jour", "»", ",", "▁山", "书", "A", "pple", "\U00020000", "!"]
    text = "«Bonjour», 山书Apple\U00020000!"
    tokens, at = [], 0
    for number, piece in enumerate(pieces):
        start = at + (number > 0 and piece.startswith("▁"))
        at = start + len(piece.removeprefix("▁"))
        tokens.append(Token(piece, number, start, at))
    assert at == len(text)
    expected = ["«", "Bonjour", "»,", "山", "书", "Apple", "\U00020000", "!"]
    assert [word.text for word in merge_words(tokens, text)] == expected
    shown: list[Word] = words_of(Alternative(text, 0.0, 0.0, "length", tuple(pieces), (0.0,) * len(pieces)))
    assert [word.text for word in shown] == expected
