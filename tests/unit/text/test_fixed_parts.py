"""Parts that no translation may change are found by their form, in any language, and the text comes back whole."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.fixed_parts import _FIXED, _PLAIN_NUMBER, MASK, Masked, is_loose, mask_fixed_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Visit https://example.org/a?b=1&c=2. Then go.", ("https://example.org/a?b=1&c=2",)),
        ("访问https://example.org/a。然后2024-03-05见。", ("https://example.org/a", "2024-03-05")),
        ("Mail to a.b@c-d.org, please.", ("a.b@c-d.org",)),
        ("You have %d new messages in {folder}.", ("%d", "{folder}")),
        ("Hello {{name}}, %(n)d of %1$s in ${x}.", ("{{name}}", "%(n)d", "%1$s", "${x}")),
        ("64,000 dollars or $5.20 at 12:30.", ("64,000", "$5.20", "12:30")),
        ("5 kg, 20 °C, 30% and €12.50", ("5 kg", "20 °C", "30%", "€12.50")),
        ('Click <a href="x">here</a> &amp; wait.', ('<a href="x">', "</a>", "&amp;")),
        ("Run `ls -la` in /usr/bin or foo_bar with main().", ("`ls -la`", "/usr/bin", "foo_bar", "main()")),
        ("Great 👍🏽 👨‍👩‍👧!", ("👍🏽", "👨‍👩‍👧")),
        ("@user wrote #topic in notes.txt, v2.1.3", ("@user", "#topic", "notes.txt", "v2.1.3")),
        ("I have 3 cats since 1990.", ()),
        ("It is 5 o'clock; a 5-year-old; 50 percent; he's 3rd.", ()),
        ("We earn 100 dollars and/or less (really).", ()),
    ],
)
def test_what_must_not_change_is_found(text: str, parts: tuple[str, ...]) -> None:
    masked = mask_fixed_parts(text)
    assert masked.parts == parts
    assert masked.text.count(MASK) == len(parts)
    assert masked.whole == text


@given(st.text(alphabet="aA1 .,:;-_()[]{}<>/\\\\@#$%&*+`'\u20e3\ufe0f😀wwv", max_size=30))
def test_the_quick_look_overlooks_nothing(text: str) -> None:
    parts = tuple(match[0] for match in _FIXED.finditer(text) if not _PLAIN_NUMBER.fullmatch(match[0]))
    assert mask_fixed_parts(text).parts == parts or MASK in text


def test_plain_numbers_are_fixed_only_where_asked_for() -> None:
    assert mask_fixed_parts("I have 3 cats since 1990.", plain_numbers=True).parts == ("3", "1990")


@given(st.text(max_size=80))
def test_any_text_comes_back_whole(text: str) -> None:
    masked = mask_fixed_parts(text)
    assert masked.whole == text
    half = len(masked.text) // 2
    pieces = masked.cut([masked.text[:half], masked.text[half:]])
    assert "".join(piece.whole for piece in pieces) == text


def test_a_private_character_of_the_text_is_left_alone() -> None:
    text = f"{MASK} https://example.org"
    masked = mask_fixed_parts(text)
    assert masked == Masked(text)
    assert [piece.whole for piece in masked.cut([text[:3], text[3:]])] == [text[:3], text[3:]]


@pytest.mark.parametrize("unit", ["{", "<a ", "%", "1,", "a_", "/", "a.b@", "&", "`", "😀", "www.", "<!--", "$", "-1"])
def test_the_time_is_linear(unit: str) -> None:
    started = time.process_time()
    mask_fixed_parts(unit * 20_000)
    assert time.process_time() - started < 2


def test_emoji_and_tags_are_no_words_of_a_sentence() -> None:
    assert [is_loose(part) for part in ("😀", "<b>", "&nbsp;", "{name}", "30%")] == [True, True, True, False, False]
