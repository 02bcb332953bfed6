"""A paragraph, a letter, a list: the page shows what command, Python, API and stream make of them, line by line."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from benchmarks.load import ServerProcess

from heedful import load
from tests.support.commands import Command

pytestmark = pytest.mark.browser

LETTER = """Dear Mr. Smith,

thank you for your letter. I was very happy to hear from you! How is your wife?
  - My brother lost his keys.
  - I forgot to buy milk. He drinks coffee.

See you soon."""
LONG = f"{LETTER}\n\n" * 4
POEM = """The sun goes down behind the trees,
    the birds are going home.

Who is knocking at my door?"""


def posted(server: ServerProcess, path: str, body: dict[str, Any]) -> bytes:
    request = Request(server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer: bytes = urlopen(request, timeout=60).read()
    return answer


@pytest.mark.parametrize("text", [LETTER, LONG, POEM], ids=["short", "long", "poem"])
@pytest.mark.parametrize("target", ["de", "zh"])
def test_a_text_is_the_same_wherever_it_is_translated(
    visited: Callable[..., Any], bundled_server: ServerProcess, heedful: Command, text: str, target: str
) -> None:
    expected = load(device="cpu").translate(text, from_="en", to=target)
    assert [line == "" for line in expected.split("\n")] == [line == "" for line in text.split("\n")]
    assert [line[:4] == "  - " for line in expected.split("\n")] == [line[:4] == "  - " for line in text.split("\n")]
    body = {"q": text, "source": "en", "target": target}
    assert json.loads(posted(bundled_server, "/translate", body))["translatedText"] == expected
    told = [
        json.loads(line.removeprefix(b"data: "))
        for line in posted(bundled_server, "/api/translate/stream", body).split(b"\n")
        if line.startswith(b"data: ")
    ]
    assert told[-1]["translatedText"] == expected
    assert "".join(one["before"] + one["text"] for one in told[:-1]) == expected
    written = heedful("translate", "--from", "en", "--to", target, text)
    assert (written.returncode, written.stdout.decode()) == (0, expected + "\n")
    with visited(bundled_server, f"?text={quote(text)}&source=en&target={target}") as page:
        page.wait_for_function(
            "text => document.querySelector('.translate .target .unseen')?.textContent === text", arg=expected
        )


def test_each_sentence_of_a_paragraph_is_looked_into_as_it_was_translated(
    visited: Callable[..., Any], bundled_server: ServerProcess
) -> None:
    text = "My brother lost his keys.\nI forgot to buy milk. He drinks coffee."
    [whole] = load(device="cpu").translate_detailed([text], from_="en", to="de")
    with visited(bundled_server, f"?text={quote(text)}&source=en&target=de") as page:
        page.locator("a.look").click()
        for number, unit in enumerate(whole.units):
            page.locator(".sentences select").select_option(str(number))
            page.wait_for_function(
                "word => [...document.querySelectorAll('main *')].some(one => one.textContent.includes(word))",
                arg=unit.text.split()[-1].rstrip("."),
            )
            page.wait_for_function(f"() => document.body.innerText.includes('Sentence {number + 1} of 3')")
            assert page.input_value(".field") == text, "the text itself stays"
        page.reload()
        page.wait_for_selector(".sentences select")
        assert page.input_value(".sentences select") == "2"
