"""The page of a translation that `heedful explain` writes, opened from disk in a real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.insight.ablation import head_changes
from heedful.insight.alignment import align
from heedful.insight.attribution import attribute
from heedful.insight.html import render_frame, render_page
from heedful.insight.trace import Trace, trace_translation
from heedful.insight.tracing_translator import TracingTranslator
from heedful.tasks.translation.request import TranslationRequest
from tests.support.small_models import large_trace

pytestmark = pytest.mark.browser

SENTENCE = "Where is the nearest station, please?"


@pytest.fixture(scope="module")
def model() -> TracingTranslator:
    return heedful.load(quantize="none")


@pytest.fixture(scope="module")
def trace(model: TracingTranslator) -> Trace:
    return model.translate(SENTENCE, to="de", trace=True)


@pytest.fixture(scope="module")
def page_file(model: TracingTranslator, trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "trace.html"
    attribution = attribute(model.readable_model, trace)
    path.write_text(render_page(trace, attribution=attribution, changes=head_changes(model, trace)), encoding="utf-8")
    return path


def painted(page: Any, selector: str) -> int:
    """How many pixels of a canvas are not empty."""
    return page.eval_on_selector(
        selector,
        """canvas => {
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            return data.filter((value, i) => i % 4 === 3 && value > 0).length;
        }""",
    )


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_there_and_fits(
    opened: Callable[..., Any], page_file: Path, trace: Trace, width: int, scheme: str
) -> None:
    with opened(page_file, width=width, color_scheme=scheme) as page:
        assert page.inner_text("h1") == trace.text
        assert page.locator("section").count() == 4  # attention, steps, search, guesses
        assert painted(page, ".lines canvas") > 1000
        assert painted(page, ".scroll > canvas") > 1000
        layers, heads = trace.weights["cross"].shape[:2]
        assert page.locator(".grid button").count() == layers * heads
        assert page.locator(".tree g").count() == len(trace.beam.nodes)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_mouse_steps_through_the_tokens(opened: Callable[..., Any], page_file: Path, trace: Trace) -> None:
    with opened(page_file) as page:
        page.locator("button.chip").nth(2).click()
        assert page.get_attribute("button.chip >> nth=2", "aria-current") == "step"
        assert page.inner_text(".top .written") == trace.tokens[2].replace("▁", "")
        probability = 100 * 2.718281828 ** trace.steps[2].log_prob
        assert f"{probability:.1f} %" in page.inner_text(".top")
        page.get_by_role("radio", name="attribution").click()
        assert page.get_by_role("radio", name="attribution").get_attribute("aria-checked") == "true"
        assert page.get_attribute("button.chip >> nth=2", "aria-current") == "step"


def test_the_mouse_chooses_heads_and_holds_a_token(opened: Callable[..., Any], page_file: Path, trace: Trace) -> None:
    with opened(page_file) as page:
        before = painted(page, ".lines canvas")
        page.locator(".column.left button").nth(1).click()
        assert page.get_attribute(".column.left button >> nth=1", "aria-pressed") == "true"
        page.mouse.move(5, 5)
        assert painted(page, ".lines canvas") < before
        page.get_by_role("radio", name="Encoder").click()
        assert page.locator(".grid button").count() == trace.weights["encoder"][..., 0, 0].size
        page.locator(".grid button").nth(7).click()
        assert page.locator('.grid [aria-checked="true"]').count() == 1
        assert page.locator(".column.left button").count() == len(trace.source_tokens)


def test_the_heat_map_says_its_numbers(opened: Callable[..., Any], page_file: Path, trace: Trace) -> None:
    with opened(page_file) as page:
        page.keyboard.press("3")
        page.locator(".grid button").nth(0).click()
        box = page.locator(".scroll > canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] - 38, box["y"] + box["height"] - 12)
        said = page.inner_text(".caption[aria-live]")
        assert (
            said == f"</s> → </s>: {trace.attention('cross', layer=0, head=0)[-1, -1]:.3f}"[: len(said) - 1] + said[-1]
        )


def test_the_keyboard_is_enough(opened: Callable[..., Any], page_file: Path, trace: Trace) -> None:
    with opened(page_file) as page:
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.get_attribute("button.chip >> nth=2", "aria-current") == "step"
        page.keyboard.press("1")
        assert page.get_by_role("radio", name="Encoder").get_attribute("aria-checked") == "true"
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Shift+ArrowDown")
        chosen = page.locator('.grid [aria-checked="true"]')
        assert "head 1" in chosen.get_attribute("title")
        page.get_by_role("radio", name="Decoder").focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("radio", name="Cross", exact=True).get_attribute("aria-checked") == "true"
        assert page.evaluate("document.activeElement.textContent") == "Cross"
        page.keyboard.press("p")
        page.wait_for_selector('button.chip:nth-child(4)[aria-current="step"]')


def test_the_tree_says_why_a_candidate_ended(opened: Callable[..., Any], page_file: Path, trace: Trace) -> None:
    pruned = next(node for node in trace.beam.nodes if node.fate == "pruned")
    with opened(page_file) as page:
        page.locator(".tree g").nth(trace.beam.chosen).hover()
        assert "The translation: the best score" in page.inner_text(".said")
        page.locator(".tree g").nth(pruned.id).hover()
        assert f"Pruned at step {pruned.ended_at + 1}" in page.inner_text(".said")
        assert f"{pruned.score:.3f}".replace("-", "−") in page.inner_text(".said")


def test_words_and_symbols_can_be_chosen_without_a_server(
    opened: Callable[..., Any], page_file: Path, trace: Trace
) -> None:
    words = align(trace).target_words
    with opened(page_file) as page:
        page.get_by_label("whole words").check()
        page.get_by_label("hide symbols").check()
        assert page.locator(".column.left button").all_inner_texts() == [word.text for word in words]
        assert "scaled to 1" in page.inner_text(".notes")
        page.locator(".scroll > canvas").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.get_attribute(".column.left button >> nth=0", "aria-pressed") == "true"
        assert page.locator(".cell").count() == 0  # only a server can compute what is inside a cell


HOVER = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (const button of [...document.querySelectorAll(".column.left button")].slice(0, 30)) {
        button.dispatchEvent(new MouseEvent("mouseenter"));
        await frame();
        button.dispatchEvent(new MouseEvent("mouseleave"));
        await frame();
    }
}"""


