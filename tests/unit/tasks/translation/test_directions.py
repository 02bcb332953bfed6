"""Which language into which: what is given, what is detected, what goes through a third language, what is refused."""

import pytest

from heedful.errors import UserError
from heedful.tasks.translation.directions import Directions, Route

BOTH_WAYS = Directions.around("en", "de", ("de", "en", "fr", "zh"))
ONE_WAY = Directions.around("en", "de", ())


def refusal(directions: Directions, source: str | None, target: str | None) -> str:
    with pytest.raises(UserError) as caught:
        directions.check(source, target)
    return str(caught.value)


def test_a_model_that_names_no_directions_goes_out_of_its_source_language_and_back() -> None:
    out = [("en", "de"), ("en", "fr"), ("en", "zh")]
    assert set(BOTH_WAYS.pairs) == {*out, *((target, source) for source, target in out)}
    assert Directions.around("en", "de", ("de", "fr")).pairs == (("en", "de"), ("en", "fr"))
    assert ONE_WAY.pairs == (("en", "de"),)


def test_what_is_given_is_taken() -> None:
    assert BOTH_WAYS.route("Hallo", "en", "zh") == Route("en", None, ("zh",), "zh")
    assert BOTH_WAYS.route("Hallo", "zh", None) == Route("zh", None, ("en",), "en")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo ist der nächste Bahnhof, bitte?", "de"),
        ("Où est la gare la plus proche ?", "fr"),
        ("请问车站在哪里？", "zh"),
    ],
)
def test_the_language_is_detected_and_english_is_what_is_meant(text: str, language: str) -> None:
    route = BOTH_WAYS.route(text, None, None)
    assert (route.source, route.steps, route.target) == (language, ("en",), "en")
    assert route.confidence is not None
    assert route.confidence > 0.8


def test_out_of_english_the_target_must_be_said() -> None:
    with pytest.raises(UserError) as caught:
        BOTH_WAYS.route("Where is the station, please?", None, None)
    assert str(caught.value) == (
        'The target language must be said, because this model translates from "en" into "de", "fr", "zh". '
        "Say which with --to."
    )
    assert refusal(BOTH_WAYS, "en", None) == str(caught.value)
    assert refusal(Directions([("en", "de"), ("en", "fr")]), None, None).startswith("The target language must be said")


def test_one_way_needs_neither_words_nor_detection() -> None:
    route = ONE_WAY.route("Où est la gare la plus proche ?", None, None)
    assert route == Route("en", None, ("de",), "de", seems="fr"), "but what the text seems to be in is said"


def test_an_untrained_direction_goes_through_a_language_that_both_know() -> None:
    assert BOTH_WAYS.route("Wo ist er?", "de", "fr") == Route("de", None, ("en", "fr"), "fr")
    one_way = Directions([("de", "en"), ("en", "de"), ("fr", "de")])
    assert one_way.route("Où ?", "fr", "en").steps == ("de", "en")


def test_no_way_at_all_is_said() -> None:
    apart = Directions([("de", "en"), ("fr", "zh")])
    assert refusal(apart, "de", "zh") == 'This model has no way from "de" to "zh", only de → en, fr → zh.'


def test_text_in_the_wanted_language_stays() -> None:
    assert BOTH_WAYS.route("Where is the nearest station, please?", None, "en").steps == ()
    assert BOTH_WAYS.route("Wo ist er?", "de", "de").steps == ()


def test_what_may_be_two_languages_is_rather_translated() -> None:
    """One word says little about its language; handing it back would be no answer."""
    for text in ("Hotel", "Restaurant", "Taxi", "12:30"):
        assert BOTH_WAYS.route(text, None, "de").steps == ("de",)
        assert BOTH_WAYS.route(text, None, "en").steps == ("en",)


def test_nothing_is_detected_in_nothing() -> None:
    assert BOTH_WAYS.route("", None, None) == Route(None, None, (), None)


def test_languages_the_model_does_not_know_are_refused() -> None:
    assert refusal(BOTH_WAYS, "cs", "de") == (
        'This model translates from "en", "de", "fr", "zh", but was asked to from "cs".'
    )
    assert refusal(ONE_WAY, None, "fr") == 'This model translates into "de", but was asked for "fr".'
    assert refusal(Directions([("yo", "en"), ("de", "en")]), None, None) == (
        'The language of the text must be said with --from, because "yo" cannot be detected.'
    )


def test_a_model_from_a_language_into_itself_translates() -> None:
    assert Directions([("en", "en")]).route("hello", None, None).steps == ("en",)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("¿Dónde está la estación?", "es"),
        ("Grazie mille, ci vediamo domani.", "it"),
        ("Ik weet het niet.", "nl"),
        ("Где находится вокзал?", "ru"),
        ("駅はどこですか。", "ja"),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", None),
    ],
)
def test_a_text_in_none_of_the_models_languages_is_left_as_it_is(text: str, source: str | None) -> None:
    for target in ("de", "en", None):
        route = BOTH_WAYS.route(text, None, target)
        assert (route.source, route.steps, route.target, route.is_unknown) == (source, (), target, True)
    given = BOTH_WAYS.route(text, "fr", "en")
    assert given == Route("fr", None, ("en",), "en", seems=source), "what is given is taken, and doubted"


def test_a_language_the_model_only_writes_is_known_when_it_is_the_wanted_one() -> None:
    into_spanish = Directions([("en", "es"), ("de", "es")])
    there = into_spanish.route("¿Dónde está la estación de autobuses?", None, "es")
    assert (there.source, there.steps, there.is_unknown) == ("es", (), False)


@pytest.mark.parametrize(
    "text",
    ["OK", "Hotel", "Taxi", "Tom", "Maria", "Madrid", "Barcelona", "García", "Pizza", "Nokia", "Amsterdam", "12:30",
     "3.14", "José Ramírez", "Giuseppe Verdi", "São Paulo", "Zlatan Ibrahimović", "https://es.wikipedia.org/wiki/Casa",
     "foo@ejemplo.es", "for (int i = 0; i < n; i++) { sum += a[i]; }", "def main(): return None", "git commit -m fix",
     "SELECT name FROM users WHERE id = 5;", "Lorem", "C3PO", "I", "a", "no", "Ja", "Hmm", "hahaha", "LOL"],
)  # fmt: skip
def test_names_code_and_single_words_are_taken_for_a_language_the_model_knows(text: str) -> None:
    assert not BOTH_WAYS.route(text, None, "en").is_unknown
    assert BOTH_WAYS.route(text, None, "de").steps
