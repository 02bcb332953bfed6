"""Parallel decoding on the page: positions, repeats and blanks, fertilities and candidates are those the server has."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from benchmarks.load import ServerProcess

import heedful
from heedful.config.models import FertilityConfig
from heedful.decoding import Fertile
from heedful.insight.explaining import EXPLAINERS, ExplainRequest
from heedful.insight.html import render_payload
from heedful.storage.model_folder import restore_model, save_model_folder
from tests.support.tiny_models import make_model
from tests.support.traced_sentence import asked

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]

PHRASE = "today seven very very old dogs see two birds."
HERE = f"?view=decoding&model=lesson-ctc&text={quote(PHRASE)}"
FERTILE = FertilityConfig(
    kind="fertility", dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=2, max_fertility=3
)


def spelled(text: str | None) -> str:
    return "·" if text is None else text.replace("▁", "") or "␣"


def percent(log_prob: float) -> str:
    value = 100 * math.exp(log_prob)
    return "< 0.1 %" if value < 0.05 else f"{value:.1f} %"


@pytest.fixture(scope="module")
def payload(bundled_server: ServerProcess) -> dict[str, Any]:
    return asked(bundled_server, q=PHRASE, model="lesson-ctc")


def test_every_position_says_what_the_server_says(
    visited: Visit, bundled_server: ServerProcess, payload: dict[str, Any]
) -> None:
    refinement = payload["refinement"]
    layers, fates = refinement["layers"], refinement["fates"]
    assert payload["target"]["text"] == "heute sehen sieben sehr sehr alte Hunde zwei Vögel."
    assert layers[-1]["text"] == payload["target"]["text"]
    assert fates.count("blank") > 0, "or both would be merged"
    with visited(bundled_server, HERE, locale="en-US") as page:
        page.wait_for_selector(".written-at-once")
        places, slider = page.locator(".place"), page.get_by_role("slider")
        assert places.count() == len(refinement["copies"]) == 2 * len(payload["source"]["tokens"])
        assert page.locator(".place.copy").count() == places.count()
        for number, layer in enumerate(layers):
            slider.fill(str(number + 1))
            assert [text.split("\n") for text in places.all_inner_texts()] == [
                [spelled(guess["text"]), percent(guess["logProb"])] for guess in layer["guesses"]
            ]
            assert page.inner_text(".so-far") == layer["text"]
        slider.fill(str(len(layers) + 1))
        assert page.locator(".place.gone").count() == fates.count("repeat")
        slider.fill(str(len(layers) + 2))
        assert page.locator(".place.kept").count() == fates.count("written")
        assert page.locator(".place.gone").count() == len(fates) - fates.count("written")
        kept = "".join(one.inner_text().split("\n")[0] for one in page.locator(".place.kept").all())
        assert kept == payload["target"]["text"].replace(" ", "")
        assert [chip.split("\n") for chip in page.locator(".outcome-tokens .chip").all_inner_texts()] == [
            [spelled(token["text"]), percent(value)]
            for token, value in zip(payload["target"]["tokens"], payload["tokenLogProbs"], strict=True)
        ]
        for name, count in (
            ("positions", len(fates)),
            ("blank", fates.count("blank")),
            ("written", fates.count("written")),
        ):
            assert f"{name} {count}" in page.locator("section .facts span").all_inner_texts()


def test_it_is_played_shared_and_goes_along(visited: Visit, bundled_server: ServerProcess) -> None:
    with visited(bundled_server, f"{HERE}&pass=3", locale="en-US") as page:
        page.wait_for_selector('.written-at-once[data-moment="2"]')
        page.locator("h2").click()
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector('.written-at-once[data-moment="1"]')
        page.keyboard.press("p")
        page.wait_for_selector('.written-at-once[data-moment="collapsed"]')
        page.get_by_role("link", name="Attention").click()
        page.locator(".empty", has_text="writes all positions at once").wait_for()
        page.get_by_role("link", name="Heads").click()
        page.locator(".empty a").click()
        page.wait_for_selector(".written-at-once")
        page.get_by_role("link", name="Translate", exact=True).click()
        page.locator(".output", has_text="heute sehen sieben sehr sehr alte Hunde").wait_for()


@pytest.mark.parametrize("width", [1440, 390])
def test_it_speaks_chinese_and_fits(visited: Visit, bundled_server: ServerProcess, width: int) -> None:
    with visited(bundled_server, HERE, width=width, locale="zh-CN", color_scheme="dark") as page:
        page.wait_for_selector(".written-at-once")
        assert page.locator("section h2").all_inner_texts() == ["所有位置一次写出"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_terms_are_refused_in_a_sentence(visited: Visit, bundled_server: ServerProcess) -> None:
    with visited(bundled_server, f"{HERE}&glossary=dogs%3DKatzen", locale="en-US", allow="400") as page:
        page.locator(".refusal", has_text="they need steps").wait_for()


def test_the_file_of_explain_has_it(opened: Visit, tmp_path: Path, payload: dict[str, Any]) -> None:
    model = heedful.load("lesson-ctc", device="cpu")
    explained = EXPLAINERS["translation"](model, PHRASE, ExplainRequest())
    assert explained.answer == payload["target"]["text"]
    assert explained.payload["refinement"]["fates"] == payload["refinement"]["fates"]
    assert any("sieben" in line for line in explained.lines)
    path = tmp_path / "phrase.html"
    path.write_text(render_payload(explained.payload), encoding="utf-8")
    with opened(path, locale="en-US") as page:
        page.get_by_role("slider").fill("5")
        assert page.inner_text(".so-far") == payload["target"]["text"]


@pytest.fixture(scope="module")
def fertile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn model with fertilities."""
    folder = tmp_path_factory.mktemp("models") / "fertile"
    save_model_folder(folder, make_model(config=FERTILE, seed=3))
    return folder


