"""Glossaries: how they are read, what they find in a text, and that translations contain it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from heedful import load
from heedful.decoding import Sampling
from heedful.errors import UserError
from heedful.tasks.translation.glossary import Entry, Glossary, load_glossary, read_glossary
from heedful.tasks.translation.request import MinimumRisk, TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.wishes import Wishes
from tests.support.tiny_models import save_model

ASKED = TranslationRequest("en", "de")


@pytest.fixture(scope="module", params=["none", "int8"])
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en", "fr"))
    return load(folder, device="cpu", quantize=request.param)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The dog sleeps.", [("Hund", "Hunde")]),
        ("DOG!", [("Hund", "Hunde")]),
        ("Hotdogs and dogma", []),
        ("The hot  dog", [("Würstchen",)]),
        ("us and US", [("USA",)]),
        ("The dog and the dog", [("Hund", "Hunde")]),
        ("我的狗在睡觉", [("chien",)]),
        ("It costs 5 $ (net)", [("netto",)]),
        ("", []),
    ],
)
def test_only_what_stands_in_a_text_is_found(text: str, found: list[tuple[str, ...]]) -> None:
    lines = ["# comment", "", "dog\tHund\tHunde", "hot dog\tWürstchen", "US\tUSA", "狗\tchien", "(net)\tnetto"]
    assert list(read_glossary(lines, "terms.tsv").terms_of(text).values()) == found


@pytest.mark.parametrize(
    ("written", "forms"),
    [
        (b"", ()),
        (b"# only a comment\n\n", ()),
        (b"\xef\xbb\xbfdog\tHund\r\n", (("Hund",),)),
        (b"dog\tHund\tK\xc3\xb6ter\n", (("Hund", "Köter"),)),
        (b"dog\tHund\ndog\tKatze\ndog\tHund\n", (("Hund", "Katze"),)),
        (b"  dog \t Hund \t\t\n\t\n", (("Hund",),)),
    ],
)
def test_files_as_spreadsheets_write_them_are_read(
    tmp_path: Path, written: bytes, forms: tuple[tuple[str, ...], ...]
) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(written)
    assert tuple(load_glossary(path).terms_of("A dog.").values()) == forms


def test_every_term_of_a_sentence_counts_however_many() -> None:
    glossary = read_glossary([f"word{number}\tWort{number}" for number in range(40)], "terms.tsv")
    found = glossary.terms_of(" ".join(f"word{number}" for number in range(40)))
    assert found == {f"word{number}": (f"Wort{number}",) for number in range(40)}


@pytest.mark.parametrize(
    ("translation", "found"),
    [
        ("Der Hund und die HUNDE", [("dog", "Hund"), ("dog", "HUNDE")]),
        ("Ein Würstchen, ein Hund", [("hot dog", "Würstchen"), ("dog", "Hund")]),
        ("İİ Hund", [("dog", "Hund")]),
        ("Die Katze", []),
    ],
)
def test_terms_are_found_in_a_translation_where_they_stand(translation: str, found: list[tuple[str, str]]) -> None:
    glossary = read_glossary(["dog\tHund\tHunde", "hot dog\tWürstchen", "cat\tKatze"], "terms.tsv")
    places = glossary.places_in("A hot dog and a dog", translation)
    assert [(place.source, translation[place.start : place.end]) for place in places] == found


def test_wishes_are_divided_among_parts_in_order() -> None:
    wishes = Wishes("So", (("a",), ("b",), ("c",)), ("x", "y", "z"))
    assert wishes.among(1) == [wishes]
    assert wishes.among(2) == [Wishes("So", (("a",), ("b",)), ("x", "y")), Wishes("", (("c",),), ("z",))]
    assert [one.terms for one in wishes.among(4)] == [(("a",),), (("b",),), (("c",),), ()]


def test_a_term_with_a_fixed_part_has_its_stand_in() -> None:
    wishes = Wishes("", (("Fassung v2.1", "Version v2.1"), ("Hund",)))
    assert wishes.reading(("371",), ("v2.1",)).terms == (("Fassung 371", "Version 371"), ("Hund",))


def test_lines_with_the_same_source_are_a_choice_of_forms() -> None:
    glossary = read_glossary(["dog\tHund", "dog\tKöter\r"], "terms.tsv")
    assert glossary.terms_of("a dog") == {"dog": ("Hund", "Köter")}


def test_what_is_no_glossary_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"dog\tHund\ncat\n")
    with pytest.raises(UserError, match=r'Line 2 of .*terms.tsv: .* "cat" has none. Write SOURCE, a tab, TARGET.'):
        load_glossary(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="is not UTF-8"):
        load_glossary(path)
    with pytest.raises(UserError, match="No such file"):
        load_glossary(tmp_path / "none.tsv")
    with pytest.raises(UserError, match="at most 20,000 entries, but has 20,001"):
        Glossary((Entry("a", ("b",)),) * 20_001)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("way", [None, MinimumRisk(4)])
def test_translations_contain_the_terms_and_others_are_as_they_were(
    translator: Translator, beam_size: int, way: MinimumRisk | None
) -> None:
    glossary = read_glossary(["station\tbahnhof the", "is\tist"], "terms.tsv")
    asked = replace(ASKED, beam_size=beam_size, way=way)
    texts = ["where is the station", "where the", "the station. Where is it"]
    bound = translator.translate_detailed(texts, request=replace(asked, glossary=glossary))
    units = [unit for one in bound for unit in one.units]
    for unit, wanted in zip(units, [("bahnhof the", "ist"), (), ("bahnhof the",), ("ist",)], strict=True):
        missing = [term for term in wanted if term not in unit.text.lower()]
        assert bool(missing) == ("missing_term" in [warning.code for warning in unit.warnings])
        assert not missing or unit.alternatives[0].finish_reason == "length"
    assert sum("missing_term" in [it.code for it in one.warnings] for one in bound) <= 1
    free = translator.translate_detailed(texts, request=asked)
    assert bound[1].text == free[1].text
    assert bound[0].text == translator.translate(texts[0], request=replace(asked, glossary=glossary))


TERMS_OF_SENTENCES = [
    ("en", "de", "New York is larger than York.", ["New York\tNeu-York", "York\tYorck"], ["Neu-York", "Yorck"]),
    ("en", "de", "Dogs bark.", ["dogs\tköter"], ["Köter"]),
    ("en", "de", "I like my dog.", ["dog\tWauwau\tKöter"], ["Wauwau|Köter"]),
    ("en", "de", "Install version v2.1 of the program now.", ["version v2.1\tFassung v2.1"], ["Fassung v2.1"]),
    ("en", "de", "Read chapter 12 today.", ["chapter 12\tAbschnitt 12"], ["Abschnitt 12"]),
    ("en", "zh", "The car is red.", ["car\t轿车"], ["轿车"]),
    ("zh", "en", "我的狗在睡觉。", ["狗\thound"], ["hound"]),
    ("de", "fr", "Der Hund schläft. Wir haben ein Auto.", ["Hund\tclebs", "Auto\tbagnole"], ["clebs", "bagnole"]),
]
"""Overlapping, at the beginning, with a choice, with a fixed part, with a number, in Chinese, through English."""


@pytest.fixture(scope="module")
def bundled() -> Translator:
    return load(device="cpu")


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize(("source", "target", "text", "lines", "wanted"), TERMS_OF_SENTENCES)
def test_the_bundled_model_writes_the_terms(
    bundled: Translator, source: str, target: str, text: str, lines: list[str], wanted: list[str], beam_size: int
) -> None:
    asked = TranslationRequest(source, target, beam_size=beam_size, glossary=read_glossary(lines, "terms.tsv"))
    (found,) = bundled.translate_detailed([text], request=asked)
    assert all(re.search(one, found.text, re.IGNORECASE) for one in wanted), found.text
    assert "missing_term" not in [warning.code for warning in found.warnings]
    assert found.text.count("v2.1") == text.count("v2.1")


def test_twenty_terms_of_one_sentence_are_written_or_named(bundled: Translator) -> None:
    words = ["dog", "cat", "mouse", "horse", "cow", "pig", "bird", "fish", "snake", "bear", "wolf", "fox", "lion"]
    words += ["tiger", "sheep", "goat", "duck", "hen", "bee", "ant"]
    glossary = read_glossary([f"{word}\t{word[::-1]}" for word in words], "terms.tsv")
    asked = TranslationRequest("en", "de", beam_size=1, glossary=glossary)
    (found,) = bundled.translate_detailed([f"I see a {', a '.join(words)}."], request=asked)
    missing = [word[::-1] for word in words if word[::-1] not in found.text.lower()]
    named = [warning.message for warning in found.warnings if warning.code == "missing_term"]
    assert all(any(term in message for message in named) for term in missing), (found.text, named)


def test_a_glossary_needs_a_beam() -> None:
    glossary = read_glossary(["a\tb"], "terms.tsv")
    for way in (Sampling(), MinimumRisk(4, Sampling())):
        with pytest.raises(UserError, match="A glossary must not be given with sampling"):
            TranslationRequest(way=way, glossary=glossary)
