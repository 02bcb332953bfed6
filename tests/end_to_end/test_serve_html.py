"""`format=html`, as LibreTranslate's clients send it: the words are translated, the markup stays what it is."""

import re
from collections.abc import Iterator

import pytest
from benchmarks.load import ServerProcess

from tests.support.http_client import post

PAGE = (
    '<h1>Hello</h1>\n<p>I live <b class="x">here</b> and I am happy.</p><ul><li>Where is the station?</li></ul>'
    "<script>let a = 1 < 2;</script><!-- note -->"
)


@pytest.fixture(scope="module")
def bundled_server() -> Iterator[ServerProcess]:
    with ServerProcess() as server:
        yield server


def tags(text: str) -> list[str]:
    return re.findall(r"<[^<>]+>", text)


def test_markup_stays_and_words_are_translated(bundled_server: ServerProcess) -> None:
    status, answer = post(bundled_server, "/translate", {"q": PAGE, "source": "en", "target": "de", "format": "html"})
    assert status == 200
    text = answer["translatedText"]
    assert tags(text) == tags(PAGE)
    assert '<b class="x">hier</b>' in text
    assert "let a = 1 < 2;" in text
    assert "<li>Wo ist der Bahnhof?</li>" in text


def test_a_list_is_answered_by_a_list_and_the_language_is_detected(bundled_server: ServerProcess) -> None:
    body = {"q": ["<i>Where is the station?</i>", ""], "source": "auto", "target": "de", "format": "html"}
    status, answer = post(bundled_server, "/translate", body)
    assert (status, answer["translatedText"]) == (200, ["<i>Wo ist der Bahnhof?</i>", ""])
    assert answer["detectedLanguage"][0]["language"] == "en"


@pytest.mark.parametrize("text", ["<b", "<p><<<>>>", "</", "<a href='", "&#xffffffff;", "<!--", "<b><i></b></i>" * 200])
def test_damaged_markup_is_no_reason_to_fail(bundled_server: ServerProcess, text: str) -> None:
    body = {"q": text + " Where is the station?", "source": "en", "target": "de", "format": "html"}
    status, answer = post(bundled_server, "/translate", body)
    assert status == 200
    assert isinstance(answer["translatedText"], str)


def test_what_html_has_no_place_for_is_refused(bundled_server: ServerProcess) -> None:
    body = {"q": "<b>a</b>", "source": "en", "target": "de", "format": "html", "alternatives": 2}
    status, answer = post(bundled_server, "/translate", body)
    assert (status, answer["error"]) == (
        400,
        '`alternatives`, `details` and `alignment` must be left out with `format` "html".',
    )
