"""Marks, placeholders and addresses come through any translator; scripts get the spaces they write."""

import pytest

from heedful.documents.document import Passage, split
from heedful.documents.safeguard import Translate, in_rounds, is_translatable, run_rounds
from tests.support.documents import shout


def translated(passage: Passage, translate: Translate = shout) -> tuple[str, ...]:
    return run_rounds(in_rounds([passage]), translate)[0].segments


@pytest.mark.parametrize(
    "kept",
    [
        "{name}", "{0}", "{n:.2f}", "{{user}}", "${user}", "%s", "%d", "%(count)d", "%1$s", "%5.2f", "%1", "$1", "%%",
        "https://a.org/b?c=d", "ann@example.org", "<b>", "</b>", "<br/>", "&nbsp;",
        "{n, plural, one {# a} other {# b}}",
    ],
)  # fmt: skip
def test_what_is_the_same_in_every_language_is_kept_in_its_place(kept: str) -> None:
    assert translated(Passage((f"Say {kept} now",))) == (f"SAY {kept} NOW",)


def test_a_passage_is_translated_whole_where_its_marks_survive() -> None:
    asked: list[list[str]] = []

    def exchange(texts: list[str]) -> list[str]:
        asked.append(texts)
        return ["Das ist <g1>sehr</g1> gut."]

    assert translated(Passage(("This is ", "very", " good."), ("<g1>", "</g1>")), exchange) == (
        "Das ist ",
        "sehr",
        " gut.",
    )
    assert asked == [["This is <g1>very</g1> good."]]


def test_a_passage_whose_marks_are_lost_is_translated_in_pieces() -> None:
    passage = Passage(("\n This is ", "very", " good. "), ("<g1>", "</g1>"))
    assert translated(passage) == ("\n THIS IS ", "VERY", " GOOD. ")


@pytest.mark.parametrize("wrong", ["a </g1>b<g1> c", "a <g1>b</g1> c <g1>", "<g1>b", "a b c"])
def test_marks_must_stand_once_and_in_their_order(wrong: str) -> None:
    assert split(wrong, ("<g1>", "</g1>")) is None


def test_nothing_is_asked_about_what_has_no_words() -> None:
    def refuse(texts: list[str]) -> list[str]:
        raise AssertionError(texts)

    for text in ("", "  \n", "12.5 %", "{name}", "https://a.org", "— * —", "<b>%s</b>"):
        assert not is_translatable(text)
        assert translated(Passage((text,)), refuse) == (text,)


def test_equal_texts_are_asked_about_once() -> None:
    asked: list[str] = []

    def note(texts: list[str]) -> list[str]:
        asked.extend(texts)
        return shout(texts)

    run_rounds(in_rounds([Passage(("Yes",)), Passage((" Yes ",)), Passage(("No",))]), note)
    assert asked == ["Yes", "No"]


def test_a_translator_that_invents_placeholders_is_not_believed() -> None:
    assert translated(Passage(("Hello",)), lambda texts: ["Hallo %s" for _ in texts]) == ("Hello",)


def test_pieces_get_the_spaces_of_the_script_they_are_written_in() -> None:
    words = {"这是": "This is", "非常": "very", "好的。": "good.", "This is": "这是", "very": "非常", "good.": "好的。"}

    def look_up(texts: list[str]) -> list[str]:
        return [words.get(text, "?") for text in texts]

    marks = ("<g1>", "</g1>")
    assert "".join(translated(Passage(("这是", "非常", "好的。"), marks), look_up)) == "This is very good."
    assert "".join(translated(Passage(("This is ", "very", " good."), marks), look_up)) == "这是非常好的。"
