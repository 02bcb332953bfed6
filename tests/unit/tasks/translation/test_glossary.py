"""Glossaries: how they are read, what they find in a text, and that translations contain it."""

from dataclasses import replace
from pathlib import Path

import pytest

from heedful import load
from heedful.decoding import Sampling
from heedful.errors import UserError
from heedful.tasks.translation.glossary import Entry, Glossary, load_glossary, read_glossary
from heedful.tasks.translation.request import MinimumRisk, TranslationRequest
from heedful.tasks.translation.translator import Translator
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
    assert list(read_glossary(lines, "terms.tsv").terms_of(text)) == found


def test_lines_with_the_same_source_are_a_choice_of_forms() -> None:
    glossary = read_glossary(["dog\tHund", "dog\tKöter\r"], "terms.tsv")
    assert glossary.terms_of("a dog") == (("Hund", "Köter"),)


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


def test_a_glossary_needs_a_beam() -> None:
    glossary = read_glossary(["a\tb"], "terms.tsv")
    for way in (Sampling(), MinimumRisk(4, Sampling())):
        with pytest.raises(UserError, match="A glossary must not be given with sampling"):
            TranslationRequest(way=way, glossary=glossary)
