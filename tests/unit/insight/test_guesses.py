"""What is told of a speculative search is what it did: the passes add up to greedy search, right guesses are right."""

from pathlib import Path

import pytest

import heedful
from heedful.insight.guesses import Guesses, follow_guesses
from heedful.insight.payload import to_payload
from heedful.insight.trace import trace_translation
from heedful.tasks.translation.glossary import Entry, Glossary
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator

NAMES = "Mr Schwarzenegger-Wladimirowitsch met Arnold Schwarzenegger-Wladimirowitsch in Wladiwostok."


@pytest.fixture(scope="module")
def bundled() -> Translator:
    return heedful.load(device="cpu")


def guesses_of(translator: Translator, text: str, prefix_ids: tuple[int, ...] = ()) -> Guesses:
    (plan,) = translator.plan([text], TranslationRequest("en", "de"))
    found = follow_guesses(translator, plan.units[0].source_ids, prefix_ids)
    assert found is not None
    return found


@pytest.mark.parametrize("text", [NAMES, "Where is the station?", "1234-5678 and 1234-5678", "a a a a a a a"])
def test_the_passes_add_up_to_what_greedy_search_writes(bundled: Translator, text: str) -> None:
    found = guesses_of(bundled, text)
    (plan,) = bundled.plan([text], TranslationRequest("en", "de"))
    greedy = bundled.hypothesis(plan.units[0].source_ids, beam_size=1)
    written = [token for one in found.passes for token in one.written]
    assert [token.id for token in written][: len(greedy.token_ids)] == greedy.token_ids
    assert [token.log_prob for token in written] == pytest.approx(greedy.token_log_probs, abs=1e-3)
    assert found.num_tokens == len(greedy.token_log_probs)
    for one in found.passes:
        right = [guess.id == token.id for guess, token in zip(one.guessed, one.written, strict=False)]
        assert right[: one.num_accepted] == [True] * one.num_accepted
        assert not any(right[one.num_accepted : one.num_accepted + 1])
        assert len(one.written) - one.num_accepted in (0, 1)


def test_names_are_guessed_from_the_source(bundled: Translator) -> None:
    found = guesses_of(bundled, NAMES)
    assert found.drafter == "lookup"
    assert len(found.passes) * 2 < found.num_tokens


def test_a_trace_has_them_in_its_payload_and_without_them_where_terms_must_be_there(bundled: Translator) -> None:
    trace = heedful.load(device="cpu").translate(NAMES, from_="en", to="de", trace=True)
    assert trace.guesses == guesses_of(bundled, NAMES)
    told = to_payload(trace)["guesses"]
    assert [len(one["written"]) for one in told["passes"]] == [len(one.written) for one in trace.guesses.passes]
    assert {"guessed", "numAccepted", "written"} == set(told["passes"][0])
    glossary = Glossary((Entry("station", ("Haltestelle",)),))
    (plan,) = bundled.plan(["Where is the station?"], TranslationRequest("en", "de", glossary=glossary))
    assert trace_translation(bundled, plan).guesses is None
    assert trace_translation(bundled, plan, hypothesis="Wo?").guesses is None


def test_what_is_given_is_what_was_guessed_first(bundled: Translator) -> None:
    plain = guesses_of(bundled, NAMES)
    begin = tuple(token.id for one in plain.passes for token in one.written)[:3]
    found = guesses_of(bundled, NAMES, begin)
    assert tuple(guess.id for guess in found.passes[0].guessed) == begin
    assert found.passes[0].num_accepted == 3
    assert found.text == plain.text


def test_a_recurrent_model_has_none() -> None:
    folder = Path(heedful.__file__).parent / "assets" / "lessons" / "attention"
    trace = heedful.load(folder, device="cpu").translate("Where are you?", trace=True)
    assert trace.guesses is None
    assert to_payload(trace)["guesses"] is None
