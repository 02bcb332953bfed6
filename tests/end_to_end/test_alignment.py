"""Word alignments from the command, Python and the server, with both engines and both families of models."""

import json
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from benchmarks.alignment import links_of, read_aligned, scores

from heedful import load
from heedful.errors import UserError
from heedful.tasks.translation.glossary import Entry, Glossary
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.word_alignment import Alignment, alignment_of, word_spans
from tests.support.commands import Command
from tests.support.forked_server import ForkedServer
from tests.support.small_run import SmallRun
from tests.support.tiny_models import save_model

TEXT = "My brother lost his keys. He was not happy.\n\n  - Visit https://example.com today.\n- 😀"


def words(found: Alignment) -> set[tuple[str, str]]:
    """The links, as words."""
    return {(found.source[slice(*link.source)], found.target[slice(*link.target)]) for link in found.links}


def aligned(translator: Translator, text: str, source: str, target: str, **wishes: Glossary) -> Alignment:
    request = TranslationRequest(source, target, alignment=True, **wishes)
    return alignment_of(translator.translate_detailed([text], request=request)[0])


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load(device="cpu")


def test_sentences_aligned_by_hand_are_found(translator: Translator) -> None:
    pairs = list(read_aligned())
    assert len(pairs) >= 40
    error_rate, _, _, f1 = scores(pairs, [links_of(translator, pair, ("de", "en")) for pair in pairs])
    assert error_rate < 6
    assert f1 > 94
    one_way, *_ = scores(pairs, [links_of(translator, pair, ("de", None)) for pair in pairs])
    assert error_rate < one_way < 12


def test_words_of_a_text_are_linked_across_its_sentences_and_lines(translator: Translator) -> None:
    found = aligned(translator, TEXT, "en", "de")
    assert {("keys.", "Schlüssel"), ("He", "Er"), ("not", "nicht"), ("😀", "😀")} <= words(found)
    assert any(one == "https://example.com" and other.startswith("https://example.com") for one, other in words(found))
    lines = found.lines()
    assert [line.source for line in lines] == TEXT.split("\n")
    assert lines[1].pharaoh() == ""
    assert sum(len(line.links) for line in lines) == len(found.links), "no link leaves its line"


def test_chinese_words_are_characters(translator: Translator) -> None:
    found = aligned(translator, "Where is the station?", "en", "zh")
    assert [found.target[slice(*span)] for span in found.target_words] == list(found.target)
    assert {other for one, other in words(found) if one == "station?"} == set("车站")


def test_through_a_third_language_links_are_composed(translator: Translator) -> None:
    found = words(aligned(translator, "Wo ist der Bahnhof? Ich weiß es nicht.", "de", "fr"))
    assert {("Wo", "Où"), ("Bahnhof?", "gare"), ("weiß", "sais")} <= found


def test_a_term_of_a_glossary_is_linked(translator: Translator) -> None:
    glossary = Glossary((Entry("keys", ("Haustürschlüssel",)),))
    found = words(aligned(translator, "My brother lost his keys.", "en", "de", glossary=glossary))
    assert any(one == "keys." and other.startswith("Haustürschlüssel") for one, other in found)


def test_what_is_left_as_it_is_is_linked_with_itself(translator: Translator) -> None:
    assert aligned(translator, "so it is\n\nand stays", "en", "en").pharaoh() == "0-0 1-1 2-2 3-3 4-4"
    assert aligned(translator, "", "en", "de").pharaoh() == ""


def test_command_python_and_server_say_the_same(heedful: Command, translator: Translator) -> None:
    found = aligned(translator, TEXT, "en", "de")
    result = heedful("translate", "--from", "en", "--to", "de", "--alignment", "pharaoh", TEXT)
    expected = [f"{line.target} ||| {line.pharaoh()}".rstrip() for line in found.lines()]
    assert result.stdout.decode().split("\n")[:-1] == expected
    result = heedful("translate", "--from", "en", "--to", "de", "--alignment", "json", TEXT)
    told = json.loads(result.stdout)["alignment"]
    assert told == json.loads(json.dumps(found.as_dict()))
    with ForkedServer() as server:
        body = json.dumps({"q": [TEXT], "source": "en", "target": "de", "alignment": True}).encode()
        request = Request(server.url + "/translate", body, {"Content-Type": "application/json"})
        [answer] = json.loads(urlopen(request, timeout=60).read())["alignment"]
    assert [answer["sourceWords"], answer["targetWords"]] == [told["source_words"], told["target_words"]]
    assert answer["links"] == told["links"]


def test_a_float_model_of_one_direction_is_looked_into(heedful: Command, small_run: SmallRun) -> None:
    result = heedful("translate", "-m", small_run.run, "--alignment", "pharaoh", "ten houses")
    translation, _, links = result.stdout.decode().rstrip("\n").partition(" ||| ")
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    assert {target for _, target in pairs} == set(range(len(word_spans(translation))))
    assert all(source < 2 for source, _ in pairs)


def test_files_have_no_place_for_it(heedful: Command, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Hello.")
    result = heedful("translate", str(tmp_path / "letter.txt"), "--to", "de", "--alignment", "pharaoh")
    assert result.returncode == 2
    assert b"`--alignment` must be left out with files" in result.stderr


def test_an_ensemble_says_that_it_cannot_be_looked_into(tmp_path: Path) -> None:
    folders = [save_model(tmp_path / name) for name in ("one", "two")]
    with pytest.raises(UserError, match="ensemble"):
        load(folders, device="cpu").translate_detailed(["Where"], request=TranslationRequest(alignment=True))
