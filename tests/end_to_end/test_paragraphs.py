"""An article, a letter, a poem, a list: paragraphs and lines one to one, the same from every entrance."""

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from benchmarks.sentence_ends import read_hard

from heedful import load
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.translator import Translator
from tests.support.commands import Command
from tests.support.forked_server import ForkedServer

HARD = Path(__file__).parents[1] / "unit" / "text" / "sentence_ends"
PARAGRAPHS = [sentences for title, sentences in read_hard(HARD / "en.txt") if title not in ("small letters", "lists")]

POEM = """The Garden

The sun goes down behind the trees,
    the birds are going home.
I hear the whisper of the breeze,
    and I am not alone.

The moon is bright, the night is cold!
    Who is knocking at my door?"""

LIST = """Shopping list:
- milk
- two eggs
* bread and butter
\t• a bottle of water
1. Go to the station.
2. Buy a ticket. Do not lose it.

  – Call your mother!
"""


def article(num_words: int) -> list[list[str]]:
    """Headings, blank lines and paragraphs of several sentences."""
    lines: list[list[str]] = []
    number = 0
    while sum(len(sentence.split()) for line in lines for sentence in line) < num_words:
        if number % 4 == 0:
            lines += [[f"What happened on day {number // 4 + 1}"], []]
        several = [*PARAGRAPHS[number % len(PARAGRAPHS)], *PARAGRAPHS[(number * 7 + 3) % len(PARAGRAPHS)]]
        lines += [several, []]
        number += 1
    return lines[:-1]


def posted(address: str, body: dict[str, str]) -> bytes:
    """Ask, and again where a machine that has other work to do cannot answer in time, as the answer says."""
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    for _ in range(5):
        try:
            answer: bytes = urlopen(request, timeout=120).read()
            return answer
        except HTTPError as refusal:
            if refusal.code != 503:
                raise
    pytest.skip("this machine is too busy to translate an article in half a minute")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load(device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "num_words"), [("de", 3_000), ("zh", 1_000)])
def test_an_article_is_its_sentences_in_their_lines_from_every_entrance(
    heedful: Command, translator: Translator, target: str, num_words: int
) -> None:
    lines = article(num_words)
    text = "\n".join(" ".join(sentences) for sentences in lines)
    assert len(text.split()) >= num_words
    alone = sorted({sentence for sentences in lines for sentence in sentences})
    translated = dict(zip(alone, translator.translate(alone, from_="en", to=target), strict=True))
    expected = "\n".join(join_parts([translated[sentence] for sentence in sentences]) for sentences in lines)
    assert translator.translate(text, from_="en", to=target).split("\n") == expected.split("\n")
    result = heedful("translate", "--from", "en", "--to", target, stdin=text.encode())
    assert result.stdout.decode() == expected + "\n"
    with ForkedServer() as server:
        for path in ("/translate", "/api/translate/stream"):
            answer = posted(server.url + path, {"q": text, "source": "en", "target": target})
            last = [line.removeprefix(b"data: ") for line in answer.split(b"\n") if line.strip(b"\r")][-1]
            assert json.loads(last)["translatedText"] == expected


@pytest.mark.parametrize("text", [POEM, LIST], ids=["poem", "list"])
@pytest.mark.parametrize("target", ["de", "fr", "zh"])
def test_lines_indentation_and_markers_stay(translator: Translator, text: str, target: str) -> None:
    found = translator.translate(text, from_="en", to=target).split("\n")
    lines = text.split("\n")
    assert len(found) == len(lines)
    for line, translation in zip(lines, found, strict=True):
        marker = line[: len(line) - len(line.lstrip(" \t-*•–"))]
        assert translation.startswith(marker)
        assert bool(translation.strip()) == bool(line.strip())
        assert not line.strip() or translation != line


def test_a_numbered_item_keeps_its_number(translator: Translator) -> None:
    for target in ("de", "fr", "zh"):
        lines = translator.translate("1. Go to the station.\n2. Buy a ticket.", to=target, from_="en").split("\n")
        assert [line[:2] for line in lines] == ["1.", "2."]