@pytest.mark.parametrize("heads", ["mean", "all"])
def test_sixty_tokens_and_48_heads_stay_smooth(
    opened: Callable[..., Any], trace: Trace, tmp_path: Path, heads: str
) -> None:
    """What a pointer sets off fits into a frame of 60 in a second, in time of the processor: others may use it, too."""
    path = tmp_path / "large.html"
    path.write_text(render_page(large_trace(trace)), encoding="utf-8")
    with opened(path) as page:
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.locator(".heads button", has_text=heads).click()

        def spent() -> float:
            metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
            return sum(metrics[name] for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration"))

        before = spent()
        page.evaluate(HOVER)
        assert (spent() - before) / 60 < 0.016


def test_it_speaks_chinese(opened: Callable[..., Any], page_file: Path) -> None:
    with opened(page_file, locale="zh-CN") as page:
        assert page.inner_text("section h2 >> nth=0") == "注意力"
        page.get_by_role("button", name="English").click()
        assert page.inner_text("section h2 >> nth=0") == "Attention"


def test_hostile_text_stays_text(opened: Callable[..., Any], model: TracingTranslator, tmp_path: Path) -> None:
    text = "</script><img src=x onerror=alert(1)> <b>hello</b>"
    path = tmp_path / "hostile.html"
    (plan,) = model.plan([text], TranslationRequest("en", "de"))
    path.write_text(render_page(trace_translation(model, plan, hypothesis=text)), encoding="utf-8")
    with opened(path) as page:
        assert page.inner_text("h1") == text
        assert page.locator("img, b:has-text('hello')").count() == 0


def test_a_notebook_shows_it_in_a_frame(opened: Callable[..., Any], trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><link rel=icon href='data:,'>{render_frame(trace)}")
    with opened(path) as page:
        assert page.frame_locator("iframe").locator("h1").inner_text() == trace.text