@pytest.fixture(scope="module")
def server(executable: str, fertile: Path) -> Iterator[ServerProcess]:
    with ServerProcess("--model", fertile) as process:
        yield process


def test_fertilities_stand_over_the_source(visited: Visit, server: ServerProcess) -> None:
    text = "where is the station"
    found = asked(server, q=text, source="en")
    refinement = found["refinement"]
    assert refinement["fertilities"] is not None
    with visited(server, f"?view=decoding&source=en&target=de&text={quote(text)}", locale="en-US") as page:
        page.wait_for_selector(".written-at-once")
        card = page.get_by_role("region", name="All positions at once")
        assert [one.split("×")[1] for one in card.locator(".of").all_inner_texts()] == [
            str(count) for count in refinement["fertilities"]
        ]
        assert card.locator(".fertility").count() == len(found["source"]["tokens"])
        shown = card.locator(".fertility").first.get_attribute("title")
        assert shown == ", ".join(
            f"{count}: {percent(math.log(share))}"
            for count, share in enumerate(refinement["fertilityProbabilities"][0])
        )
        card.get_by_role("slider").fill("2")
        assert card.locator(".so-far").inner_text() == (refinement["layers"][1]["text"] or "∅")
        assert page.locator(".label", has_text="Copies of the source").count() == 1


def test_candidates_have_the_teachers_scores(opened: Visit, fertile: Path, tmp_path: Path) -> None:
    model = heedful.load(fertile, device="cpu")
    assert isinstance(model.generator, Fertile)
    teacher = restore_model(make_model(seed=5)).eval()
    judged = replace(model, generator=replace(model.generator, teacher=teacher, num_samples=5))
    explained = EXPLAINERS["translation"](judged, "where is the station", ExplainRequest("en", "de"))
    candidates = explained.payload["refinement"]["candidates"]
    assert len(candidates) > 1
    path = tmp_path / "candidates.html"
    path.write_text(render_payload(explained.payload), encoding="utf-8")
    with opened(path, locale="en-US") as page:
        rows = page.locator("table.candidates tbody tr")
        assert [row.locator("td").last.inner_text() for row in rows.all()] == [
            f"{one['score']:.3f}".replace("-", "−") for one in candidates
        ]
        assert [row.locator("td").first.inner_text() for row in rows.all()] == [
            " ".join(map(str, one["fertilities"])) for one in candidates
        ]
