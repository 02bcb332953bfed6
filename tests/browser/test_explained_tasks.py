"""The pages of a decision and of a text that `heedful explain` writes, opened from disk in a real browser."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heedful.config.language_modeling import TransformerXLConfig
from heedful.insight.explaining import EXPLAINERS, ExplainRequest, Explanation
from heedful.insight.html import render_payload
from heedful.insight.wire import from_array
from heedful.tasks.language_modeling.model import load_text_model
from tests.support.classifier_folders import make
from tests.support.language_model_folders import write_language_model

pytestmark = pytest.mark.browser

REVIEW = "a truly good film 🎬 , but the end is <b>bad</b>."
TEXT = "the old man and the sea and the boat and the fish"


@pytest.fixture(scope="module")
def label() -> Explanation:
    return EXPLAINERS["classification"](make(num_layers=2), REVIEW, ExplainRequest())


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Explanation:
    folder = tmp_path_factory.mktemp("model") / "memory"
    shape = TransformerXLConfig(kind="transformer_xl", dim=16, num_heads=2, hidden_dim=32, num_layers=2)
    write_language_model(folder, shape, memory_len=16)
    return EXPLAINERS["language_modeling"](load_text_model(folder, device="cpu"), TEXT, ExplainRequest(num_read=24))


@pytest.fixture
def shown(opened: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Write the page of an explanation and open it for the time of a block."""

    def show(found: Explanation, **options: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(render_payload(found.payload), encoding="utf-8")
        return opened(path, **options)

    return show


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def test_a_decision_is_shown_with_what_each_word_did_for_each_label(
    shown: Callable[..., Any], label: Explanation
) -> None:
    payload = label.payload
    with shown(label) as page:
        assert page.inner_text(".verdict strong") == payload["label"]
        assert page.locator(".top .number").all_inner_texts() == [
            percent(one) for one in payload["probabilities"].values()
        ]
        words = page.locator(".shaded button")
        assert words.all_inner_texts() == [word["word"] for word in payload["words"]]
        assert page.inner_text(".shaded") == REVIEW
        words.nth(2).hover()
        said = page.locator(".influence-legend b")
        assert said.inner_text().startswith(f"“good” {signed(payload['words'][2]['influence'])}")
        other = next(name for name in payload["words"][2]["byLabel"] if name != payload["label"])
        page.get_by_role("radio", name=other, exact=True).click()
        words.nth(2).hover()
        assert said.inner_text().startswith(f"“good” {signed(payload['words'][2]['byLabel'][other])}")
        assert f"“{other}”" in said.inner_text()


def test_the_heads_of_a_classifier_say_their_numbers(shown: Callable[..., Any], label: Explanation) -> None:
    weights = [from_array(layer) for layer in label.payload["attention"]]
    with shown(label) as page:
        assert page.locator(".grid button").count() == sum(layer.shape[0] for layer in weights)
        page.locator(".grid button").nth(1).click()
        page.locator(".heat canvas").focus()
        page.keyboard.press("ArrowRight")
        assert page.inner_text(".heat .caption").endswith(f": {weights[0][1, 0, 0]:.3f}")


def test_a_text_is_shown_with_what_was_expected(shown: Callable[..., Any], reading: Explanation) -> None:
    payload = reading.payload
    nats = -sum(payload["logProbs"]) / len(payload["logProbs"])
    with shown(reading) as page:
        assert f"{nats / math.log(2):.3f}" in page.inner_text(".facts")
        symbols = page.locator(".written-text button")
        assert symbols.count() == len(payload["read"]) - 1
        symbols.nth(4).click()
        page.keyboard.press("ArrowRight")
        assert f"{-payload['logProbs'][5] / math.log(2):.2f} bits" in page.inner_text(".written-pair .label")
        expected = [percent(math.exp(choice["logProb"])) for choice in payload["expected"][5]]
        assert page.locator(".written-pair .number").all_inner_texts()[: len(expected)] == expected
        following = page.get_by_role("region", name="Next").locator(".number").all_inner_texts()
        assert following == [percent(math.exp(choice["logProb"])) for choice in payload["expected"][-1]]


def test_the_memory_of_a_language_model_is_shown(shown: Callable[..., Any], reading: Explanation) -> None:
    weights = [from_array(layer) for layer in reading.payload["attention"]]
    remembered = len(reading.payload["remembered"])
    with shown(reading) as page:
        assert f"memory: {remembered} symbols" in page.inner_text("main")
        share = weights[-1].mean(axis=0)[-1, :remembered].sum()
        assert f"{percent(share)} of its attention goes into the memory" in page.inner_text("main")
        assert page.locator(".strip .boundary").count() == 1
        page.locator(".reach-map canvas").focus()
        page.keyboard.press("ArrowUp")
        assert page.inner_text(".reach-map .caption").endswith(f": {weights[-1].mean(axis=0)[-2, -1]:.3f}")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(("locale", "heading"), [("en-US", "How"), ("zh-CN", "怎样")])
@pytest.mark.parametrize("name", ["label", "reading"])
def test_the_pages_fit_in_both_languages(
    shown: Callable[..., Any], request: pytest.FixtureRequest, name: str, width: int, locale: str, heading: str
) -> None:
    with shown(request.getfixturevalue(name), width=width, locale=locale, color_scheme="dark") as page:
        assert heading in page.inner_text(".bar")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_text_too_long_for_attention_says_so(shown: Callable[..., Any]) -> None:
    found = EXPLAINERS["classification"](make(), "good film " * 100, ExplainRequest())
    with shown(found) as page:
        assert "too long for its attention" in page.get_by_role("region", name="Attention").inner_text()
        assert page.locator(".shaded button").count() == 200
