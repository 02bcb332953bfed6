"""Typing into the page in a real browser: whatever the rhythm, no letter is lost, and what an input method has not yet
put into words is not asked for."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.load import ServerProcess

pytestmark = pytest.mark.browser

SENTENCE = "A table for two."
CROSS = "It rained."  # at the slower clock of the other views
EMPTY = "?text=&target=de"


def requests_of(page: Any, path: str) -> list[str]:
    """The texts that are asked for from now on, in order."""
    texts: list[str] = []

    def note(request: Any) -> None:
        if request.url.endswith(path):
            texts.append(json.loads(request.post_data)["q"])

    page.on("request", note)
    return texts


def type_evenly(page: Any, text: str, milliseconds: float) -> None:
    """Press a key for each letter, so many milliseconds after the one before, whatever the page does meanwhile."""
    for letter in text:
        page.keyboard.press({" ": "Space"}.get(letter, letter))
        page.wait_for_timeout(milliseconds)


@pytest.mark.parametrize("milliseconds", [290, 300, 310, 330])
def test_no_letter_is_lost_in_any_rhythm(
    bundled_server: ServerProcess, visited: Callable[..., Any], milliseconds: int
) -> None:
    with visited(bundled_server, EMPTY) as page:
        page.locator("textarea").focus()
        type_evenly(page, SENTENCE, milliseconds)
        assert page.input_value("textarea") == SENTENCE
        page.wait_for_function("text => new URLSearchParams(location.search).get('text') === text", arg=SENTENCE)


@pytest.mark.parametrize("milliseconds", [600, 630])
def test_no_letter_is_lost_in_the_sentence_line_of_the_other_views(
    bundled_server: ServerProcess, visited: Callable[..., Any], milliseconds: int
) -> None:
    with visited(bundled_server, f"{EMPTY}&view=decoding") as page:
        page.locator(".field").focus()
        type_evenly(page, CROSS, milliseconds)
        assert page.input_value(".field") == CROSS
        page.wait_for_function("text => new URLSearchParams(location.search).get('text') === text", arg=CROSS)


@pytest.mark.parametrize(
    ("view", "field", "path"), [("translate", "textarea", "/translate"), ("decoding", ".field", "/api/trace")]
)
def test_what_an_input_method_is_composing_is_not_asked_for(
    bundled_server: ServerProcess, visited: Callable[..., Any], view: str, field: str, path: str
) -> None:
    with visited(bundled_server, f"?text=&target=en&view={view}") as page:
        asked = requests_of(page, path)
        page.locator(field).focus()
        keys = page.context.new_cdp_session(page)
        for composed in ("n", "ni", "ni h", "ni ha", "ni hao"):
            keys.send("Input.imeSetComposition", {"text": composed, "selectionStart": 1, "selectionEnd": 1})
            page.wait_for_timeout(800)
            assert page.input_value(field) == composed
        assert asked == []
        keys.send("Input.insertText", {"text": "你好！"})
        page.wait_for_function("() => new URLSearchParams(location.search).get('text') === '你好！'")
        page.wait_for_timeout(300)
        assert asked == ["你好！"]
        assert page.input_value(field) == "你好！"


def test_a_text_from_elsewhere_takes_the_place_of_what_is_typed(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    with visited(bundled_server, EMPTY) as page:
        page.locator("textarea").press_sequentially("Half a sen", delay=5)
        page.locator(".examples button").first.click()
        example = page.locator(".examples button span").first.text_content()
        assert page.input_value("textarea") == example
        page.wait_for_timeout(500)
        assert page.input_value("textarea") == example
        page.locator("textarea").press("End")
        page.locator("textarea").press_sequentially("!", delay=5)
        page.wait_for_function("text => new URLSearchParams(location.search).get('text') === text", arg=f"{example}!")
        page.get_by_role("link", name="Positions").click()
        page.go_back()
        page.wait_for_selector("textarea")
        assert page.input_value("textarea") == f"{example}!"
