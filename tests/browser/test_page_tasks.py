"""The views of classifiers and of language models in a real browser, beside what the API says."""

import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from benchmarks.load import ServerProcess

from heedful.config.language_modeling import TransformerXLConfig
from heedful.insight.wire import from_array
from heedful.storage.model_folder import save_model_folder
from tests.support.classifier_folders import make_folder
from tests.support.forked_server import ForkedServer
from tests.support.language_model_folders import write_language_model

pytestmark = pytest.mark.browser

REVIEW = "a truly good film 🎬 , but the end is bad."
LONG = "good film . " * 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[ServerProcess]:
    base = tmp_path_factory.mktemp("models")
    save_model_folder(base / "labels", make_folder(num_layers=2))
    save_model_folder(base / "short", make_folder(long_documents={"kind": "head_and_tail", "head": 16, "tail": 16}))
    write_language_model(base / "bytes")
    with_memory = TransformerXLConfig(kind="transformer_xl", dim=16, num_heads=2, hidden_dim=32, num_layers=2)
    write_language_model(base / "memory", with_memory, memory_len=24)
    folder = make_folder()
    description = folder.description.model_copy(update={"labels": ("10", "my_label", "2")})
    save_model_folder(base / "odd", replace(folder, description=description))
    models = [
        argument for name in ("labels", "short", "bytes", "memory", "odd") for argument in ("--model", base / name)
    ]
    with ForkedServer(*models, "--runs", base / "none") as process:
        yield process


def asked(server: ServerProcess, path: str, content: Any) -> str:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, json.dumps(content).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def query(**fields: str) -> str:
    return "?" + urlencode(fields)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def test_a_label_is_shown_with_the_words_that_moved_it(visited: Callable[..., Any], server: ServerProcess) -> None:
    said = json.loads(asked(server, "/api/classify", {"q": REVIEW, "model": "labels", "explain": True}))
    with visited(server, query(model="labels", view="labels", text=REVIEW)) as page:
        assert page.inner_text(".verdict strong") == said["label"]
        shares = page.locator(".task-pair .top .number").all_inner_texts()
        assert shares == [percent(share) for share in said["probabilities"].values()]
        buttons = page.locator(".shaded button")
        assert buttons.all_inner_texts() == [word["word"] for word in said["words"]]
        buttons.nth(1).hover()
        legend = page.locator(".influence-legend b")
        assert legend.inner_text().startswith(f"“truly” {said['words'][1]['influence']:+.3f}".replace("-", "−"))
        buttons.first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert legend.inner_text().startswith(f"“good” {said['words'][2]['influence']:+.3f}".replace("-", "−"))


def test_labels_are_shown_as_they_are_called_the_most_probable_first(
    visited: Callable[..., Any], server: ServerProcess
) -> None:
    # A script that keeps labels as names of fields would put those that look like numbers first, by their value.
    said = json.loads(asked(server, "/api/classify", {"q": REVIEW, "model": "odd"}))["probabilities"]
    traced = json.loads(asked(server, "/api/classify/trace", {"q": REVIEW, "model": "odd"}))["probabilities"]
    assert sorted(said) == sorted(traced) == ["10", "2", "my_label"]
    ordered = sorted(said.items(), key=lambda pair: -pair[1])
    assert list(said.items()) == ordered
    with visited(server, query(model="odd", view="labels", text=REVIEW)) as page:
        assert page.inner_text(".verdict strong") == ordered[0][0]
        shown = page.locator(".task-pair .top > span:not(.track)").all_inner_texts()
        assert shown == [part for label, share in ordered for part in (label, percent(share))]


def test_the_attention_of_a_classifier_is_that_of_the_api(visited: Callable[..., Any], server: ServerProcess) -> None:
    trace = json.loads(asked(server, "/api/classify/trace", {"q": REVIEW, "model": "labels"}))
    weights = [from_array(layer) for layer in trace["attention"]]
    with visited(server, query(model="labels", view="labels", text=REVIEW)) as page:
        canvas = page.locator(".heat canvas")
        canvas.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert page.inner_text(".heat .caption").endswith(f": {weights[-1].mean(axis=0)[1, 1]:.3f}")
        page.locator(".grid button").first.click()
        page.wait_for_url(re.compile("layer=0&head=0"))
        canvas.focus()
        page.keyboard.press("ArrowRight")
        assert page.inner_text(".heat .caption").endswith(f": {weights[0][0, 0, 0]:.3f}")
        assert page.locator(".grid button").count() == sum(layer.shape[0] for layer in weights)


def test_a_new_text_gets_a_new_label_and_a_long_one_is_told_so(
    visited: Callable[..., Any], server: ServerProcess
) -> None:
    said = json.loads(asked(server, "/api/classify", {"q": LONG, "model": "short"}))
    assert said["unreadTokens"] > 0
    with visited(server, query(model="short", view="labels", text="good")) as page:
        page.locator(".verdict").wait_for()
        page.get_by_role("textbox", name="Text").fill(LONG)
        page.locator(".warning").wait_for()
        assert f"{said['unreadTokens']:,} tokens were left out" in page.inner_text(".warning")
        assert "1,000 characters and 128 tokens" in page.get_by_role("region", name="Attention").inner_text()
        page.get_by_role("textbox", name="Text").fill("")
        page.get_by_text("Type a text to have it labelled.").wait_for()


