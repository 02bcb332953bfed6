"""Texts in several languages, and texts that are not in the language they are said to be in."""

import json
from urllib.request import Request, urlopen

import pytest

from heedful import load
from heedful.errors import UserError
from heedful.insight.trace import trace_translation
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.word_alignment import alignment_of
from tests.support.commands import Command
from tests.support.forked_server import ForkedServer

LETTER = """Lieber Tom,

ich habe deinen Brief gelesen. You should never give up, my friend. Das hat mich gefreut!
  Wann kommst du? See you soon.

Je ne sais pas où est la gare."""


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load(device="cpu")


def codes(translator: Translator, text: str, source: str | None, target: str) -> set[str]:
    [found] = translator.translate_detailed([text], from_=source, to=target)
    return {str(warning.code) for warning in found.warnings}


def test_each_sentence_is_translated_from_its_own_language(translator: Translator) -> None:
    [found] = translator.translate_detailed([LETTER], to="en")
    lines = found.text.split("\n")
    assert len(lines) == len(LETTER.split("\n"))
    assert "You should never give up, my friend." in lines[2]
    assert lines[3] == f"  {translator.translate('Wann kommst du?', from_='de', to='en')} See you soon."
    assert lines[5] == translator.translate("Je ne sais pas où est la gare.", from_="fr", to="en")
    messages = {warning.code: warning.message for warning in found.warnings}
    assert messages["mixed_languages"] == (
        'the text seems to be in German ("de"), English ("en") and French ("fr"); each sentence was read in its own.'
    )
    assert '"You should never give up, my friend." is in "en" already' in messages["unchanged_sentence"]


def test_the_only_sentence_to_be_translated_is(translator: Translator) -> None:
    text = "Dear Tom, I got your letter yesterday. Ich habe meine Schlüssel verloren. See you soon, my old friend."
    german = translator.translate("Ich habe meine Schlüssel verloren.", from_="de", to="en")
    assert translator.translate(text, to="en") == text.replace("Ich habe meine Schlüssel verloren.", german)


def test_a_sentence_in_a_language_it_does_not_know_is_left_and_said(translator: Translator) -> None:
    text = "Ich weiß es nicht, mein Freund. No lo sé, pero me gusta mucho esta ciudad. Wo ist der Bahnhof?"
    [found] = translator.translate_detailed([text], to="en")
    assert "No lo sé, pero me gusta mucho esta ciudad." in found.text
    assert {"mixed_languages", "unknown_sentence"} <= {warning.code for warning in found.warnings}


@pytest.mark.parametrize(
    ("text", "source", "is_said"),
    [
        ("Je ne sais pas où est la gare, et toi ?", "de", True),
        ("我不知道车站在哪里。", "de", True),
        ("Where is the station, please?", "zh", True),
        ("Wo ist der Bahnhof?", "de", False),
        ("Oui.", "de", False),
        ("Tom Jackson, New York City", "de", False),
        ("Das Meeting mit dem Management war okay.", "de", False),
        ("Rendez-vous?", "de", False),
        ("😀 123 http://example.com/where/is/the/station", "de", False),
    ],
)
def test_a_language_that_contradicts_the_text_is_said(
    translator: Translator, text: str, source: str, is_said: bool
) -> None:
    assert ("other_language" in codes(translator, text, source, "en" if source != "en" else "de")) == is_said


@pytest.mark.parametrize(
    "text",
    [
        "Das Meeting war okay. Der Manager hat das Update bekommen. Tom Jackson kam aus New York. Super!",
        "I met Herr Müller in Berlin. He said: danke. We ate croissants at the Café de Paris. Bravo!",
        "Il a dit : « okay ». Le week-end, nous jouons au football. John Smith habite à New York. Merci !",
    ],
)
def test_names_and_loan_words_mix_nothing(translator: Translator, text: str) -> None:
    for target in ("en", "de", "fr"):
        assert "mixed_languages" not in codes(translator, text, None, target)


def test_words_of_sentences_that_were_left_are_linked_with_themselves(translator: Translator) -> None:
    [found] = translator.translate_detailed([LETTER], request=TranslationRequest(target="en", alignment=True))
    links = alignment_of(found)
    pairs = {(links.source[slice(*one.source)], links.target[slice(*one.target)]) for one in links.links}
    assert {("never", "never"), ("give", "give"), ("gare.", "station")} <= {
        (a, b.rstrip(".")) for a, b in pairs
    } | pairs


def test_a_sentence_that_was_left_cannot_be_looked_into(translator: Translator) -> None:
    [plan] = translator.plan([LETTER], TranslationRequest(target="en"))
    with pytest.raises(UserError, match="must be translated to be looked into"):
        trace_translation(translator, plan, sentence=2)
    assert trace_translation(translator, plan, sentence=1).source_language == "de"


def test_command_server_and_stream_say_it(heedful: Command, translator: Translator) -> None:
    expected = translator.translate(LETTER, to="en")
    result = heedful("translate", "--to", "en", LETTER)
    assert result.stdout.decode() == expected + "\n"
    assert "line 1: the text seems to be in German" in result.stderr.decode()
    result = heedful("translate", "--from", "de", "--to", "en", "Je ne sais pas où est la gare.")
    assert 'seems to be in French ("fr"), but was translated as German ("de").' in result.stderr.decode()
    with ForkedServer() as server:

        def posted(path: str, **fields: object) -> bytes:
            body = json.dumps({"q": LETTER, "target": "en", **fields}).encode()
            request = Request(server.url + path, body, {"Content-Type": "application/json"})
            answer: bytes = urlopen(request, timeout=60).read()
            return answer

        whole = json.loads(posted("/translate", details=True))
        assert whole["translatedText"] == expected
        assert "mixed_languages" in [warning["code"] for warning in whole["warnings"]]
        told = [
            line.removeprefix(b"data: ") for line in posted("/api/translate/stream").split(b"\n") if b"data: " in line
        ]
        done = json.loads(told[-1])
        assert done["translatedText"] == expected
        assert [warning["code"] for warning in done["warnings"]] == ["mixed_languages"]
        said = json.loads(posted("/translate", details=True, source="fr"))
        assert "other_language" in [warning["code"] for warning in said["warnings"]]
