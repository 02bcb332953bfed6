"""The view "learn" in a real browser: every chapter opens, and what it says of the bundled model is true of it.

The chapters choose their heads by rules (web/chapters/rules.js). Where a new bundled model breaks what a chapter says,
the message names the chapter: another sentence in its file, found with the page's view "attention", mends it.
"""

import functools
import json
import math
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from benchmarks.digit_networks import START, DigitNetwork, exact
from benchmarks.load import ServerProcess

import heedful
from heedful.insight.wire import from_array
from tests.support.traced_sentence import asked as trace_of
from tests.support.traced_sentence import asked_about, layers_of

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]
NUM_CHAPTERS = 22
PAGE = Path(heedful.__file__).parent / "serving" / "web"
KEY, STATION = "I have lost my key.", "Where is the next station, please?"

# All figures of all chapters, each with its chapter and what the page's own rules find for it.
FIGURES = """async () => {
  const { CHAPTERS } = await import("/web/chapters/index.js");
  const { headBy } = await import("/web/chapters/rules.js");
  const { layersOf } = await import("/insight/drawing.js");
  const found = [];
  const traces = new Map();
  const traced = async (body) => {
    const headers = { "content-type": "application/json" };
    const data = await (await fetch("/api/trace", { method: "POST", headers, body })).json();
    return { data, layers: layersOf(data) };
  };
  for (const { name, steps } of CHAPTERS) {
    for (const step of steps) {
      const figure = step.figure ?? step.exercise?.figure;
      if (!figure?.text || !figure.target) continue;
      const rules = figure.rules ?? (figure.rule ? [figure.rule] : []);
      const body = JSON.stringify({ q: figure.text, source: "en", target: figure.target });
      if (!traces.has(body)) traces.set(body, await traced(body));
      const heads = rules.map((rule) => ({ rule, ...headBy(rule, traces.get(body)) }));
      found.push({ chapter: name, figure, heads });
    }
  }
  return found;
}"""


@functools.cache
def asked(server: ServerProcess, text: str, **fields: Any) -> dict[str, Any]:
    """What the server says about a sentence when no page is between; asked once."""
    return trace_of(server, q=text, source="en", **fields)


@pytest.fixture(scope="module")
def figures(chromium: Any, bundled_server: ServerProcess) -> list[dict[str, Any]]:
    """The figures of all chapters, and the heads the page's rules find for them."""
    page = chromium.new_page()
    page.goto(bundled_server.url)
    found: list[dict[str, Any]] = page.evaluate(FIGURES)
    page.close()
    return found


def spelled(tokens: list[dict[str, Any]]) -> list[str]:
    return [token["text"].replace("▁", "") for token in tokens]


def looks_at(payload: dict[str, Any], head: dict[str, Any], word: str) -> str:
    """The token one head looks at most from the row of a word."""
    rows = payload["source" if head["kind"] == "encoder" else "target"]["tokens"]
    weights = from_array(layers_of(payload, head["kind"])[head["layer"]])[head["head"]]
    return spelled(payload["source"]["tokens"])[int(weights[spelled(rows).index(word)].argmax())]


# The figures among the given elements in which nothing can be seen: no row, no line, no canvas of more than one colour.
UNPAINTED = """(figures) => {
  const drawn =
    ".bars i, .sums td, .links path, .segments circle, .orders dd, .found .chip, .squares span, .flow .stage, "
    + "[data-network] .chip, .chart polyline, [data-race], [data-lesson]";
  const isMixed = (canvas) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 1;
  };
  return figures.filter((figure) => !figure.classList.contains("covered")).filter((figure) =>
    figure.getBoundingClientRect().height < 100 || figure.querySelector(".refusal")
    || !(figure.querySelector(drawn) || [...figure.querySelectorAll("canvas")].some(isMixed)),
  ).map((figure) => figure.outerHTML);
}"""


def has_right_and_wrong(page: Any) -> bool:
    """Whether the open chapter asks something; its answers must be neither all right nor all wrong."""
    if page.locator(".exercise").count() == 0:
        return False
    page.wait_for_selector(".exercise .chip")
    verdicts = set()
    for option in page.locator(".exercise button.chip").all():
        option.click()
        verdicts.add(page.locator(".exercise .verdict").get_attribute("data-right"))
    assert verdicts == {"true", "false"}, page.locator("article h1").inner_text()
    return True


