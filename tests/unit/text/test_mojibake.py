"""Mojibake is recognised and taken back; sound text stays as it is."""

import pytest

from heedful.text.mojibake import has_mojibake, without_mojibake
from tests.support.spoilt_corpora import misread, sentences

SOUND = [
    "« C'est l'été\u00a0», dit-il à\u00a0« voix basse\u00a0».",
    "elle disait\u00a0: J'ai fini le café\u00a0»",
    "„Von A bis Ä“ steht auf dem Band.",
    "São João, ação, coração; ÂNGELA; NÃO.",
    "Привет, мир! Ещё раз.",
    "你好，世界。",
    "plain ASCII",
    "",
]


@pytest.mark.parametrize("text", SOUND)
def test_sound_text_is_left_as_it_is(text: str) -> None:
    assert without_mojibake(text) == text
    assert not has_mojibake(text)


@pytest.mark.parametrize("encoding", ["latin-1", "mac_roman", "cp437", "cp1251"])
@pytest.mark.parametrize(
    "text", ["Grüße aus Köln", "l'été “déjà” passé", "你好，世界。今天天气很好", "Ещё раз, привет"]
)
def test_utf8_that_was_read_in_another_encoding_is_taken_back(text: str, encoding: str) -> None:
    misread_text = text.encode().decode(encoding, errors="replace")
    if "\ufffd" not in misread_text:
        assert has_mojibake(misread_text)
        assert without_mojibake(misread_text) == text


def test_every_german_and_french_sentence_comes_back_even_when_misread_twice() -> None:
    for _, german, french in sentences(100):
        for text in (german, french):
            assert without_mojibake(misread(text)) == text
            assert without_mojibake(misread(misread(text))) == text


def test_a_part_that_was_misread_is_taken_back_in_text_that_is_sound() -> None:
    assert without_mojibake("Größe und GrÃ¶ÃŸe, itâ€™s") == "Größe und Größe, it’s"
