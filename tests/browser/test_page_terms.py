"""Terms on the page: what one insists on goes to the server, is marked, and goes along everywhere."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from benchmarks.load import ServerProcess

from tests.support.traced_sentence import answer, asked

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]

SENTENCE = "Where is the nearest station, please?"
PAIRS = [["station", "Haltestelle"]]
HERE = f"?target=de&text={quote(SENTENCE)}"
READY = '.pane.target[aria-busy="false"]'
FIELD = ".terms textarea"


def translated(server: ServerProcess, glossary: list[list[str]], **fields: Any) -> dict[str, Any]:
    wanted = {"q": SENTENCE, "source": "auto", "target": "de", "details": True, "glossary": glossary, **fields}
    return answer(server, "/translate", wanted)


def output(page: Any) -> str:
    page.wait_for_selector(f"{READY} .output")
    return "\n".join(page.locator(".output p").all_text_contents())


def shows(page: Any, text: str) -> None:
    page.locator(f"{READY} .output", has_text=text).wait_for()


def test_a_term_is_typed_and_the_translation_has_it_marked(visited: Visit, bundled_server: ServerProcess) -> None:
    expected = translated(bundled_server, PAIRS)
    assert "Haltestelle" in expected["translatedText"]
    with visited(bundled_server, HERE, locale="en-US") as page:
        free = output(page)
        assert "Haltestelle" not in free
        assert not page.locator(FIELD).is_visible(), "it is there for those who want it"
        page.locator(".terms summary").click()
        page.locator(FIELD).fill("station = Haltestelle")
        shows(page, "Haltestelle")
        assert output(page) == expected["translatedText"]
        assert page.locator(".output .term").all_inner_texts() == ["Haltestelle"]
        place = expected["details"][0]["terms"][0]
        assert expected["translatedText"][place["start"] : place["end"]] == "Haltestelle"
        page.locator(".output .term").hover()
        assert page.inner_text(".told").endswith("; your term for “station”")
        assert page.inner_text(".terms summary").split("\n")[0].startswith("Terms 1")
        assert "in this translation: station" in page.inner_text(".terms summary")
        assert parse_qs(urlsplit(page.url).query)["glossary"] == ["station = Haltestelle"]
        assert json.loads(page.text_content(".curl code").split("-d ")[1].strip("'"))["glossary"] == PAIRS
        page.reload()
        shows(page, "Haltestelle")
        assert page.input_value(FIELD) == "station = Haltestelle", "the address has it, and the field is open"
        page.locator(".terms").get_by_role("button", name="Clear").click()
        shows(page, free)


@pytest.mark.parametrize(
    ("written", "pairs", "unread"),
    [
        ("station = Haltestelle | Station", [["station", "Haltestelle"], ["station", "Station"]], ""),
        ("station\tHaltestelle\tStation", [["station", "Haltestelle"], ["station", "Station"]], ""),
        ("station ＝ Haltestelle ｜ Station", [["station", "Haltestelle"], ["station", "Station"]], ""),
        ("# mine\n\nstation=Haltestelle\nplease", PAIRS, "Line 4 is no term yet"),
        ("= Haltestelle\nstation =\nstation = Haltestelle", PAIRS, "Lines 1, 2 are no terms yet"),
        ("<b>x</b> = <img src=x onerror=alert(1)>", [["<b>x</b>", "<img src=x onerror=alert(1)>"]], ""),
    ],
)
def test_lines_are_read_as_people_write_them(
    visited: Visit, bundled_server: ServerProcess, written: str, pairs: list[list[str]], unread: str
) -> None:
    with visited(bundled_server, f"{HERE}&glossary={quote(written)}", locale="en-US") as page:
        output(page)
        sent = page.text_content(".curl code").split("-d ")[1].strip("'")
        assert json.loads(sent)["glossary"] == pairs
        told = page.locator(".terms .notice").all_inner_texts()
        assert (told[0].startswith(unread) and len(told) == 1) if unread else not told


def test_terms_go_along_to_the_views_and_the_tree_marks_them(visited: Visit, bundled_server: ServerProcess) -> None:
    expected = asked(bundled_server, glossary=PAIRS)
    given = [node["id"] for node in expected["beam"]["nodes"] if node["isForced"]]
    assert given
    with visited(bundled_server, f"{HERE}&glossary=station%3DHaltestelle", locale="en-US") as page:
        whole = output(page)
        page.get_by_role("link", name="Look inside").click()
        page.get_by_role("link", name="Decoding").click()
        page.locator(".outcome .target", has_text=whole).wait_for()
        assert whole == expected["target"]["text"]
        assert [int(one.get_attribute("data-node")) for one in page.locator(".tree g.forced").all()] == given
        chips = page.locator("button.chip.forced")
        assert "".join(text.split("\n")[0] for text in chips.all_inner_texts()) == "Haltestelle"
        assert chips.first.get_attribute("title").endswith("· given")
        assert page.inner_text(".origin").startswith("held to your term")
        page.locator(".goes-on").first.click()
        page.locator(".origin", has_text="goes on from").wait_for()
        assert page.locator(".origin").count() == 1, "what one chose by hand is as one chose it"
        page.get_by_role("button", name="let the model choose again").click()
        page.get_by_role("button", name="let the model choose its own words").click()
        page.locator(".outcome .target:not(:has-text('Haltestelle'))").wait_for()
        assert "glossary" not in page.url


def test_a_long_text_is_heard_with_its_terms(visited: Visit, bundled_server: ServerProcess) -> None:
    text = f"{SENTENCE} I am going home. " * 14
    with visited(bundled_server, f"?target=de&text={quote(text)}&glossary=station%3DHaltestelle") as page:
        page.wait_for_selector(f"{READY} .output.long")
        assert page.locator(".output .term").all_inner_texts() == ["Haltestelle"] * 14
        whole = translated(bundled_server, PAIRS, q=text)["translatedText"]
        assert page.text_content(".target .unseen") == whole
    told = [{"q": text, "source": "en", "target": "de", "glossary": PAIRS, "beam": beam} for beam in (1, 4)]
    for body in told:
        with visited(bundled_server, "?view=learn") as page:
            events = page.evaluate(
                """async (body) => (await (await fetch("/api/translate/stream", {
                    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
                })).text())""",
                body,
            )
        assert events.count("Haltestelle") >= 14
        assert '"start"' in events


def test_what_cannot_be_done_is_said(visited: Visit, bundled_server: ServerProcess) -> None:
    many = "\n".join(f"word{number} = Wort{number}" for number in range(201))
    longer = "😀" * 60  # than the sentence may become
    with visited(bundled_server, f"{HERE}&glossary={quote(f'station = {longer}')}", locale="en-US") as page:
        output(page)
        page.locator(".pane.target .notice", has_text=f"lacks terms you asked for: {longer}.").wait_for()
        page.locator(".pane.target .notice", has_text="cut at its greatest length").wait_for()
    with visited(bundled_server, HERE, locale="en-US", allow="400") as page:
        output(page)
        page.locator(".terms summary").click()
        page.locator(FIELD).fill(many)
        page.locator(".pane.target .refusal", has_text="200").wait_for()
        page.reload()
        assert page.input_value(FIELD) == many, "what is too long for an address is kept beside it"


@pytest.mark.parametrize("width", [1440, 390])
def test_it_speaks_chinese_fits_and_works_by_keyboard(
    visited: Visit, bundled_server: ServerProcess, width: int
) -> None:
    with visited(bundled_server, HERE, width=width, locale="zh-CN", color_scheme="dark") as page:
        output(page)
        page.locator(".terms summary").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(FIELD)
        page.keyboard.press("Tab")
        page.keyboard.type("station = Haltestelle")
        shows(page, "Haltestelle")
        assert "译文中用到：station" in page.inner_text(".terms summary")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.inner_text(".terms .under").startswith("每行一个")
