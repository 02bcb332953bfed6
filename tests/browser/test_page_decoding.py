"""The view "decoding" in a real browser: what it shows is what the server says, and what one chooses really happens."""

import math
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from benchmarks.load import ServerProcess

from heedful.insight.wire import from_array
from tests.support.traced_sentence import asked, asked_about, layers_of

pytestmark = pytest.mark.browser
LONG = (
    "The two old friends walked slowly along the river, talked about the summer they had spent in the mountains, "
    "and wondered whether the small hotel near the lake was still open after all these years."
)
Visit = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="module")
def payload(bundled_server: ServerProcess) -> dict[str, Any]:
    return asked(bundled_server)


def rows(packed: dict[str, Any], head: int) -> np.ndarray[Any, Any]:
    """One head of a packed layer, or the mean of all."""
    flat = from_array(packed)
    return flat.mean(axis=0) if head < 0 else flat[head]


def spelled(text: str) -> str:
    return text.replace("▁", "") or "␣"


def percent(log_prob: float) -> str:
    value = 100 * math.exp(log_prob)
    return "< 0.1 %" if value < 0.05 else f"{value:.1f} %"


def minused(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def weights(page: Any, selector: str) -> list[float]:
    return [float(text.replace("−", "-")) for text in page.locator(f"{selector} small").all_inner_texts()]


def current(page: Any) -> int:
    """The number of the chip that is the current step."""
    return int(page.evaluate("[...document.querySelectorAll('button.chip')].findIndex(one => one.ariaCurrent)"))


def choose(page: Any, group: str, name: str) -> None:
    page.get_by_role("radiogroup", name=group, exact=True).get_by_role("radio", name=name, exact=True).click()


def says(page: Any, part: str) -> None:
    """The address follows the state, if not at once."""
    page.wait_for_function("(part) => location.search.includes(part)", arg=part)


def ready(page: Any) -> None:
    page.wait_for_selector(".tree g")


def test_every_number_is_the_one_the_server_gave(visited: Visit, bundled_server: ServerProcess, payload: Any) -> None:
    last = len(payload["target"]["tokens"]) - 1
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        assert page.inner_text(".outcome .target") == payload["target"]["text"]
        assert minused(payload["score"], 3) in page.inner_text(".outcome .facts")
        chips = page.locator("button.chip").all_inner_texts()
        assert [chip.split() for chip in chips] == [
            [spelled(token["text"]), *percent(step["logProb"]).split()]
            for token, step in zip(payload["target"]["tokens"], payload["steps"], strict=True)
        ]
        for step, layer, head in [(0, 1, -1), (3, 0, 2), (last, 1, 5)]:
            choose(page, "layer", str(layer + 1))
            choose(page, "head", "mean" if head < 0 else str(head + 1))
            page.get_by_role("slider").fill(str(step))
            assert current(page) == step
            cross, own = (rows(layers_of(payload, kind)[layer], head)[step] for kind in ("cross", "decoder"))
            assert weights(page, ".chips.source") == pytest.approx(cross, abs=6e-4)
            assert weights(page, ".chips.read") == pytest.approx(own[: step + 1], abs=6e-4)
            shown = [line.split("\t") for line in page.locator(".candidate").all_inner_texts()]
            top = payload["steps"][step]["top"]
            assert [re.sub(r"\s+", " ", " ".join(line)).strip() for line in shown][: len(top)] == [
                f"{rank + 1} {spelled(one['text'])} {percent(one['logProb'])}" for rank, one in enumerate(top)
            ]
            assert page.inner_text(".top .written") == spelled(payload["target"]["tokens"][step]["text"])
        says(page, f"step={last}")


def test_the_source_can_be_shaded_by_attribution(visited: Visit, bundled_server: ServerProcess) -> None:
    expected = asked_about(bundled_server, asked(bundled_server), "attribution")["attribution"]
    with visited(bundled_server, "?view=decoding&target=de&step=3", locale="en-US") as page:
        ready(page)
        page.get_by_role("radio", name="attribution").click()
        page.wait_for_function("() => !document.querySelector('.chips.source').innerText.includes('…')")
        assert weights(page, ".chips.source") == pytest.approx(expected[3], abs=6e-3)
        page.get_by_role("slider").fill("0")
        assert weights(page, ".chips.source") == pytest.approx(expected[0], abs=6e-3)


def test_it_plays_by_itself_and_stops_at_the_end(visited: Visit, bundled_server: ServerProcess) -> None:
    # Long, so that even a busy machine presses "Pause" before the end is reached.
    with visited(bundled_server, f"?view=decoding&target=de&text={LONG}", locale="en-US") as page:
        ready(page)
        last = page.locator("button.chip").count() - 1
        page.keyboard.press("p")
        page.wait_for_selector('button.chip:nth-child(3)[aria-current="step"]')
        page.get_by_role("button", name="Pause").click()
        stopped = current(page)
        page.wait_for_timeout(800)
        assert 2 <= current(page) == stopped
        page.locator("button.chip").nth(last - 1).click()
        page.get_by_role("button", name="Play").click()
        page.wait_for_selector(f'button.chip:nth-child({last + 1})[aria-current="step"]')
        page.get_by_role("button", name="Play").click()
        page.wait_for_selector('button.chip:nth-child(1)[aria-current="step"]')


def test_the_keyboard_is_enough(visited: Visit, bundled_server: ServerProcess, payload: Any) -> None:
    nodes = payload["beam"]["nodes"]
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        page.keyboard.press("ArrowLeft")
        assert current(page) == 0
        for _ in range(2):
            page.keyboard.press("ArrowRight")
        assert current(page) == 2
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Shift+ArrowUp")
        says(page, "layer=0&head=0")
        page.get_by_role("tree").focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowDown")
        below = [node for node in nodes if node["step"] == 1][1]
        assert page.get_by_role("tree").get_attribute("aria-activedescendant") == f"node-{below['id']}"
        assert current(page) == 1
        page.keyboard.press("ArrowLeft")
        assert page.get_by_role("tree").get_attribute("aria-activedescendant") == f"node-{below['parent']}"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")
        child = min(node["id"] for node in nodes if node["parent"] == below["parent"])
        assert page.get_by_role("tree").get_attribute("aria-activedescendant") == f"node-{child}"


def test_another_word_leads_to_another_translation(visited: Visit, bundled_server: ServerProcess, payload: Any) -> None:
    other = payload["steps"][0]["top"][1]
    expected = asked(bundled_server, prefixIds=[other["id"]])
    assert expected["target"]["text"] != payload["target"]["text"]
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        page.get_by_role("button", name=f"continue from here with “{spelled(other['text'])}”").click()
        page.locator(".outcome .target", has_text=expected["target"]["text"]).wait_for()
        assert page.inner_text(".outcome .target").startswith(spelled(other["text"]))
        assert page.locator("button.chip.forced").count() == 1
        assert "chosen by you" in page.get_attribute("button.chip.forced", "title")
        says(page, f"prefix={other['id']}")

        second = expected["steps"][2]["top"][1]
        page.locator("button.chip").nth(2).click()
        page.get_by_role("button", name=f"continue from here with “{spelled(second['text'])}”", exact=True).click()
        prefix = [token["id"] for token in expected["target"]["tokens"][:2]] + [second["id"]]
        page.locator(".origin", has_text="at step 3").wait_for()
        assert page.inner_text(".origin").startswith(
            f"goes on from “{spelled(second['text'])}”, which you chose at step 3"
        )
        assert page.locator("button.chip.forced").count() == 1
        assert "kept" in page.locator("button.chip").nth(1).get_attribute("title")
        again = asked(bundled_server, prefixIds=prefix)
        assert page.inner_text(".outcome .target") == again["target"]["text"]
        assert current(page) == 2

        page.get_by_role("button", name="let the model choose again").click()
        page.locator(".outcome .target", has_text=payload["target"]["text"]).wait_for()
        assert page.locator("button.chip.forced").count() == 0


def path_to(nodes: list[dict[str, Any]], node: dict[str, Any]) -> list[int]:
    return [*(path_to(nodes, nodes[node["parent"]]) if node["parent"] is not None else []), node["tokenId"]]


def said_of_all(page: Any) -> list[list[str]]:
    """What is said about each candidate, the whole and the reason of its end, while the pointer is over it."""
    said: list[list[str]] = page.evaluate(
        """async () => {
            const said = [];
            for (const node of document.querySelectorAll(".tree g")) {
                node.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
                await new Promise((go) => setTimeout(go));
                said.push([".said", ".said .reason"].map((one) => document.querySelector(one).innerText));
            }
            return said;
        }"""
    )
    return said


def test_every_candidate_says_its_numbers_and_its_end(
    visited: Visit, bundled_server: ServerProcess, payload: Any
) -> None:
    nodes, best = payload["beam"]["nodes"], payload["beam"]["nodes"][payload["beam"]["chosen"]]
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        assert page.locator(".tree g").count() == len(nodes)
        assert [int(one.get_attribute("data-node")) for one in page.locator(".tree g.best").all()] == [
            node["id"] for node in nodes if path_to(nodes, node) == path_to(nodes, best)[: node["step"] + 1]
        ]
        page.locator(f"#node-{nodes[-1]['id']}").hover()
        assert page.inner_text(".said .reason") == said_of_all(page)[-1][1]
        for node, (said, reason) in zip(nodes, said_of_all(page), strict=True):
            for number in (minused(node["tokenLogProb"], 2), minused(node["logProb"], 2), minused(node["score"], 3)):
                assert number in said
            if node["fate"] == "pruned":
                assert reason.startswith(f"Pruned at step {node['endedAt'] + 1}:")
                assert node["endedAt"] == node["step"]
            elif node["fate"] == "beaten":
                assert reason.startswith("It ended" if node["isEnd"] else "It was still open")
            else:
                assert reason.startswith("It stayed" if node["fate"] == "extended" else "The translation")
                is_barren = node["fate"] == "extended" and node["endedAt"] is not None
                assert ("none of its continuations" in reason) == is_barren
        page.mouse.move(5, 5)
        page.get_by_role("slider").fill(str(best["step"]))
        said = page.inner_text(".formula")
        penalty = ((5 + best["step"] + 1) / 6) ** payload["beam"]["lengthPenalty"]
        assert f"((5 + {best['step'] + 1}) ÷ 6)^{payload['beam']['lengthPenalty']:g} = {penalty:.4f}" in said
        assert f"{minused(best['logProb'], 4)} ÷ {penalty:.4f} = {minused(best['score'], 3)}" in said
        assert page.locator(".goes-on-from").count() == 0  # nothing follows an end


def test_the_search_goes_on_from_a_hypothesis(visited: Visit, bundled_server: ServerProcess, payload: Any) -> None:
    nodes = payload["beam"]["nodes"]
    pruned = next(node for node in nodes if node["fate"] == "pruned" and node["step"] == 2)
    expected = asked(bundled_server, prefixIds=path_to(nodes, pruned))
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        page.locator(f"#node-{pruned['id']}").click()
        page.get_by_role("button", name="Continue from this hypothesis").click()
        page.locator(".origin", has_text="at step 3").wait_for()
        assert page.inner_text(".outcome .target") == expected["target"]["text"]
        assert page.locator(".tree g").count() == len(expected["beam"]["nodes"])
        given = [node for node in expected["beam"]["nodes"] if node["isForced"]]
        assert [node["step"] for node in given] == [0, 1, 2]
        assert [int(one.get_attribute("data-node")) for one in page.locator(".tree g.forced").all()] == [
            node["id"] for node in given
        ]
        assert page.get_by_role("treeitem", name=re.compile(", given$")).count() == 3
        assert page.locator(".legend", has_text="given").count() == 1
        page.locator(f"#node-{given[0]['id']}").click()
        assert page.inner_text(".said .reason").endswith("It was given, not chosen.")


def test_what_was_given_is_said_in_chinese_and_only_where_something_was(
    visited: Visit, bundled_server: ServerProcess, payload: Any
) -> None:
    assert not any(node["isForced"] for node in payload["beam"]["nodes"])
    first = payload["beam"]["nodes"][0]["tokenId"]
    with visited(bundled_server, f"?view=decoding&target=de&prefix={first}", locale="zh-CN") as page:
        ready(page)
        assert page.get_by_role("treeitem", name=re.compile("给定$")).count() == 1
        assert page.locator(".legend", has_text="给定").count() == 1
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        assert page.locator(".legend .forced").count() == 0


def test_the_beam_can_be_narrowed_to_one(visited: Visit, bundled_server: ServerProcess) -> None:
    expected = asked(bundled_server, beam=1)
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        choose(page, "beam", "1")
        page.get_by_text("Beam of 1:").wait_for()
        assert page.locator(".tree g").count() == len(expected["beam"]["nodes"])
        assert page.locator(".tree g.best").count() == len(expected["steps"])
        says(page, "beam=1")


def test_a_long_search_is_drawn_once(visited: Visit, bundled_server: ServerProcess) -> None:
    with visited(bundled_server, f"?view=decoding&target=de&text={LONG}", locale="en-US", width=390) as page:
        ready(page)
        last = page.locator("button.chip").count() - 1
        assert page.locator(".tree g").count() > 8 * last
        page.evaluate(
            """() => {
                window.changes = [];
                const watch = (records) => window.changes.push(...records.map((one) => one.target.tagName));
                new MutationObserver(watch).observe(
                    document.querySelector(".tree svg"),
                    { subtree: true, childList: true, attributes: true, characterData: true },
                );
            }"""
        )
        page.locator("button.chip").nth(last).click()
        page.wait_for_function(
            """() => {
                const place = (one) => document.querySelector(one).getBoundingClientRect();
                const [box, now] = [place(".tree"), place(".tree .now")];
                return now.left >= box.left && now.right <= box.right + 1;
            }"""
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert set(page.evaluate("window.changes")) == {"rect", "path"}
        assert len(page.evaluate("window.changes")) <= 8  # the column, the ring and the trail; no candidate


@pytest.mark.parametrize("width", [1440, 390])
def test_it_speaks_chinese_and_fits(visited: Visit, bundled_server: ServerProcess, payload: Any, width: int) -> None:
    pruned = next(node for node in payload["beam"]["nodes"] if node["fate"] == "pruned" and node["step"] == 0)
    with visited(bundled_server, "?view=decoding&target=de", width=width, locale="zh-CN", color_scheme="dark") as page:
        ready(page)
        assert page.locator("section h2").all_inner_texts() == ["逐个词元", "搜索", "提前猜测"]
        page.locator(f"#node-{pruned['id']}").hover()
        assert page.inner_text(".said .reason").startswith(f"在第 {pruned['endedAt'] + 1} 步被剪去")
        assert not re.search(r"[a-z]{3,} [a-z]{3,}", page.inner_text(".said .facts") + page.inner_text(".legend"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="播放").click()
        page.wait_for_selector('button.chip:nth-child(2)[aria-current="step"]')


def test_as_many_stay_in_the_beam_as_it_holds(visited: Visit, bundled_server: ServerProcess, payload: Any) -> None:
    nodes = payload["beam"]["nodes"]
    first_end = min(node["step"] for node in nodes if node["isEnd"])
    assert first_end > 2
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        for step in range(first_end):
            inside = [node["id"] for node in nodes if node["step"] == step and node["fate"] == "extended"]
            assert len(inside) == 4
            assert all(page.locator(f"#node-{id_}.extended").count() == 1 for id_ in inside)


def test_a_step_is_announced(visited: Visit, bundled_server: ServerProcess, payload: Any) -> None:
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        ready(page)
        page.keyboard.press("ArrowRight")
        token = spelled(payload["target"]["tokens"][1]["text"])
        said = page.locator('.unseen[aria-live="polite"]', has_text=f"step 2 of {len(payload['steps'])}: “{token}”")
        said.wait_for(state="attached")
        assert page.get_attribute(".outcome .target", "aria-live") == "polite"
