"""A trace says what the translator says, in more words."""

import copy
from pathlib import Path

import numpy as np
import pytest

from heedful import load
from heedful.engines.int8.engine import Int8Transformer
from heedful.errors import HeedfulError, UserError
from heedful.insight.trace import trace_translation
from heedful.tasks.translation.glossary import read_glossary
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.request import TranslationRequest
from heedful.text.tokens import Token, merge_words, target_tokens
from tests.support.small_models import SENTENCE, small_translator
from tests.support.tiny_models import save_model


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_the_trace_is_that_of_the_translation(norm: str, beam_size: int) -> None:
    translator = small_translator(norm)
    trace = translator.translate(SENTENCE, beam_size=beam_size, trace=True)
    (plain,) = translator.translate_detailed([SENTENCE], beam_size=beam_size)
    best = plain.alternatives[0]
    assert (trace.text, trace.tokens, trace.finish_reason) == (best.text, best.tokens, best.finish_reason)
    assert trace.score == pytest.approx(best.score, abs=1e-5)
    assert trace.log_prob == pytest.approx(trace.forced_log_prob, abs=1e-4)
    assert [step.log_prob for step in trace.steps] == pytest.approx(list(best.token_log_probs), abs=1e-4)
    assert [node.text for node in trace.beam.best_path] == list(trace.tokens)
    assert trace.warnings == plain.warnings
    assert trace.engine == "float"


def test_a_list_gives_a_list() -> None:
    traces = small_translator().translate([SENTENCE, "the station"], trace=True)
    assert [trace.source for trace in traces] == [SENTENCE, "the station"]


def test_tokens_are_the_text_they_stand_for() -> None:
    translator = small_translator(languages=("de", "en"))
    text = "wo ist 𝄞 die  Straße"
    trace = translator.translate(text, to="en", from_="de", trace=True)
    assert [token.id for token in trace.source_tokens] == translator.tokenizer.encode_source(text, "en")
    assert trace.source_tokens[0].is_special
    assert trace.source_tokens[-1].is_special
    covered = {place for token in trace.source_tokens for place in range(token.start, token.end)}
    assert covered >= {place for place, character in enumerate(text) if character != " "}
    clef = [token for token in trace.source_tokens if (token.start, token.end) == (7, 8)]
    assert len(clef) == 4  # its bytes
    assert "".join(trace.text[token.start : token.end] for token in trace.target_tokens) == trace.text
    assert trace.input_tokens[1:] == trace.target_tokens[:-1]


def test_bytes_of_an_output_stand_for_the_character_they_make() -> None:
    tokenizer = small_translator().tokenizer
    ids = [*tokenizer.encode_target("wo 𝄞 ist")]
    tokens = target_tokens(tokenizer, ids)
    assert [(token.start, token.end) for token in tokens if token.id in tokenizer.target.byte_ids] == [(3, 4)] * 4
    assert tokens[-1] == Token("</s>", tokenizer.eos_id, 8, 8, is_special=True)
    broken = target_tokens(tokenizer, [tokenizer.target.byte_ids[0xE4], *tokenizer.encode_target("wo")])
    assert all(token.start <= token.end for token in broken)


def test_words_are_made_of_their_pieces() -> None:
    tokens = [
        Token("<2de>", 9, 0, 0, True), Token("▁wonder", 1, 0, 6), Token("ful", 2, 6, 9), Token(",", 3, 9, 10),
        Token("▁", 4, 10, 11), Token("<0xE5>", 5, 11, 12), Token("<0xB1>", 6, 11, 12), Token("书", 7, 12, 13),
        Token("店", 8, 13, 14), Token("</s>", 2, 14, 14, True),
    ]  # fmt: skip
    words = merge_words(tokens, "wonderful, 山书店")
    assert [word.text for word in words] == ["wonderful", ",", "山", "书", "店"]
    assert [(word.first, word.end) for word in words] == [(1, 3), (3, 4), (4, 7), (7, 8), (8, 9)]


def test_attention_is_had_by_use_layer_and_head() -> None:
    trace = small_translator().translate(SENTENCE, trace=True)
    written, read = len(trace.target_tokens), len(trace.source_tokens)
    assert trace.attention("cross", layer=1, head=0).shape == (written, read)
    assert trace.attention("decoder", layer=0, head=1).shape == (written, written)
    np.testing.assert_array_equal(trace.attention("encoder", layer=2, head=1), trace.weights["encoder"][2, 1])
    with pytest.raises(UserError, match=r"`layer` must be between 0 and 1, but is 2\."):
        trace.attention("cross", layer=2, head=0)
    with pytest.raises(UserError, match=r"`head` must be between 0 and 1, but is -1\."):
        trace.attention("cross", layer=0, head=-1)
    with pytest.raises(UserError, match='`kind` must be "encoder", "decoder" or "cross"'):
        trace.attention("self", layer=0, head=0)  # type: ignore[arg-type]


