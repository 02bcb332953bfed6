"""Texts into units and back, and the names models are served under."""

from pathlib import Path

import pytest

from heedful.serving.engines import ids_of
from heedful.serving.texts import assemble, plan_text
from heedful.tasks.loading import load_translator
from heedful.tasks.translation import Translator

from ..tasks.tiny_models import save_model


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en", "fr"))
    return load_translator(folder, device="cpu", quantize="none")


def test_lines_are_kept_and_blank_ones_cost_nothing(translator: Translator) -> None:
    plan = plan_text(translator, "where is\n\n \nthe station\n", "en", "de")
    assert [unit.text for unit in plan.units] == ["where is", "the station"]
    done = translator.translate_detailed(["where is", "the station"], to="de", from_="en", n_best=2)
    whole = assemble(plan, done)
    assert whole.text.split("\n") == [done[0].text, "", "", done[1].text, ""]
    assert whole.alternatives[0].split("\n")[0] == done[0].alternatives[1].text


def test_a_long_line_is_cut_as_the_command_cuts_it(translator: Translator) -> None:
    line = "where is the station. " * 60
    plan = plan_text(translator, line, "en", "de")
    assert len(plan.units) > 1
    assert all(unit.num_tokens <= translator.decoding.max_source_tokens for unit in plan.units)
    done = translator.translate_detailed([unit.text for unit in plan.units], to="de", from_="en")
    whole = assemble(plan, done)
    assert whole.text == translator.translate(line, to="de", from_="en")
    assert "split" in {warning.code for warning in whole.warnings}


def test_an_empty_text_and_one_in_the_wanted_language_need_no_way(translator: Translator) -> None:
    assert plan_text(translator, " ", "en", "de").units == []
    assert plan_text(translator, "station", "en", "en").route.steps == ()


def test_models_are_named_after_their_folders(tmp_path: Path) -> None:
    folders = [tmp_path / "runs" / "My Run" / "model", tmp_path / "b" / "tiny", tmp_path / "c" / "tiny", tmp_path / "…"]
    assert ids_of(folders) == ["my-run", "tiny", "tiny-2", "model"]
