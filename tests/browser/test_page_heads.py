"""The view "heads" in a real browser: heads are switched off, and what the page says is what the server found."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from tests.support.page_marks import marks_what_differs
from tests.support.traced_sentence import asked, asked_about

pytestmark = pytest.mark.browser

OFF = [["encoder", 0, 2], ["cross", 1, 3]]
WEIGHED = ".ranking li"
DONE = '.outcome[aria-busy="false"] .without .verdict'


@pytest.fixture(scope="module")
def trace(bundled_server: ServerProcess) -> dict[str, Any]:
    """What the server says about the sentence when no page is between."""
    return asked(bundled_server)


@pytest.fixture(scope="module")
def changes(bundled_server: ServerProcess, trace: dict[str, Any]) -> dict[str, Any]:
    """What it says the translation loses without each head."""
    found: dict[str, Any] = asked_about(bundled_server, trace, "heads")["heads"]
    return found


def signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.3f}"


@pytest.mark.parametrize(("width", "scheme", "locale"), [(1440, "light", "en-US"), (390, "dark", "zh-CN")])
def test_all_heads_are_there_and_fit(
    bundled_server: ServerProcess,
    visited: Callable[..., Any],
    trace: dict[str, Any],
    width: int,
    scheme: str,
    locale: str,
) -> None:
    entropy = trace["entropy"]
    with visited(bundled_server, "?view=heads", width=width, color_scheme=scheme, locale=locale) as page:
        page.wait_for_selector(WEIGHED, timeout=30_000)
        assert page.locator(".head-use [role=switch]").count() == sum(
            len(row) for kind in entropy.values() for row in kind
        )
        assert page.locator('[role=switch][aria-checked="false"]').count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.inner_text("h1") == ("What is each head good for?" if locale == "en-US" else "每个头有什么用？")


def test_every_head_says_its_numbers(
    bundled_server: ServerProcess, visited: Callable[..., Any], trace: dict[str, Any], changes: dict[str, Any]
) -> None:
    with visited(bundled_server, "?view=heads") as page:
        page.wait_for_selector(WEIGHED, timeout=30_000)
        for kind, name in {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}.items():
            labels = page.locator(f'[role=group][aria-label="{name}"] [role=switch]').evaluate_all(
                "all => all.map(one => one.getAttribute('aria-label'))"
            )
            assert labels == [
                f"{name}, layer {layer + 1}, head {head + 1}: {bits:.2f} bits, looks at {2**bits:.1f} tokens on average"
                f"; without it alone, the log-probability changes by {signed(changes[kind][layer][head])}"
                for layer, row in enumerate(trace["entropy"][kind])
                for head, bits in enumerate(row)
            ]
        worst = sorted(change for kind in changes.values() for row in kind for change in row)[:8]
        assert page.locator(".ranking .number").all_inner_texts() == [signed(change) for change in worst]
        page.locator(".head-use [role=switch]").nth(7).hover()
        said = page.locator(".head-use [role=switch]").nth(7).get_attribute("aria-label")
        assert page.locator("section .caption").inner_text() == said


def test_the_mouse_switches_heads_off_and_on(
    bundled_server: ServerProcess, visited: Callable[..., Any], trace: dict[str, Any]
) -> None:
    found = asked_about(bundled_server, trace, "ablation", headsOff=OFF)
    with visited(bundled_server, "?view=heads") as page:
        page.wait_for_selector(WEIGHED, timeout=30_000)
        page.locator('[role=group][aria-label="Encoder"] [data-place="0.2"]').click()
        page.locator('[role=group][aria-label="Cross"] [data-place="1.3"]').click()
        page.locator(".without .text", has_text=found["text"]).wait_for()
        page.wait_for_selector(DONE)
        assert page.inner_text(".outcome .row:first-child .text") == trace["target"]["text"]
        said = page.inner_text(".without")
        assert "Without 2 heads" in said
        assert f"log-probability {found['logProb']:.3f}".replace("-", "−").replace("log−", "log-") in said
        assert f"({signed(found['change'])})" in said
        digits = 2 if -found["change"] < 2.3 else 0  # below ten times
        assert f"{math.exp(-found['change']):.{digits}f} times less probable" in said
        assert marks_what_differs(page, ".without .text", trace["target"]["text"])
        assert "off=encoder.0.2%2Ccross.1.3" in page.url
        page.get_by_role("button", name="Switch Encoder, layer 1, head 3 on again").click()
        assert page.locator('[role=switch][aria-checked="false"]').count() == 2  # in the grid and in the ranking
        page.get_by_role("button", name="Switch all on").click()
        assert page.locator('[role=switch][aria-checked="false"]').count() == 0
        assert "All heads are on." in page.inner_text(".without")


def test_the_keyboard_switches_heads_and_layers(
    bundled_server: ServerProcess, visited: Callable[..., Any], trace: dict[str, Any]
) -> None:
    with visited(bundled_server, "?view=heads&language=zh", width=390) as page:
        page.wait_for_selector(".head-use [role=switch]", timeout=30_000)
        block = page.locator('[role=group][aria-label="交叉"]')
        block.locator('[tabindex="0"][role=switch]').focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        assert block.locator('[data-place="1.1"]').get_attribute("aria-checked") == "false"
        page.get_by_role("button", name="交叉第 1 层的所有头").press("Enter")
        count = len(trace["entropy"]["cross"][0])
        assert block.locator('[aria-checked="false"]').count() == count + 1
        heads = [*(["cross", 0, head] for head in range(count)), ["cross", 1, 1]]
        text = asked_about(bundled_server, trace, "ablation", headsOff=heads)["text"]
        page.wait_for_selector(DONE, timeout=30_000)
        page.locator(".without .text", has_text=text).wait_for()
        page.get_by_role("button", name="交叉第 1 层的所有头").press("Enter")
        assert block.locator('[aria-checked="false"]').count() == 1


def test_what_is_off_can_be_shared_and_what_is_not_there_is_ignored(
    bundled_server: ServerProcess, visited: Callable[..., Any], trace: dict[str, Any]
) -> None:
    found = asked_about(bundled_server, trace, "ablation", headsOff=OFF)
    address = "?view=heads&off=cross.1.3,encoder.0.2,cross.9.9,<b>,encoder.0.2"
    with visited(bundled_server, address) as page:
        page.wait_for_selector(DONE, timeout=30_000)
        assert page.locator(".switched .chip").all_inner_texts() == ["Encoder 1.3 ×", "Cross 2.4 ×"]
        assert page.inner_text(".without .text") == found["text"]


def test_half_of_the_heads_can_go_at_once(
    bundled_server: ServerProcess, visited: Callable[..., Any], changes: dict[str, Any]
) -> None:
    count = sum(len(row) for kind in changes.values() for row in kind)
    with visited(bundled_server, "?view=heads") as page:
        page.wait_for_selector(WEIGHED, timeout=30_000)
        page.get_by_role("button", name=f"Switch off the {count // 2} least needed").click()
        assert page.locator('.head-use [aria-checked="false"]').count() == count // 2
        page.wait_for_selector(DONE, timeout=30_000)
        best = min(
            (value, kind, layer, head)
            for kind in changes
            for layer, row in enumerate(changes[kind])
            for head, value in enumerate(row)
        )
        name = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}[best[1]]
        kept = page.locator(f'[role=group][aria-label="{name}"] [data-place="{best[2]}.{best[3]}"]')
        assert kept.get_attribute("aria-checked") == "true"


def test_looking_at_attention_and_then_at_heads_asks_for_one_trace(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    asked_for: list[str] = []
    with visited(bundled_server, "?view=translate") as page:
        page.on("request", lambda request: asked_for.append(request.url.removeprefix(bundled_server.url)))
        page.get_by_role("link", name="Attention", exact=True).click()
        page.wait_for_selector(".weighed.attribution", timeout=30_000)
        page.get_by_role("link", name="Heads", exact=True).click()
        page.wait_for_selector(WEIGHED, timeout=30_000)
        page.locator('[role=group][aria-label="Cross"] [data-place="1.3"]').click()
        page.wait_for_selector(DONE, timeout=30_000)
    traces = [path for path in asked_for if path.startswith("/api/trace")]
    assert traces == ["/api/trace", "/api/trace/attribution", "/api/trace/heads", "/api/trace/ablation"]