def test_every_step_lists_the_most_probable_tokens() -> None:
    trace = small_translator().translate(SENTENCE, beam_size=1, trace=True)
    for step, token in zip(trace.steps, trace.target_tokens, strict=True):
        values = [choice.log_prob for choice in step.top]
        assert values == sorted(values, reverse=True)
        assert len(values) == 8
        if step.rank < 8:
            assert step.top[step.rank].id == token.id
            assert step.top[step.rank].log_prob == step.log_prob


def test_a_given_hypothesis_is_written_and_not_searched_for() -> None:
    translator = small_translator()
    trace = trace_translation(translator, *translator.plan([SENTENCE]), hypothesis="der bahnhof")
    assert (trace.text, trace.beam, trace.finish_reason) == ("der bahnhof", None, "eos")
    assert trace.log_prob == pytest.approx(sum(step.log_prob for step in trace.steps))
    found = translator.translate(SENTENCE, trace=True)
    again = trace_translation(translator, *translator.plan([SENTENCE]), hypothesis=found.text)
    if again.tokens == found.tokens:
        assert again.log_prob == pytest.approx(found.log_prob, abs=1e-4)


def test_the_search_goes_on_from_a_prefix() -> None:
    translator = small_translator()
    prefix = translator.tokenizer.encode_target("der bahnhof")[:-1]
    trace = trace_translation(translator, *translator.plan([SENTENCE]), prefix_ids=prefix)
    assert [token.id for token in trace.target_tokens[: len(prefix)]] == prefix
    assert trace.num_forced == len(prefix)
    forced = [[node for node in trace.beam.nodes if node.step == step] for step in range(len(prefix))]
    assert [[node.token_id for node in nodes] for nodes in forced] == [[id_] for id_ in prefix]
    own = [step.log_prob for step in trace.steps[: len(prefix)]]
    assert [nodes[0].token_log_prob for nodes in forced] == pytest.approx(own, abs=1e-4)  # as the model thinks of them
    assert len([node for node in trace.beam.nodes if node.step == len(prefix)]) > 1
    with pytest.raises(UserError, match=r"`prefix_ids` must have ids between 0 and \d+, but has 99999."):
        trace_translation(translator, *translator.plan([SENTENCE]), prefix_ids=[99999])
    assert trace.text.startswith("der bahnhof")


def test_the_int8_engine_is_read_through_its_float_twin(tmp_path: Path) -> None:
    if not Int8Transformer.is_available():
        pytest.skip("there is no compiler")
    translator = load_translator(save_model(tmp_path / "model"), device="cpu", quantize="int8")
    trace = trace_translation(translator, *translator.plan([SENTENCE]))
    assert trace.engine == "int8"
    assert trace.text == translator.translate(SENTENCE)
    assert 0 < abs(trace.log_prob - trace.forced_log_prob) < 0.01 * len(trace.tokens)
    forced = trace_translation(translator, *translator.plan([SENTENCE]), prefix_ids=[trace.target_tokens[1].id])
    assert (forced.engine, forced.num_forced) == ("int8", 1)
    assert 0 < abs(forced.log_prob - forced.forced_log_prob) < 0.01 * len(forced.tokens)  # the engine searched
    assert translator.readable_model is translator.readable_model


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    translator = small_translator()
    refusals = {
        "   ": "The text to look into must not be empty, but is.",
        "the " * 200: "The sentence must have at most 128 tokens to be looked into, but has ",
    }
    for text, sentence in refusals.items():
        with pytest.raises(UserError) as refusal:
            translator.translate(text, trace=True)
        assert str(refusal.value).startswith(sentence)
    several = small_translator(languages=("de", "en"))
    with pytest.raises(UserError, match='must be in another language than "en", but seems to be in it already'):
        several.translate(SENTENCE, to="en", from_="en", trace=True)
    folders = [save_model(tmp_path / name) for name in ("a", "b")]
    ensemble = load_translator(folders, quantize="none")
    with pytest.raises(UserError, match="Only a single model can be looked into, but this one is an ensemble"):
        trace_translation(ensemble, *ensemble.plan([SENTENCE]))
    with pytest.raises(UserError, match="Either `hypothesis` or `prefix_ids` may be given, but both are"):
        trace_translation(translator, *translator.plan([SENTENCE]), hypothesis="x", prefix_ids=[9])


