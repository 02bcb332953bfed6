"""`format=html`, as LibreTranslate's clients send it: the words are translated, the markup stays what it is."""

import re
from collections.abc import Iterator

import pytest
from benchmarks.load import ServerProcess

import heedful
from heedful.tasks.translation.request import TranslationRequest
from tests.support.forked_server import ForkedServer
from tests.support.http_client import post

PAGE = (
    '<h1>Hello</h1>\n<p>I live <b class="x">here</b> and I am happy.</p><ul><li>Where is the station?</li></ul>'
    "<script>let a = 1 < 2;</script><!-- note -->"
)


@pytest.fixture(scope="module")
def bundled_server() -> Iterator[ServerProcess]:
    with ForkedServer() as server:
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


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ({"alternatives": 2}, '`alternatives`, `details` and `alignment` must be left out with `format` "html".'),
        ({"check": True}, '`diverse`, `prefix` and `check` must be left out with `format` "html".'),
    ],
)
def test_what_html_has_no_place_for_is_refused(
    bundled_server: ServerProcess, field: dict[str, int], sentence: str
) -> None:
    body = {"q": "<b>a</b>", "source": "en", "target": "de", "format": "html"}
    status, answer = post(bundled_server, "/translate", {**body, **field})
    assert (status, answer["error"]) == (400, sentence)


def test_what_a_check_has_found_is_told(bundled_server: ServerProcess) -> None:
    texts = ["Where is the station?", "Hola. ¿Dónde está la estación?", "She did not buy the 64 kg of flux capacitors."]
    body = {"q": texts, "source": "auto", "target": "de"}
    _, plain = post(bundled_server, "/translate", body)
    status, checked = post(bundled_server, "/translate", {**body, "check": True})
    found = heedful.load(device="cpu").translate_detailed(texts, request=TranslationRequest(target="de", check=True))
    assert "warnings" not in plain
    assert (status, checked["translatedText"]) == (200, [one.text for one in found])
    assert checked["warnings"] == [[{"code": it.code, "message": it.message} for it in one.warnings] for one in found]
    assert "unknown_language" in [warning["code"] for warning in checked["warnings"][1]]
    assert "details" not in checked
