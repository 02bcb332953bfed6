"""The page as it is right after installation: the views of all three models that ship, each with something to see."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.load import ServerProcess

pytestmark = pytest.mark.browser


def views(page: Any) -> list[str]:
    return [link.inner_text() for link in page.query_selector_all("header nav a")]


def test_every_task_has_its_views_and_going_there_takes_the_model_along(
    visited: Callable[..., Any], bundled_server: ServerProcess
) -> None:
    with visited(bundled_server) as page:
        assert views(page) == [
            "Translate", "Attention", "Decoding", "Positions", "Heads", "Classify", "Write", "Training", "Learn",
        ]  # fmt: skip
        assert page.locator("header select").input_value() == "bundled"
        page.click("nav >> text=Classify")
        page.wait_for_selector("main.labels")
        assert page.locator("header select").input_value() == "bundled-classifier"
        page.locator(".verdict strong", has_text="pos").wait_for()
        assert "wonderful" in page.input_value("textarea")
        page.click("nav >> text=Write")
        page.wait_for_selector("main.writing")
        assert page.locator("header select").input_value() == "bundled-writer"
        assert page.input_value("textarea") == "The city was founded in"
        page.click("nav >> text=Translate")
        page.wait_for_selector("main.translate")
        assert page.locator("header select").input_value() == "bundled"
        page.go_back()
        page.wait_for_selector("main.writing")


def test_what_was_typed_goes_along_to_another_task(visited: Callable[..., Any], bundled_server: ServerProcess) -> None:
    with visited(bundled_server, "?text=I+was+bored.") as page:
        page.click("nav >> text=Classify")
        page.wait_for_selector("main.labels")
        assert page.input_value("textarea") == "I was bored."
        page.locator(".verdict strong", has_text="neg").wait_for()
        page.keyboard.press("]")
        page.wait_for_selector("main.writing")


def test_an_address_with_a_view_alone_finds_its_model(
    visited: Callable[..., Any], bundled_server: ServerProcess
) -> None:
    with visited(bundled_server, "?view=labels&text=A+terrible+film.", waits_for="main.labels") as page:
        page.locator(".shaded button", has_text="terrible").wait_for()
        assert page.inner_text(".verdict strong") == "neg"
        assert page.locator("header select").input_value() == "bundled-classifier"
    with visited(bundled_server, "?view=writing&text=The+old+house+was&seed=4", waits_for="main.writing") as page:
        page.get_by_role("textbox", name="Beginning").focus()
        page.keyboard.press("Control+Enter")
        page.locator(".written-text button").nth(40).wait_for()
        written = page.locator(".written-text").inner_text()
        assert re.search(r"[a-z]+ [a-z]+ [a-z]+", written), written


def test_learn_asks_the_classifier_that_ships(visited: Callable[..., Any], bundled_server: ServerProcess) -> None:
    with visited(bundled_server, "?view=learn&chapter=14", waits_for="main.learn") as page:
        figure = page.locator("figure", has_text="clever")
        figure.get_by_text("pos", exact=True).first.wait_for()
