"""Tags and other parts that were left out come back where the words around them went, and stay well-formed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.tasks.translation.alignment import Link
from heedful.tasks.translation.placing import place_parts, without_parts
from heedful.text.fixed_parts import is_loose, mask_fixed_parts


def put_back(source: str, target: str, words: list[tuple[str, str]]) -> str:
    """Place the loose parts of `source` in `target`; `words` says which word stands for which."""
    masked = mask_fixed_parts(source)
    rest, left_out = without_parts(masked, [is_loose(part) for part in masked.parts])
    links = [
        Link(target.index(new), target.index(new) + len(new), rest.whole.index(old), rest.whole.index(old) + len(old))
        for old, new in words
    ]
    return place_parts(left_out, rest.whole, target, links, rest.parts)


@pytest.mark.parametrize(
    ("source", "target", "words", "expected"),
    [
        (
            "Click <b>here</b> to go on.",
            "Klicken Sie hier, um weiterzumachen.",
            [("Click", "Klicken"), ("here", "hier"), ("go", "weiterzumachen")],
            "Klicken Sie <b>hier</b>, um weiterzumachen.",
        ),
        (
            "The <i>red <b>car</b></i> is here.",
            "La voiture rouge est ici.",
            [("red", "rouge"), ("car", "voiture"), ("here", "ici")],
            "La <i><b>voiture</b> rouge</i> est ici.",
        ),
        ("I love 😀 it.", "Ich liebe es.", [("love", "liebe"), ("it", "es")], "Ich liebe 😀 es."),
        ("One<br/>two.", "Eins zwei.", [("One", "Eins"), ("two", "zwei")], "Eins <br/>zwei."),
        ("The <x/> objects.", "Die Objekte.", [("The", "Die"), ("objects", "Objekte")], "Die <x/> Objekte."),
        ("我 <b>爱</b> 你。", "I love you.", [("爱", "love")], "I <b>love</b> you."),
    ],
)
def test_parts_stand_around_the_words_they_stood_around(
    source: str, target: str, words: list[tuple[str, str]], expected: str
) -> None:
    assert put_back(source, target, words) == expected


def test_nothing_is_put_into_a_fixed_part() -> None:
    link = Link(0, 12, 0, 5)  # a model that looks at the address for "Visit"
    masked = mask_fixed_parts("<b>Visit</b> www.example.org now")
    rest, left_out = without_parts(masked, [is_loose(part) for part in masked.parts])
    assert put_back("<b>Visit</b> www.example.org now", "www.example.org besuchen", []).count("www.example.org") == 1
    text = place_parts(left_out, rest.whole, "www.example.org besuchen", [link], rest.parts)
    assert "www.example.org" in text
    assert text.index("<b>") < text.index("</b>")


TAGS = st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<br/>", "😀", "word ", "more "]), max_size=14)


@given(TAGS, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), max_size=6))
def test_every_part_comes_back_once_and_pairs_stay_nested(source: list[str], places: list[tuple[int, int]]) -> None:
    masked = mask_fixed_parts("".join(source))
    rest, left_out = without_parts(masked, [True] * len(masked.parts))
    target = "eins zwei drei vier fünf sechs"
    links = [Link(min(a, 29), min(a, 29) + 1, min(b, len(rest.text)), min(b, len(rest.text)) + 1) for a, b in places]
    text = place_parts(left_out, rest.whole, target, links)
    for part in set(masked.parts):
        assert text.count(part) == masked.parts.count(part)
    if is_well_formed("".join(masked.parts)):
        assert is_well_formed(text)


def is_well_formed(text: str) -> bool:
    """Say whether every tag is closed by its own."""
    opened = []
    for part in mask_fixed_parts(text).parts:
        if part in ("<b>", "<i>"):
            opened.append(part[1])
        elif part in ("</b>", "</i>") and (not opened or opened.pop() != part[2]):
            return False
    return not opened
