"""The chapter on more than one token at a time: what it says is true of the models that ship."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from tests.support.traced_sentence import asked

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]
HERE = "?view=learn&chapter=20"
STATION = "Where is the next station, please?"
NAMES = "Mr Schwarzenegger-Wladimirowitsch met Arnold Schwarzenegger-Wladimirowitsch in Wladiwostok."
PHRASE = "today seven very very old dogs see two birds."


def go_to(page: Any, paragraph: int, figure: str) -> Any:
    page.locator(f"#paragraph-{paragraph - 1}").click()
    page.wait_for_selector(f"aside [data-figure={figure}][data-ready=true]")
    return page.locator("aside")


def test_guesses_are_counted_as_the_server_counts_them(visited: Visit, bundled_server: ServerProcess) -> None:
    station, names = (asked(bundled_server, q=text, source="en")["guesses"]["passes"] for text in (STATION, NAMES))
    assert not any(one["guessed"] for one in station), "of the first sentence nothing can be guessed"
    tokens = sum(len(one["written"]) for one in names)
    with visited(bundled_server, HERE, locale="en-US") as page:
        assert page.locator("article h1").inner_text() == "Past one token at a time"
        assert f"in {len(station)} passes: none was saved" in go_to(page, 1, "guesses").inner_text()
        page.locator("#paragraph-1").click()
        page.locator("aside figcaption", has_text=f"{tokens} tokens in {len(names)} passes").wait_for()
        assert page.locator("aside .pass").count() == len(names)
        page.locator("aside .pass").nth(3).click()
        page.get_by_role("link", name="Open in the view").click()
        page.wait_for_selector('.pass:nth-child(4)[aria-current="step"]')


def test_positions_collapse_as_one_types(visited: Visit, bundled_server: ServerProcess) -> None:
    with visited(bundled_server, HERE, locale="en-US") as page:
        figure = go_to(page, 6, "collapse")
        assert figure.locator(".so-far").inner_text() == "seen"
        figure.locator("input").fill("h.ee..lll.llo")
        assert figure.locator(".so-far").inner_text() == "hello"
        assert figure.locator(".place.kept").count() == 5
        figure.locator("input").fill("...")
        assert "nothing is left" in figure.inner_text()


def test_the_small_translator_does_what_the_text_says(visited: Visit, bundled_server: ServerProcess) -> None:
    refinement = asked(bundled_server, q=PHRASE, model="lesson-ctc")["refinement"]
    first, second, last = (layer["text"] for layer in refinement["layers"])
    assert last == second == "heute sehen sieben sehr sehr alte Hunde zwei Vögel."
    assert first.startswith("heute kennen ")
    assert first.count("sehr") == 1
    said = ["·" if guess["text"] is None else guess["text"].strip("▁") for guess in refinement["layers"][-1]["guesses"]]
    where = [place for place, token in enumerate(said) if token == "sehr"]
    assert "·" in said[where[0] : where[-1]]
    with visited(bundled_server, HERE, locale="en-US") as page:
        figure = go_to(page, 7, "atOnce")
        page.wait_for_selector("aside .written-at-once")
        for moment, text in ((1, first), (2, second), (5, last)):
            figure.get_by_role("slider").fill(str(moment))
            assert figure.locator(".so-far").inner_text() == text
        figure.locator("input[type=text]").fill("two cats buy nine red books.")
        figure.locator("input[type=text]").press("Enter")
        page.locator("aside .so-far", has_text="zwei Katzen kaufen neun rote Bücher.").wait_for()