def test_every_chapter_shows_a_figure_beside_each_paragraph(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=learn") as page:
        titles, exercises = set(), 0
        for chapter in range(NUM_CHAPTERS):
            titles.add(page.locator("article h1").inner_text())
            assert f"chapter={chapter}" in page.url or chapter == 0
            for step in range(page.locator(".paragraph").count()):
                assert page.locator(".paragraph[aria-current=step] .at").inner_text() == str(step + 1)
                page.wait_for_selector("aside .figure[data-ready=true]")
                assert page.eval_on_selector_all("aside .figure", UNPAINTED) == []
                page.keyboard.press("j")
            exercises += has_right_and_wrong(page)
            page.keyboard.press("n")
        assert len(titles) == NUM_CHAPTERS
        assert exercises >= NUM_CHAPTERS - 2


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_every_chapter_is_there_in_chinese(
    bundled_server: ServerProcess, visited: Visit, width: int, scheme: str
) -> None:
    with visited(bundled_server, "?view=learn", width=width, locale="zh-CN", color_scheme=scheme) as page:
        for chapter in range(NUM_CHAPTERS):
            page.locator(".contents [aria-current=page] span", has_text=str(chapter + 1)).wait_for()
            page.locator(".figure[aria-busy=true]").first.wait_for(state="detached")
            assert page.eval_on_selector_all(".figure", UNPAINTED) == []
            for text in page.locator("article h1, .paragraph > div > p:first-child").all_inner_texts():
                assert any("\u4e00" <= letter <= "\u9fff" for letter in text), text
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.keyboard.press("n")


def test_keys_and_links_lead_through_the_chapters(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=learn&chapter=3") as page:
        first = page.locator("article h1").inner_text()
        page.keyboard.press("n")
        page.wait_for_url("**chapter=4**")
        page.keyboard.press("b")
        assert page.locator("article h1").inner_text() == first
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.locator(".paragraph[aria-current=step] .at").inner_text() == "3"
        page.keyboard.press("k")
        assert page.locator(".paragraph[aria-current=step] .at").inner_text() == "2"
        page.locator(".contents a").nth(7).click()
        assert "chapter=7" in page.url
        page.locator(".moves .next").click()
        assert "chapter=8" in page.url
        page.go_back()
        assert "chapter=7" in page.url
        assert page.locator(".contents [aria-current=page] span").inner_text() == "8"


def test_scrolling_reads_on(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=learn&chapter=3") as page:
        page.wait_for_selector("aside .figure[data-ready=true]")
        count = page.locator(".paragraph").count()
        page.mouse.move(500, 500)
        page.mouse.wheel(0, 5000)
        page.locator(".paragraph[aria-current=step] .at", has_text=str(count)).wait_for()


def test_a_figure_opens_in_its_view(
    bundled_server: ServerProcess, visited: Visit, figures: list[dict[str, Any]]
) -> None:
    payload = asked(bundled_server, KEY)
    with visited(bundled_server, "?view=learn&chapter=3") as page:
        page.wait_for_selector("aside .figure[data-ready=true]")
        link = page.locator("aside .open")
        promised = parse_qs(urlsplit(link.get_attribute("href")).query)
        link.click()
        page.wait_for_url("**view=attention**")
        assert parse_qs(urlsplit(page.url).query) == promised
    heads = next(one for one in figures if one["chapter"] == "attention")["heads"]
    row = spelled(payload["target"]["tokens"]).index("Schlüssel")
    assert promised["text"] == [KEY]
    assert promised["target"] == ["de"]
    assert promised["layer"] == [str(heads[0]["layer"])]
    assert promised["head"] == [str(heads[0]["head"])]
    assert promised["held"] == [str(row)]


def test_an_exercise_takes_the_right_and_refuses_the_wrong(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=learn&chapter=3") as page:
        exercise = page.locator(".exercise")
        exercise.locator(".at").click()
        page.wait_for_selector("aside .covered")
        exercise.get_by_role("button", name="key", exact=True).click()
        assert exercise.locator(".verdict").get_attribute("data-right") == "false"
        assert page.locator("aside .covered").count() == 1
        exercise.get_by_role("button", name="lost", exact=True).focus()
        page.keyboard.press("Enter")
        assert exercise.locator(".verdict").get_attribute("data-right") == "true"
        page.wait_for_selector("aside .figure[data-figure=lines] .links path")


def test_heads_really_do_what_the_chapters_say(bundled_server: ServerProcess, figures: list[dict[str, Any]]) -> None:
    heads = {}
    for one in figures:
        chapter, figure = one["chapter"], one["figure"]
        payload = asked(bundled_server, figure["text"])
        tokens = spelled(payload["source"]["tokens"]) + spelled(payload["target"]["tokens"])
        row = figure.get("row")
        assert row is None or row in tokens, f"chapter {chapter!r}: no token {row!r} in {tokens}; name one of these."
        if figure["kind"] != "lines":
            continue
        for head in one["heads"]:
            heads[chapter, head["rule"]] = head
            assert head["isClear"], (
                f"chapter {chapter!r}: no head of the bundled model follows {head['rule']!r} on {figure['text']!r}; "
                f"the best has {head['part']:.2f}. Choose a sentence where one does, or say less."
            )
    # Once more without the page's rules: the same parts, computed here.
    station = asked(bundled_server, STATION)
    for rule, offset in (("mostPrevious", -1), ("mostNext", 1)):
        head = heads["heads", rule]
        weights = from_array(layers_of(station, "encoder")[head["layer"]])
        diagonals = [float(np.diagonal(one, offset).mean()) for one in weights]
        assert math.isclose(diagonals[head["head"]], head["part"], abs_tol=1e-4)
        assert max(diagonals) == diagonals[head["head"]]
    first = heads["heads", "mostFirst"]
    weights = from_array(layers_of(station, "encoder")[first["layer"]])
    assert math.isclose(float(weights[first["head"], :, 0].mean()), first["part"], abs_tol=1e-4)
    key, aligning = asked(bundled_server, KEY), heads["attention", "bestAligning"]
    for written, read in (("meinen", "my"), ("Schlüssel", "key"), ("verloren", "lost")):
        assert looks_at(key, aligning, written) == read, f"chapter 'attention': {written!r} does not look at {read!r}."
    assert looks_at(station, heads["heads", "mostPrevious"], "station") == "next", "chapter 'heads': the exercise"


def test_what_is_said_of_order_loss_and_search_is_true(bundled_server: ServerProcess) -> None:
    assert asked(bundled_server, KEY)["target"]["text"] == "Ich habe meinen Schlüssel verloren.", "chapters on the key"
    bites = [
        asked(bundled_server, text)["target"]["text"] for text in ("The dog bites the man.", "The man bites the dog.")
    ]
    assert bites[0] != bites[1], "chapter 'positions': the order of words makes no difference."

    reference = asked(bundled_server, KEY, hypothesis="Ich habe meinen Hund verloren.")
    losses = [-step["logProb"] for step in reference["steps"]]
    assert spelled(reference["target"]["tokens"])[int(np.argmax(losses))] == "Hund", "chapter 'training': the exercise"

    novel = "She is bored with this novel."
    greedy, beam = asked(bundled_server, novel, beam=1), asked(bundled_server, novel, beam=5)
    ids = [[token["id"] for token in found["target"]["tokens"]] for found in (greedy, beam)]
    assert ids[0] != ids[1], "chapter 'search': greedy search and the beam agree on this sentence; choose another."
    assert greedy["logProb"] < beam["logProb"], "chapter 'search': the beam's translation is not the more probable one."
    parting = next(at for at, (one, other) in enumerate(zip(*ids, strict=False)) if one != other)
    assert greedy["steps"][parting]["logProb"] > beam["steps"][parting]["logProb"]

    tree = asked(bundled_server, "Wait a second.", beam=5)["beam"]
    ended = [(node["logProb"], node["step"] + 1) for node in tree["nodes"] if node["isEnd"]]
    best = {
        alpha: max((log_prob / ((5 + length) / 6) ** alpha, length) for log_prob, length in ended) for alpha in (0, 3)
    }
    assert best[0][1] == min(length for _, length in ended), "chapter 'search': the shortest is not first at α = 0."
    assert best[3][1] > best[0][1], "chapter 'search': the length penalty changes nothing on this sentence."


def test_most_heads_can_be_spared(bundled_server: ServerProcess) -> None:
    for text in (STATION, KEY):
        changes = asked_about(bundled_server, asked(bundled_server, text), "heads")["heads"]
        lost = np.concatenate([-np.array(changes[kind]).ravel() for kind in ("encoder", "decoder", "cross")])
        assert np.median(lost) < lost.max() / 10, f"chapter 'seeing': without any head {text!r} loses much."


def numbers_in(page: Any) -> list[list[float]]:
    """The numbers of the table in the figure that is shown, row by row."""
    rows = page.locator("aside .sums tbody tr").all_inner_texts()
    return [[float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", row.replace("\u2212", "-"))] for row in rows]


def test_a_film_is_recommended_by_its_dot_product(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=learn&chapter=4") as page:
        page.wait_for_selector("aside [data-figure=taste]")
        for _ in range(2):  # as it is, and with another taste
            viewer = [float(slider.input_value()) for slider in page.locator("aside input[type=range]").all()]
            *films, shown = np.array(numbers_in(page)).T
            sums = np.array(viewer) @ np.array(films)
            np.testing.assert_allclose(shown, sums, atol=0.006)
            names = page.locator("aside .sums tbody th").all_inner_texts()
            assert names[int(np.argmax(sums))] in page.inner_text("aside figcaption")
            page.locator("aside input[type=range]").first.focus()
            page.keyboard.press("Home")
        assert np.argmax(sums) != 0, "who hates action is not sent to The Chase"


def test_a_soft_look_up_finds_a_sum_of_values(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=learn&chapter=5") as page:
        page.wait_for_selector("aside [data-figure=lookup]")
        for length in ("End", "Home"):
            page.locator("aside input[type=range]").nth(1).focus()
            page.keyboard.press(length)
            sharpness = 80 if length == "End" else 0
            rows = numbers_in(page)
            angles = np.array([(12 - row[0]) * math.tau / 24 for row in rows])
            weights = np.exp(sharpness * (np.cos(angles) - 1))
            weights /= weights.sum()
            np.testing.assert_allclose([row[3] for row in rows], weights, atol=0.001)
            found = float(weights @ [row[4] for row in rows])
            assert f"{found:.1f}" in page.inner_text("aside figcaption")


def test_a_turned_hand_points_at_the_later_position(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=learn&chapter=10") as page:
        page.locator(".paragraph").nth(3).click()
        page.wait_for_selector("aside [data-figure=circle] .kept")
        rate = 10000 ** (-80 / 512)
        rows = numbers_in(page)
        assert [row[0] for row in rows] == [5, 9]
        for position, sine, cosine in rows:
            assert (sine, cosine) == pytest.approx((math.sin(position * rate), math.cos(position * rate)), abs=0.006)
        said = page.inner_text("aside figcaption").replace("\u2212", "-")
        assert said.count(f"{math.sin(9 * rate):.2f}") == 2


def test_the_digit_networks_write_in_a_browser_what_they_write_in_torch(
    bundled_server: ServerProcess, visited: Visit
) -> None:
    held = json.loads((PAGE / "chapters" / "digits.json").read_text(encoding="utf-8"))
    wanted = {}
    for name, looks_back in (("vector", False), ("attention", True)):
        model = DigitNetwork(looks_back=looks_back)
        model.load_state_dict({key: torch.tensor(from_array(one)) for key, one in held[name]["weights"].items()})
        for length in (3, 12):
            assert exact(model.eval(), length) == pytest.approx(held[name]["exact"][length - 1], abs=0.01)
        written = torch.tensor([[START]])
        for _ in range(12):
            logits = model(torch.tensor([[int(digit) for digit in "314159265358"]]), written)
            written = torch.cat([written, logits[:, -1:].argmax(dim=-1)], dim=1)
        wanted[name] = "".join(str(digit) for digit in written[0, 1:].tolist() if digit < START)
    assert wanted["attention"] == "314159265358" != wanted["vector"]
    with visited(bundled_server, "?view=learn&chapter=2") as page:
        for name, digits in wanted.items():
            page.wait_for_selector(f"aside [data-network={name}] .chip")
            shown = "".join(page.locator(f"aside [data-network={name}] .chip").all_inner_texts())
            assert shown.replace("?", "")[: len(digits)] == digits
        page.locator("aside .figure input").fill("42")
        page.wait_for_function("document.querySelectorAll('aside [data-network=vector] .chip').length === 2")
        assert page.locator("aside [data-network=vector] .chip").all_inner_texts() == ["4", "2"]
