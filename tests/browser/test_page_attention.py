"""The view "attention" in a real browser: its numbers are the server's, and mouse and keyboard reach all of it."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qs, quote

import numpy as np
import pytest
from benchmarks.load import ServerProcess

from heedful.insight.wire import from_array
from tests.support.traced_sentence import asked, asked_about, layers_of

pytestmark = pytest.mark.browser
IN_PIECES = "The unemployed photographers misunderstood the strange announcement."
Visit = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="module")
def payload(bundled_server: ServerProcess) -> dict[str, Any]:
    return asked(bundled_server)


def shown(page: Any) -> Any:
    """The page, once it shows a map."""
    page.wait_for_selector(".heat canvas")
    page.wait_for_selector(".stale", state="detached")
    return page


def state(page: Any) -> dict[str, str]:
    """What the address says, once it has followed: it changes a few times in a second at most."""
    page.wait_for_timeout(200)
    return {name: values[0] for name, values in parse_qs(page.evaluate("location.search.slice(1)")).items()}


WALK = """async (canvas, [rows, columns]) => {
    const press = async (key) => {
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        await new Promise((done) => setTimeout(done));
        return document.querySelector(".caption.value").textContent.split(": ").at(-1);
    };
    const values = Array.from({ length: rows }, () => Array(columns));
    for (let row = 0; row < rows; row++) {
        const isThere = row % 2 === 0;
        values[row][isThere ? 0 : columns - 1] = await press("ArrowDown");
        for (let number = 1; number < columns; number++) {
            const column = isThere ? number : columns - 1 - number;
            values[row][column] = await press(isThere ? "ArrowRight" : "ArrowLeft");
        }
    }
    return values;
}"""


def walk(page: Any, rows: int, columns: int) -> np.ndarray[Any, Any]:
    """Read the whole heat map with the arrow keys, row by row there and back; what is masked is nothing."""
    values = page.eval_on_selector(".heat canvas", WALK, [rows, columns])
    return np.array([[np.nan if value == "masked" else float(value) for value in row] for row in values])


def pressed(page: Any) -> list[str]:
    """The names of the buttons of the head strip that are on."""
    names: list[str] = page.locator('.heads [aria-pressed="true"]').all_inner_texts()
    return names


@pytest.mark.parametrize(("kind", "layer", "head"), [("encoder", 0, 2), ("decoder", 1, 0), ("cross", 1, -1)])
def test_the_weights_on_screen_are_the_payloads(
    bundled_server: ServerProcess, visited: Visit, payload: dict[str, Any], kind: str, layer: int, head: int
) -> None:
    heads = from_array(layers_of(payload, kind)[layer])
    weights = heads.mean(axis=0) if head < 0 else heads[head]
    with visited(bundled_server, f"?view=attention&kind={kind}&layer={layer}&head={head}") as page:
        values = walk(shown(page), *weights.shape)
    masked = np.triu(np.ones_like(weights), 1) > 0 if kind == "decoder" else np.zeros_like(weights) > 0
    assert (np.isnan(values) == masked).all()
    np.testing.assert_allclose(values[~masked], weights[~masked], atol=0.00051)


def test_words_without_symbols_are_the_alignment_and_the_page_says_what_it_did(
    bundled_server: ServerProcess, visited: Visit
) -> None:
    alignment = asked(bundled_server, q=IN_PIECES)["alignment"]
    assert any(word["end"] - word["first"] > 1 for word in alignment["source"] + alignment["target"])
    with visited(bundled_server, f"?view=attention&text={quote(IN_PIECES)}") as page:
        tokens = shown(page).locator(".column.left button").count()
        assert page.locator(".notes").count() == 0
        page.get_by_label("whole words").check()
        page.get_by_label("hide symbols").check()
        assert state(page)["units"] == "words"
        assert state(page)["symbols"] == "hidden"
        assert page.locator(".column.left button").all_inner_texts() == [word["text"] for word in alignment["target"]]
        assert page.locator(".column.left button").count() < tokens
        assert "added over the pieces looked at and averaged" in page.inner_text(".notes")
        assert "scaled to 1" in page.inner_text(".notes")
        values = walk(page, len(alignment["target"]), len(alignment["source"]))
    np.testing.assert_allclose(values, alignment["weights"], atol=0.01)


def test_a_cell_opens_into_the_steps_of_its_weight(
    bundled_server: ServerProcess, visited: Visit, payload: dict[str, Any]
) -> None:
    with visited(bundled_server, "?view=attention&kind=cross&layer=1&head=1") as page:
        box = shown(page).locator(".heat canvas").bounding_box()
        with page.expect_response("**/api/trace/cell") as answered:
            page.mouse.click(box["x"] + box["width"] - 40, box["y"] + box["height"] - 20)
        page.wait_for_selector(".cell .steps")
        cell = answered.value.json()
        query, key = np.array(cell["query"]), np.array(cell["key"])
        assert cell["total"] == pytest.approx(query @ key, abs=0.01)  # query and key travel in 4 digits
        assert cell["scaled"] == pytest.approx(cell["total"] / math.sqrt(cell["dim"]), abs=1e-4)
        exponentials = np.exp(np.array(cell["rowScores"]))
        np.testing.assert_allclose(cell["rowWeights"], exponentials / exponentials.sum(), atol=1e-5)
        row = from_array(layers_of(payload, "cross")[1])[1, -1]
        np.testing.assert_allclose(cell["rowWeights"], row, atol=0.003)
        steps = {name: page.inner_text(f".steps .{name} output") for name in ("total", "scaled", "mask", "softmax")}
        assert [float(text.replace("−", "-")) for text in steps.values()] == pytest.approx(
            [cell["total"], cell["scaled"], cell["scaled"], cell["rowWeights"][-1]], abs=0.00051
        )
        assert page.locator(".vectors svg").nth(0).locator("rect").count() == cell["dim"]
        assert page.locator(".row-scores tbody tr").count() == len(payload["source"]["tokens"])
        assert page.get_attribute(".row-scores tbody tr:last-child", "class") == "chosen"
        page.keyboard.press("Escape")
        page.wait_for_selector(".cell", state="detached")
        assert "cell" not in state(page)


def test_the_keyboard_opens_a_masked_cell(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=attention&kind=decoder&head=0") as page:
        shown(page).focus(".heat canvas")
        for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
            page.keyboard.press(key)
        page.wait_for_selector(".cell .steps")
        assert state(page)["cell"] == "0,2"
        assert page.inner_text(".steps .mask output") == "−∞"
        assert page.inner_text(".steps .softmax output") == "0.0000"
        assert "masked" in page.inner_text(".row-scores tr.chosen")


def test_among_several_heads_the_one_that_looks_most_is_opened(
    bundled_server: ServerProcess, visited: Visit, payload: dict[str, Any]
) -> None:
    head = int(from_array(layers_of(payload, "cross")[1])[:, 2, 3].argmax())
    with visited(bundled_server, "?view=attention&kind=cross&layer=1&cell=2,3") as page:
        page.wait_for_selector(".cell .steps")
        assert f"head {head + 1} (which looks there most)" in page.inner_text(".cell header")


def test_a_token_is_held_until_it_is_released(
    bundled_server: ServerProcess, visited: Visit, payload: dict[str, Any]
) -> None:
    with visited(bundled_server, "?view=attention") as page:
        token = shown(page).locator(".column.left button").nth(4)
        token.hover()
        assert page.locator(".column.right button[style*=rgb]").count() > 0
        row = from_array(layers_of(payload, "cross")[-1]).mean(axis=0)[4]
        most = payload["source"]["tokens"][int(row.argmax())]["text"].lstrip("▁")
        assert page.inner_text(".told").startswith(f"{token.inner_text()} → {most} {row.max():.2f}")
        token.click()
        page.mouse.move(5, 5)
        assert token.get_attribute("aria-pressed") == "true"
        assert (state(page)["held"], state(page)["step"]) == ("4", "4")
        assert token.inner_text() in page.inner_text(".beside h3")
        assert page.locator(".column.right button[style*=rgb]").count() > 0
        page.reload()
        assert shown(page).locator(".column.left button").nth(4).get_attribute("aria-pressed") == "true"
        page.keyboard.press("ArrowRight")
        assert page.locator(".column.left button").nth(5).get_attribute("aria-pressed") == "true"
        page.locator(".column.left button").nth(5).click()
        page.mouse.move(5, 5)
        assert "held" not in state(page)
        page.locator(".column.right button").nth(1).hover()
        assert page.locator(".column.left button[style*=rgb]").count() > 0


def test_heads_are_added_removed_and_shown_alone(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=attention") as page:
        strip = shown(page).locator(".heads button")
        assert pressed(page) == ["mean"]
        strip.nth(3).click()
        assert (pressed(page), state(page)["head"]) == (["2"], "1")
        strip.nth(6).click(delay=20)
        assert (pressed(page), state(page)["heads"]) == (["2", "5"], "1,4")
        assert "heads 2, 5" in page.inner_text(".notes")
        assert page.locator('.grid [aria-checked="true"]').count() == 2
        strip.nth(3).click()
        page.wait_for_timeout(600)  # two clicks within half a second would be a double-click
        strip.nth(6).click()
        assert pressed(page) == ["5"]  # the last stays
        strip.nth(4).dblclick()
        assert pressed(page) == ["3"]
        page.wait_for_timeout(600)
        strip.nth(4).dblclick()
        assert pressed(page)[0] == "all"
        strip.nth(0).click()
        strip.nth(5).focus()
        page.keyboard.press("Shift+Enter")
        assert pressed(page) == ["4"]
        page.locator(".grid button").nth(1).click()
        assert (pressed(page), state(page)["layer"]) == (["2"], "0")


def test_the_keyboard_chooses_use_layer_head_and_step(
    bundled_server: ServerProcess, visited: Visit, payload: dict[str, Any]
) -> None:
    with visited(bundled_server, "?view=attention") as page:
        shown(page).keyboard.press("1")
        assert page.get_by_role("radio", name="Encoder").get_attribute("aria-checked") == "true"
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Shift+ArrowUp")
        page.keyboard.press("ArrowRight")
        layer = len(layers_of(payload, "encoder")) - 2
        assert [state(page)[name] for name in ("kind", "head", "layer", "step")] == ["encoder", "1", str(layer), "1"]
        page.focus('.grid [tabindex="0"]')
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        assert (state(page)["layer"], state(page)["head"]) == (str(layer - 1), "1")
        assert "tokens on average" in page.inner_text(".said-head")
        page.locator(".field").focus()
        page.keyboard.press("2")
        assert state(page)["kind"] == "encoder"


def test_attribution_stands_beside_attention(
    bundled_server: ServerProcess, visited: Visit, payload: dict[str, Any]
) -> None:
    expected = asked_about(bundled_server, asked(bundled_server), "attribution")["attribution"][4]
    attention = from_array(layers_of(payload, "cross")[-1]).mean(axis=0)[4]
    with visited(bundled_server, "?view=attention&held=4") as page:
        page.wait_for_selector(".weighed.attribution")
        assert "not by itself an explanation" in page.inner_text(".beside .note")
        values = page.locator(".weighed.attribution small").all_inner_texts()
        np.testing.assert_allclose([float(one.replace("−", "-")) for one in values], expected, atol=0.00051)
        values = page.locator(".weighed.attention small").all_inner_texts()
        np.testing.assert_allclose([float(one) for one in values], attention, atol=0.0051)


def test_the_picture_can_be_saved(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=attention") as page:
        with shown(page).expect_download() as saved:
            page.get_by_role("button", name="Save as PNG").click()
        assert saved.value.suggested_filename == "attention.png"
        assert saved.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_an_address_that_says_too_much_is_brought_within_bounds(bundled_server: ServerProcess, visited: Visit) -> None:
    query = "?view=attention&kind=sideways&layer=99&head=-7&heads=0,0,77&held=500&step=4000&mass=9&cell=300,2&units=x"
    with visited(bundled_server, query) as page:
        shown(page)
        assert pressed(page) == ["mean"]
        assert page.get_by_role("radio", name="2", exact=True).get_attribute("aria-checked") == "true"
        assert page.locator(".cell").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_speaks_chinese_on_a_phone(bundled_server: ServerProcess, visited: Visit, scheme: str) -> None:
    query = "?view=attention&kind=decoder&cell=3,1&heads=0,1&units=words"
    with visited(bundled_server, query, width=390, locale="zh-CN", color_scheme=scheme) as page:
        page.wait_for_selector(".cell .steps")
        page.wait_for_selector(".weighed.attribution")
        assert page.inner_text("section h2") == "注意力"
        assert page.inner_text(".heat .caption >> nth=0") == "正在写的词元 ↓ 查看此前已写出的 →"
        assert "它最关注这里" in page.inner_text(".cell header")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_tap_on_a_phone_opens_the_cell_under_the_finger(bundled_server: ServerProcess, visited: Visit) -> None:
    with visited(bundled_server, "?view=attention", width=390, locale="en-US", has_touch=True, is_mobile=True) as page:
        for down, right in [(0.35, 0.5), (0.5, 0.7), (0.65, 0.45), (0.8, 0.9)]:
            shown(page).locator(".heat canvas").scroll_into_view_if_needed()
            box = page.locator(".heat canvas").bounding_box()
            page.touchscreen.tap(box["x"] + right * box["width"], box["y"] + down * box["height"])
            page.wait_for_selector(".cell h3")
            tapped = page.inner_text(".caption.value").split(": ")[0].split(" → ")
            assert page.inner_text(".cell h3") == "“{}” looks at “{}”".format(*tapped)
            moved = page.locator(".heat canvas").bounding_box()
            assert moved["y"] == box["y"]
            page.keyboard.press("Escape")
            page.wait_for_selector(".cell", state="detached")
