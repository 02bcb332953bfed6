"""Texts into units and back: lines and indentation kept, sentences one by one, long ones in parts."""

from dataclasses import replace
from pathlib import Path

import pytest

from heedful import load
from heedful.storage.model_folder import save_model_folder
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translated import assemble
from heedful.tasks.translation.translator import Translator
from tests.support.tiny_models import make_model, save_model


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en", "fr"))
    return load(folder, device="cpu", quantize="none")


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ([], ""),
        (["One."], "One."),
        (["One.", "Two."], "One. Two."),
        (["One.", "", "Two."], "One. Two."),
        (["一。", "二。"], "一。二。"),
        (["一。", "Two."], "一。Two."),
    ],
)
def test_parts_are_joined_as_the_script_writes_them(parts: list[str], joined: str) -> None:
    assert join_parts(parts) == joined


def test_lines_are_kept_and_blank_ones_cost_nothing(translator: Translator) -> None:
    [plan] = translator.planner.plan(["where is\n\n \n\t - the station. Where\n"], TranslationRequest("en", "de"))
    assert [unit.text for unit in plan.units] == ["where is", "the station.", "Where"]
    done = translator.translate_units(plan.units, TranslationRequest(n_best=2))
    whole = assemble(plan, done)
    assert whole.text.split("\n") == [done[0].text, "", "", f"\t - {done[1].text} {done[2].text}", ""]
    assert whole.alternatives[1].text.split("\n")[0] == done[0].alternatives[1].text
    assert whole == translator.translate_detailed([plan.text], to="de", from_="en", n_best=2)[0]


def test_a_sentence_too_long_for_the_model_is_cut_and_said_so(translator: Translator) -> None:
    [plan] = translator.planner.plan(["where is the station " * 60], TranslationRequest("en", "de"))
    assert len(plan.units) > 1
    assert all(unit.is_fragment for unit in plan.units)
    assert all(len(unit.source_ids) <= translator.decoding.max_source_tokens for unit in plan.units)
    [found] = translator.translate_detailed([plan.text], to="de", from_="en")
    assert found.warnings[0].code == "split"
    [plain] = translator.translate_detailed(["Where is the station. " * 60], to="de", from_="en")
    assert len(plain.units) == 60
    assert "split" not in [warning.code for warning in plain.warnings], "sentences are cut as a matter of course"


def test_an_empty_text_and_one_in_the_wanted_language_need_no_way(translator: Translator) -> None:
    plans = translator.planner.plan([" ", "\n\n", "station\n  where"], TranslationRequest("en", "en"))
    assert [plan.units for plan in plans] == [[], [], []]
    assert plans[2].route.steps == ()
    assert [assemble(plan, []).text for plan in plans] == ["", "", "station\n  where"]


def test_sentences_stay_together_where_the_folder_says_that_the_model_has_learned_so(tmp_path: Path) -> None:
    text = "The station. Where is it? Wo ist der bahnhof. " * 3
    paragraphs = {"training text": {"source_tokens_99": 40, "several_sentences": 0.6}}
    sentences = {"training text": {"source_tokens_99": 40, "several_sentences": 0.01}}
    counts, folder = [], make_model()
    for number, facts in enumerate((paragraphs, sentences, {"training text": "nonsense"})):
        save_model_folder(tmp_path / str(number), replace(folder, description=folder.description.changed(facts=facts)))
        translator = load(tmp_path / str(number), device="cpu")
        [plan] = translator.planner.plan([text], TranslationRequest(None, None))
        assert " ".join(unit.text for unit in plan.units) == text.strip()
        assert max(len(unit.source_ids) for unit in plan.units) <= 40
        counts.append(len(plan.units))
    assert counts[1:] == [9, 9]
    assert counts[0] < 9


def test_a_way_through_another_language_is_cut_again(translator: Translator) -> None:
    [found] = translator.translate_detailed(["Wo ist der bahnhof. Wo ist er?"], from_="de", to="fr")
    assert len(found.units) == 2
    for unit, german in zip(found.units, ["Wo ist der bahnhof.", "Wo ist er?"], strict=True):
        english = translator.translate(german, from_="de", to="en")
        assert unit.text == translator.translate(english, from_="en", to="fr")