def test_a_model_without_numbers_is_refused() -> None:
    broken = copy.deepcopy(small_translator().readable_model)
    broken.decoder.layers[0].feed_forward.contract.bias.data[:] = float("nan")
    translator = small_translator().with_model(broken)
    for options in ({}, {"hypothesis": "wo"}):
        with pytest.raises(HeedfulError, match=r"gives no usable probabilities for this text \(NaN\)"):
            trace_translation(translator, *translator.plan([SENTENCE]), **options)


def test_a_way_through_a_third_language_shows_its_last_step() -> None:
    translator = small_translator(languages=("de", "en", "fr"))
    trace = translator.translate("wo ist der bahnhof", from_="de", to="fr", trace=True)
    assert trace.source == translator.translate("wo ist der bahnhof", from_="de", to="en")
    assert (trace.source_language, trace.target_language) == ("en", "fr")
    assert trace.warnings[0].code == "pivot"


def test_of_a_paragraph_one_sentence_is_looked_into_and_it_is_the_one_that_is_translated() -> None:
    translator = small_translator()
    text = "Where is the station? The station.\n  Is it the station?"
    [whole] = translator.translate_detailed([text])
    for number, unit in enumerate(whole.units):
        trace = trace_translation(translator, *translator.plan([text]), sentence=number)
        assert (trace.source, trace.text) == (unit.source, unit.text)
        assert trace.log_prob == pytest.approx(unit.alternatives[0].log_prob, abs=1e-4)
        assert (trace.sentences, trace.sentence) == (tuple(one.source for one in whole.units), number)
        assert trace.warnings[0].message == f"the text has 3 sentences; what is shown is number {number + 1}."
        assert trace.warnings[1:] == unit.warnings, "the doubts of the search that was made, without another"
    with pytest.raises(UserError, match=r"^`sentence` must be between 0 and 2, but is 3\.$"):
        trace_translation(translator, *translator.plan([text]), sentence=3)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("term", ["bahnhof", "straße zum bahnhof"])
def test_a_trace_with_terms_is_that_of_the_translation_and_marks_them(term: str, beam_size: int) -> None:
    translator = small_translator()
    asked = TranslationRequest(beam_size=beam_size, glossary=read_glossary([f"{SENTENCE.split()[0]}\t{term}"], "terms"))
    (plan,) = translator.plan([SENTENCE], asked)
    trace = trace_translation(translator, plan, beam_size=beam_size)
    assert trace.text == translator.translate(SENTENCE, request=asked)
    assert term in trace.text.lower()
    assert [node.text for node in trace.beam.best_path] == list(trace.tokens)
    forced = [node.token_id for node in trace.beam.best_path if node.is_forced]
    forms = plan.units[0].wishes.term_ids(translator.tokenizer)[0].forms
    assert tuple(forced) in forms
    assert [node.token_log_prob for node in trace.beam.best_path] == pytest.approx(
        [step.log_prob for step in trace.steps], abs=1e-4
    )


@pytest.mark.parametrize(("text", "term"), [("The dog sleeps in the house.", "Köter"), ("He is at work.", "Arbeit")])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_term_that_was_put_in_its_place_is_marked_there(text: str, term: str, beam_size: int) -> None:
    translator = load(device="cpu")
    source = "dog" if term == "Köter" else "work"
    asked = TranslationRequest("en", "de", beam_size, glossary=read_glossary([f"{source}\t{term}"], "terms"))
    trace = trace_translation(translator, *translator.plan([text], asked), beam_size=beam_size)
    assert trace.text == translator.translate(text, request=asked)
    assert "".join(node.text for node in trace.beam.best_path if node.is_forced).strip("▁") == term
    assert not any(node.is_forced for node in trace.beam.nodes if node.parent is None)


def test_terms_are_marked_in_the_last_step_of_a_route() -> None:
    translator = load(device="cpu")
    asked = TranslationRequest("de", "fr", 1, glossary=read_glossary(["Hund\tclebs"], "terms"))
    trace = trace_translation(translator, *translator.plan(["Der Hund schläft."], asked), beam_size=1)
    assert "clebs" in trace.text
    assert "".join(node.text for node in trace.beam.best_path if node.is_forced).strip("▁") == "clebs"