def events_of(server: ServerProcess, **wish: Any) -> list[dict[str, Any]]:
    body = asked(server, "/api/generate", {"temperature": 0.8, "top": 10, **wish})
    return [json.loads(data) for data in re.findall(r"event: text\ndata: (.*)\n\n", body)]


def test_a_text_comes_with_what_was_likely_at_each_symbol(visited: Callable[..., Any], server: ServerProcess) -> None:
    events = events_of(server, model="bytes", prompt="the old", maxTokens=30, seed=4)
    fields = {"model": "bytes", "view": "writing", "text": "the old", "length": "30", "seed": "4"}
    with visited(server, query(**fields)) as page:
        page.get_by_role("textbox", name="Beginning").focus()
        page.keyboard.press("Control+Enter")
        page.get_by_text("30 symbols", exact=True).wait_for()
        symbols = page.locator(".written-text button")
        assert symbols.count() == len(events)
        assert percent(events[3]["probability"]) in symbols.nth(3).get_attribute("aria-label")
        symbols.nth(2).click()
        page.keyboard.press("ArrowRight")
        shown = page.locator(".choices .number").all_inner_texts()
        expected = [percent(choice["probability"]) for choice in events[3]["choices"]]
        assert shown[: len(expected)] == expected
        page.locator(".choices button:enabled").first.click()
        page.wait_for_url(re.compile("text=the.old.+"))
        page.get_by_text("30 symbols", exact=True).wait_for()


def test_writing_can_be_stopped(visited: Callable[..., Any], server: ServerProcess) -> None:
    with visited(server, query(model="bytes", view="writing", text="", length="2000")) as page:
        page.get_by_role("button", name="Write", exact=True).click()
        page.locator(".written-text button").first.wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Write", exact=True).wait_for()
        assert 0 < page.locator(".written-text button").count() < 2000


def test_how_far_a_model_looks_back_is_that_of_the_api(visited: Callable[..., Any], server: ServerProcess) -> None:
    text = "the old man and the sea and the boat and the fish and the old man in the boat"
    trace = json.loads(asked(server, "/api/text/trace", {"q": text, "model": "memory", "numRead": 48}))
    weights = [from_array(layer) for layer in trace["attention"]]
    remembered = len(trace["remembered"])
    assert remembered > 0
    with visited(server, query(model="memory", view="writing", text=text)) as page:
        page.locator(".reach-map canvas").wait_for()
        assert f"memory: {remembered} symbols" in page.get_by_role("region", name="How far").inner_text()
        share = weights[-1].mean(axis=0)[-1, :remembered].sum()
        assert f"{percent(share)} of its attention goes into the memory" in page.inner_text("main")
        assert page.locator(".strip .boundary").count() == 1
        first = trace["reach"][0][1]
        label = page.locator(".grid button").nth(1).get_attribute("aria-label")
        assert f"{percent(first['memory'])} in the memory" in label
        page.locator(".grid button").nth(1).focus()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("layer=0&head=1"))
        page.locator(".reach-map canvas").focus()
        page.keyboard.press("ArrowUp")
        assert page.inner_text(".reach-map .caption").endswith(f": {weights[0][1, -2, -1]:.3f}")
        curve = page.locator(".distances canvas")
        curve.focus()
        page.keyboard.press("Home")
        nearest = sum(weights[0][1, row, remembered + row] for row in range(48)) / 48
        assert curve.get_attribute("aria-valuetext") == f"0 back: {percent(nearest)} of the attention"


def test_a_model_without_a_memory_says_so(visited: Callable[..., Any], server: ServerProcess) -> None:
    with visited(server, query(model="bytes", view="writing", text="the old man")) as page:
        page.get_by_text("nothing is in the memory").wait_for()
        assert page.locator(".strip .boundary").count() == 0


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(("locale", "heading"), [("en-US", "Attention"), ("zh-CN", "注意力")])
def test_labels_fit_in_both_languages(
    visited: Callable[..., Any], server: ServerProcess, width: int, locale: str, heading: str
) -> None:
    fields = {"model": "labels", "view": "labels", "text": REVIEW * 3}
    with visited(server, query(**fields), width=width, locale=locale, color_scheme="dark") as page:
        page.get_by_role("heading", name=heading, exact=True).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(("locale", "button"), [("en-US", "Write"), ("zh-CN", "续写")])
def test_writing_fits_in_both_languages(
    visited: Callable[..., Any], server: ServerProcess, width: int, locale: str, button: str
) -> None:
    with visited(server, query(model="memory", view="writing", length="60"), width=width, locale=locale) as page:
        page.get_by_role("button", name=button, exact=True).click()
        page.locator(".written-text button").nth(59).wait_for()
        page.locator(".reach-map canvas").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
