"""Markup is found and taken out; what only looks like it stays."""

import pytest

from heedful.text.markup import has_markup, without_markup


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Good film.<br /><br />I liked it.", "Good film. I liked it."),
        ("<p class='x'>Yes</p>", "Yes"),
        ("fish&nbsp;&#38; chips &eacute;", "fish\u00a0& chips é"),
        ('<seg id="3">A line.</seg>', "A line."),
    ],
)
def test_markup_is_found_and_taken_out(text: str, plain: str) -> None:
    assert has_markup(text)
    assert without_markup(text) == plain


@pytest.mark.parametrize(
    "text", ["a < b and c > d", "list<int> of <name>", "AT&T; R&D", "it &apos;s &quot;so&quot; &amp;"]
)
def test_what_only_looks_like_markup_is_none(text: str) -> None:
    assert not has_markup(text)
    assert without_markup(text) == text
