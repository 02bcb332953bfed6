"""Speculation on the page and in the file of `heedful explain`: passes and guesses are those the server has."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from benchmarks.load import ServerProcess

import heedful
from tests.support.traced_sentence import asked

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]

NAMES = "Mr Schwarzenegger-Wladimirowitsch met Arnold Schwarzenegger-Wladimirowitsch in Wladiwostok."
HERE = f"?view=decoding&source=en&target=de&text={quote(NAMES)}"


def spelled(token: dict[str, Any]) -> str:
    return str(token["text"]).replace("▁", "") or "␣"


def percent(log_prob: float) -> str:
    value = 100 * math.exp(log_prob)
    return "< 0.1 %" if value < 0.05 else f"{value:.1f} %"


@pytest.fixture(scope="module")
def passes(bundled_server: ServerProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked(bundled_server, q=NAMES, source="en")["guesses"]["passes"]
    return found


def check_pass(page: Any, number: int, passes: list[dict[str, Any]]) -> None:
    """What the page shows of a pass is what the payload has."""
    one = passes[number]
    assert page.locator(".chips.proposed .chip").all_inner_texts() == [spelled(token) for token in one["guessed"]]
    assert [chip.split("\n") for chip in page.locator(".chips.wrote .chip").all_inner_texts()] == [
        [spelled(token), percent(token["logProb"])] for token in one["written"]
    ]
    assert page.locator(".chips.proposed .accepted").count() == one["numAccepted"]
    assert page.locator(".chips.proposed .wrong").count() == min(1, len(one["guessed"]) - one["numAccepted"])
    assert page.locator(".pass:not(.later)").count() == number + 1


def test_every_pass_is_the_one_the_server_gave(
    visited: Visit, bundled_server: ServerProcess, passes: list[dict[str, Any]]
) -> None:
    tokens = sum(len(one["written"]) for one in passes)
    with visited(bundled_server, HERE, locale="en-US") as page:
        page.wait_for_selector(".pass")
        card = page.get_by_role("region", name="Guessing ahead")
        facts = {"tokens": tokens, "passes": len(passes), "passes saved": tokens - len(passes)}
        facts |= {"guesses": sum(len(one["guessed"]) for one in passes)}
        facts |= {"right": sum(one["numAccepted"] for one in passes)}
        assert card.locator(".facts span").all_inner_texts() == [f"{name} {value}" for name, value in facts.items()]
        boxes = page.locator(".pass")
        assert boxes.count() == len(passes)
        for number in range(len(passes)):
            boxes.nth(number).click()
            check_pass(page, number, passes)
        page.wait_for_function("() => location.search.includes('pass=')")
        address = page.url
        page.goto(address)
        page.wait_for_selector(f'.pass:nth-child({len(passes)})[aria-current="step"]')


def test_it_is_scrubbed_and_played(visited: Visit, bundled_server: ServerProcess, passes: list[dict[str, Any]]) -> None:
    with visited(bundled_server, HERE, locale="en-US") as page:
        page.wait_for_selector(".pass")
        card = page.get_by_role("region", name="Guessing ahead")
        card.get_by_role("slider").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        check_pass(page, 2, passes)
        assert "step=" not in page.url, "the steps of the search stay where they are"
        card.get_by_role("slider").fill(str(len(passes) - 2))
        card.get_by_role("button", name="Play").click()
        page.wait_for_selector(f'.pass:nth-child({len(passes)})[aria-current="step"]')


def test_where_nothing_can_be_guessed_it_says_so(visited: Visit, bundled_server: ServerProcess) -> None:
    with visited(bundled_server, "?view=decoding&target=de", locale="en-US") as page:
        page.wait_for_selector(".tree g")
        card = page.get_by_role("region", name="Guessing ahead")
        assert "Nothing here stood before" in card.inner_text()
        assert "passes saved 0" in card.inner_text().replace("\n", " ")
        assert card.get_by_role("slider").count() == 0
    with visited(bundled_server, "?view=decoding&target=de&model=lesson-attention", locale="en-US") as page:
        page.wait_for_selector(".tree g")
        assert page.get_by_role("region", name="Guessing ahead").count() == 0, "it reads one token at a time"


@pytest.mark.parametrize("width", [1440, 390])
def test_it_speaks_chinese_and_fits(visited: Visit, bundled_server: ServerProcess, width: int) -> None:
    with visited(bundled_server, HERE, width=width, locale="zh-CN", color_scheme="dark") as page:
        page.wait_for_selector(".pass")
        card = page.get_by_role("region", name="提前猜测")
        assert "省去的遍数" in card.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_file_has_it_too(opened: Visit, tmp_path: Path) -> None:
    path = tmp_path / "names.html"
    trace = heedful.load(device="cpu").translate(NAMES, from_="en", to="de", trace=True)
    trace.to_html(path)
    with opened(path, locale="en-US") as page:
        boxes = page.locator(".pass")
        assert boxes.count() == len(trace.guesses.passes)
        boxes.nth(4).click()
        assert page.locator(".pass:not(.later)").count() == 5
