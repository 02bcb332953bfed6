"""Pairs made of others: what is copied stands on both sides, what is joined is all there, and the seed decides."""

import random
import re

import pytest

from heedful.config.data import AugmentationConfig
from heedful.data import made_up_parts
from heedful.data.augmentation import Augmentation, Pair, joined

PAIRS = [
    ("We met Anna in 1984.", "Wir trafen Anna 1984."),
    ("Is Tom at home?", "Ist Tom zu Hause?"),
    ("The house is old.", "Das Haus ist alt."),
    ("Straße is a word...", "Straße ist ein Wort..."),
    ("", "Leer."),
]


def made(pairs: list[Pair], seed: int = 1, languages: tuple[str, str] = ("en", "de"), **shares: float) -> list[Pair]:
    augmentation = Augmentation(AugmentationConfig(**shares), *languages)
    return augmentation.of([pair[0] for pair in pairs], [pair[1] for pair in pairs], random.Random(seed))


def test_nothing_is_made_unless_it_is_asked_for() -> None:
    assert made(PAIRS) == []


def test_a_share_is_kept_over_many_pairs() -> None:
    pairs = [(f"The house {number} is old.", f"Das Haus {number} ist alt.") for number in range(1000)]
    assert len(made(pairs, capitals=0.1)) in (100, 101)
    assert sum(len(made(pairs[:3], seed=seed, capitals=0.1)) for seed in range(1000)) == pytest.approx(300, abs=60)


def test_joined_sentences_are_whole_pairs_one_after_the_other() -> None:
    pairs = [(f"Number {number}.", f"第{number}号。") for number in range(50)]
    paragraphs = made(pairs, joined=0.5, languages=("en", "zh"))
    assert len(paragraphs) in (25, 26)
    counts = set()
    for source, target in paragraphs:
        numbers = re.findall(r"\d+", source)
        counts.add(len(numbers))
        assert source == " ".join(f"Number {number}." for number in numbers)
        assert target == "".join(f"第{number}号。" for number in numbers)
    assert counts == {2, 3, 4, 5, 6}
    assert joined(["你好。", "Hello.", " Bye. "]) == "你好。Hello. Bye."


@pytest.mark.parametrize(
    "pair", [*PAIRS[:3], ("汤姆 likes Anna.", "汤姆喜欢Anna。"), ("Anna and Anna.", "Anna und Anna.")]
)
def test_what_is_put_in_stands_on_both_sides(pair: Pair) -> None:
    for seed in range(40):
        ((source, target),) = made([pair], seed=seed, copies=1.0)
        new = set(_parts(source)) - set(_parts(pair[0]))
        assert new, (source, target)
        assert new == set(_parts(target)) - set(_parts(pair[1])), (source, target)


def _parts(text: str) -> list[str]:
    """Cut at spaces, brackets and tags, and take the signs at the end of parts away."""
    found = re.findall(r"</?\w+>|[\u4e00-\u9fff]|[^\s：<>()。\u4e00-\u9fff]+", text)
    return [part.rstrip(".:!?") for part in found]


def test_a_name_that_both_have_is_replaced_once_and_the_rest_stays() -> None:
    for seed in range(20):
        ((source, target),) = made([PAIRS[0]], seed=seed, copies=1.0)
        assert "Anna" not in source + target
        assert source.startswith("We met ")
        assert target.startswith("Wir trafen ")


def test_capitals_full_stops_and_typing_errors() -> None:
    assert ("STRASSE IS A WORD...", "STRASSE IST EIN WORT...") in made(PAIRS, capitals=1.0)
    assert made(PAIRS, no_full_stop=1.0) != []
    assert all(
        not source.endswith(".") and not target.endswith(".") for source, target in made(PAIRS, no_full_stop=1.0)
    )
    assert len(made(PAIRS, no_full_stop=1.0)) == 2
    for seed in range(30):
        for source, target in made(PAIRS, seed=seed, typing_errors=1.0):
            assert target in [pair[1] for pair in PAIRS]
            assert source not in [pair[0] for pair in PAIRS]
    assert made([("你好。", "Hello.")], typing_errors=1.0, languages=("zh", "en")) == []


def test_the_generator_alone_decides() -> None:
    shares = {"joined": 1.0, "copies": 1.0, "typing_errors": 1.0}
    assert made(PAIRS, seed=3, **shares) == made(PAIRS, seed=3, **shares)
    assert made(PAIRS, seed=3, **shares) != made(PAIRS, seed=4, **shares)


def test_made_up_parts_have_the_form_of_what_they_stand_for() -> None:
    chance = random.Random(1)
    for _ in range(200):
        assert re.fullmatch(r"\d{1,7}", made_up_parts.number(chance))
        assert re.fullmatch(r"\d\d:\d\d|\d{4}-\d\d-\d\d", made_up_parts.date(chance))
        assert re.fullmatch(r"(https?://|www\.)\S+\.\w+\S*|[\w.]+@\w+\.\w+", made_up_parts.address(chance))
        assert re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)?", made_up_parts.name(chance))
        assert "*" not in made_up_parts.placeholder(chance) + made_up_parts.code(chance)


def test_context_is_the_lines_before_up_to_a_blank_one() -> None:
    pairs = [
        ("One.", "Eins."),
        ("Two.", "Zwei."),
        ("", ""),
        ("Three.", "Drei."),
        ("Four.", "Vier."),
        ("Five.", "Fünf."),
    ]
    assert made(pairs, context=1.0) == [
        ("One. ␞ Two.", "Zwei."),
        ("Three. ␞ Four.", "Vier."),
        ("Four. ␞ Five.", "Fünf."),
    ]
    lasts = {source for seed in range(20) for source, _ in made(pairs, seed, context=1.0, context_sentences=3)}
    assert {"Three. Four. ␞ Five.", "Four. ␞ Five."} <= lasts
    assert not any("Two." in source and "Three." in source for source in lasts)
