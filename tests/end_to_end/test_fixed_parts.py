"""What must not change comes through the bundled model, and a doubt is said where it may be wrong."""

import pytest
from benchmarks.fixed_parts import DIRECTIONS, is_kept, make_text

import heedful
from heedful.insight.tracing_translator import TracingTranslator


@pytest.fixture(scope="module")
def translator() -> TracingTranslator:
    loaded: TracingTranslator = heedful.load(device="cpu")
    return loaded


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Visit https://example.org/a?b=1 for more information.", ["https://example.org/a?b=1"]),
        ("You have %d new messages in {folder}.", ["%d", "{folder}"]),
        ("The price is 64,000 dollars.", ["64,000"]),
        ("Thank you! 😀", ["😀"]),
        ("I live <b>here</b>.", ["<b>hier</b>"]),
        ("He is 42 years old and weighs 80 kg.", ["42", "80 kg"]),
    ],
)
def test_parts_of_a_sentence_are_kept(translator: TracingTranslator, text: str, kept: list[str]) -> None:
    (found,) = translator.translate_detailed([text], from_="en", to="de")
    assert all(found.text.count(part) == 1 for part in kept), found.text
    assert found.text != text


@pytest.mark.parametrize("text", ["https://example.org", "12:30 – 14:00", "😀", "{name}", "42"])
def test_what_has_no_words_stays_as_it_is(translator: TracingTranslator, text: str) -> None:
    assert translator.translate(text, from_="en", to="de") == text


def test_drawn_texts_keep_their_parts_in_six_directions(translator: TracingTranslator) -> None:
    import random

    draw = random.Random(11)
    for source, target in DIRECTIONS:
        made = [make_text(draw, source) for _ in range(12)]
        found = translator.translate_detailed([text for text, _ in made], from_=source, to=target)
        for (text, parts), translation in zip(made, found, strict=True):
            assert is_kept(text, translation.text, parts) or translation.warnings, (text, translation.text)


def test_a_trace_says_that_a_translation_is_made_with_stand_ins(translator: TracingTranslator) -> None:
    trace = translator.translate("Visit https://example.org now.", from_="en", to="de", trace=True)
    assert trace.source == "Visit https://example.org now."
    assert [warning.code for warning in trace.warnings][:1] == ["stand_ins"]


def test_neighbours_make_no_difference(translator: TracingTranslator) -> None:
    texts = ["Send it to a@b.org.", "Press {x} and then {y}.", "I love <i>you</i> 😀 very much.", "It is 5 kg."]
    alone = [translator.translate(text, from_="en", to="fr") for text in texts]
    assert translator.translate(texts, from_="en", to="fr") == alone
