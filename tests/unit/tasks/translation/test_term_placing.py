"""Terms that a model would not choose stand in the place of its own words, not beside them."""

import pytest
import torch

from heedful import load
from heedful.decoding import Stepwise
from heedful.engines.int8.engine import Int8Transformer
from heedful.engines.int8.library import is_available
from heedful.tasks.translation.alignment import attention_between, quick_looks
from heedful.tasks.translation.glossary import find_sources, occurrences, read_glossary
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.term_placing import place_of
from heedful.tasks.translation.translated import WordLink
from heedful.tasks.translation.translator import Translator


@pytest.fixture(scope="module")
def bundled() -> Translator:
    return load(device="cpu")


IMPROBABLE = [
    ("en", "de", "The dog sleeps in the house.", ["dog\tKöter"], "Der Köter schläft im Haus."),
    (
        "en",
        "de",
        "My friend has lost his car.",
        ["car\tKarre", "friend\tKumpel"],
        "Mein Kumpel hat sein Karre verloren.",
    ),
    (
        "en",
        "de",
        "New York is larger than York.",
        ["New York\tNeu-York", "York\tYorck"],
        "Neu-York ist größer als Yorck.",
    ),
    ("en", "de", "Dogs bark.", ["dogs\tköter"], "Köter bellen."),
    (
        "en",
        "de",
        "I need a new computer for my work.",
        ["computer\tRechenknecht"],
        "Ich brauche einen neuen Rechenknecht für meine Arbeit.",
    ),
    ("en", "de", "The dog sees another dog.", ["dog\tKöter"], "Der Köter sieht einen anderen Köter."),
    ("de", "fr", "Der Hund schläft.", ["Hund\tclebs"], "Le clebs dort."),
]
"""In the middle, two of them, one inside another, at the beginning, of several tokens, twice, through English."""


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize(("source", "target", "text", "lines", "wanted"), IMPROBABLE)
def test_a_term_replaces_the_word_of_the_model(
    bundled: Translator, source: str, target: str, text: str, lines: list[str], wanted: str, beam_size: int
) -> None:
    asked = TranslationRequest(source, target, beam_size=beam_size, glossary=read_glossary(lines, "terms.tsv"))
    assert bundled.translate(text, request=asked) == wanted


@pytest.mark.parametrize("beam_size", [1, 4])
def test_what_stands_around_a_term_stays(bundled: Translator, beam_size: int) -> None:
    text, glossary = "We bought an old house near the river last year.", read_glossary(["house\tAnwesen"], "terms.tsv")
    free = bundled.translate(text, to="de", from_="en", beam_size=beam_size)
    asked = TranslationRequest("en", "de", beam_size=beam_size, glossary=glossary)
    assert bundled.translate(text, request=asked) == free.replace("Haus", "Anwesen") != free


def test_neighbours_make_no_difference_to_a_placed_term(bundled: Translator) -> None:
    glossary = read_glossary(["dog\tKöter", "computer\tRechenknecht"], "terms.tsv")
    asked = TranslationRequest("en", "de", beam_size=1, glossary=glossary)
    texts = ["The dog sleeps.", "I need a new computer for my work, and I need it today.", "He is here."]
    assert bundled.translate(texts, request=asked) == [bundled.translate(text, request=asked) for text in texts]


@pytest.mark.skipif(not is_available(), reason="needs a C++ compiler")
def test_the_engine_looks_where_its_reference_looks(bundled: Translator) -> None:
    texts = ["The dog sleeps in the house.", "Yes.", "We bought an old house near the river last year."]
    targets = [
        "Der Hund schläft im Haus.",
        "Ja.",
        "Letztes Jahr haben wir ein altes Haus in der Nähe des Flusses gekauft.",
    ]
    assert isinstance(bundled.generator, Stepwise)
    engine = bundled.generator.model
    assert isinstance(engine, Int8Transformer)
    together = quick_looks(engine, bundled.tokenizer, [(text, "de") for text in texts], targets)
    for found, text, target in zip(together, texts, targets, strict=True):
        expected = attention_between(bundled.readable_model, bundled.tokenizer, text, target, "de")
        assert expected is not None
        assert (found.read, found.written) == (expected.read, expected.written)
        torch.testing.assert_close(found.weights.sum(dim=-1), torch.ones(len(found.written)))
        torch.testing.assert_close(found.weights, expected.weights.cpu(), atol=0.05, rtol=0)


def test_sources_are_found_but_not_inside_longer_ones() -> None:
    assert find_sources(["york", "new york", "paris"], "New York is not York, York.") == [
        [(16, 20), (22, 26)],
        [(0, 8)],
        [],
    ]
    assert occurrences("Hund", "Hund, Hunde und Hund") == 2


def test_the_place_of_a_term_is_the_word_linked_most_without_punctuation() -> None:
    links = [WordLink((0, 3), (0, 4), 0.9), WordLink((4, 7), (5, 12), 0.6), WordLink((4, 7), (0, 4), 0.2)]
    assert place_of((4, 7), "Der „Hund“.", [WordLink((4, 7), (4, 11), 0.6)]) == (5, 9)
    assert place_of((4, 7), "Der, Hundes.", links) == (5, 11)
    assert place_of((8, 9), "Der, Hundes.", links) is None
    assert place_of(None, "Der, Hundes.", links) is None
    assert place_of((4, 7), "我读这本书", [WordLink((4, 7), (3, 4), 0.6), WordLink((4, 7), (4, 5), 0.7)]) == (3, 5)
