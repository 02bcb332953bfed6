"""What a `Translator` says about its translations: languages, per-token numbers, the ways through several models."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heedful import load
from heedful.decoding import Ensemble
from heedful.engines.int8.engine import Int8Transformer
from heedful.errors import UserError
from heedful.models import Transformer
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import load_model_folder, restore_model, save_model_folder
from heedful.storage.quantized_weights import QuantizedWeights
from heedful.tasks.translation.translator import Translator
from tests.support.tiny_models import make_model, save_model

LANGUAGES = ("de", "en", "fr", "zh")
SOURCES = ["where is the station", "The station. Where is it?", "", "is " * 40]


@pytest.fixture(scope="module")
def multilingual(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(save_model(tmp_path_factory.mktemp("models") / "multi", languages=LANGUAGES), device="cpu")


@pytest.mark.parametrize("quantize", ["auto", "none"])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_token_log_probs_sum_to_the_log_prob(tmp_path: Path, quantize: str, beam_size: int) -> None:
    translator = load(save_model(tmp_path / "model"), device="cpu", quantize=quantize)
    translator = replace(translator, decoding=translator.decoding.model_copy(update={"max_source_tokens": 30}))
    n_best = 1 if beam_size == 1 else 3
    found = translator.translate_detailed(SOURCES, beam_size=beam_size, n_best=n_best)
    assert found[3].warnings[0].code == "split"
    for translation in found:
        for alternative in translation.alternatives:
            assert len(alternative.tokens) == len(alternative.token_log_probs)
            assert math.isclose(sum(alternative.token_log_probs), alternative.log_prob, abs_tol=1e-4)
            assert all(log_prob <= 0 for log_prob in alternative.token_log_probs)
    assert found[2].alternatives[0].tokens == ()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beam_size": 0}, "`beam_size` must be at least 1, but is 0."),
        ({"beam_size": 10**6}, "`beam_size` must be at most 256, but is 1,000,000."),
        ({"n_best": 10**6}, "`n_best` must be at most 256, but is 1,000,000."),
    ],
)
def test_a_beam_has_bounds(multilingual: Translator, settings: dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        multilingual.translate_detailed(["the station"], to="de", **settings)
    assert str(caught.value) == sentence


def test_the_end_symbol_is_a_token_where_the_model_wrote_it(tmp_path: Path) -> None:
    folder = make_model()
    config = folder.description.model.model_copy(update={"output_bias": True})
    bias = torch.zeros(folder.description.target_vocab_size)
    bias[folder.description.special_ids.eos] = 30.0  # a model that ends at once
    weights = {**folder.weights, "output_projection.bias": bias}
    save_model_folder(
        tmp_path / "ending", replace(folder, description=folder.description.changed(model=config), weights=weights)
    )
    [ended] = load(tmp_path / "ending", device="cpu").translate_detailed(["the station"])
    assert ended.alternatives[0].tokens == ("</s>",)
    assert ended.alternatives[0].finish_reason == "eos"


def test_each_line_has_its_language_and_its_tag(multilingual: Translator) -> None:
    lines = ["Wo ist der nächste Bahnhof, bitte?", "", "请问车站在哪里？"]
    found = multilingual.translate_detailed(lines)
    assert [(it.source_language, it.target_language) for it in found] == [("de", "en"), (None, None), ("zh", "en")]
    assert found[0].source_confidence is not None
    given = multilingual.translate_detailed(lines, from_="de", to="en")
    assert given[0].text == found[0].text
    assert given[0].source_confidence is None
    assert multilingual.translate("the station", to="de") != multilingual.translate("the station", to="fr")


def test_between_two_languages_the_way_leads_through_english(multilingual: Translator) -> None:
    [found] = multilingual.translate_detailed(["wo ist der bahnhof"], from_="de", to="fr", n_best=2)
    english = multilingual.translate("wo ist der bahnhof", from_="de", to="en", beam_size=2)
    assert found.text == multilingual.translate(english, from_="en", to="fr", beam_size=2)
    assert len(found.alternatives) == 2
    assert str(found.warnings[0]) == (
        'the model was not trained from "de" to "fr", so the text was translated through "en".'
    )
    assert found.warnings[0].code == "pivot"


def test_text_in_the_wanted_language_is_handed_back(multilingual: Translator) -> None:
    [found] = multilingual.translate_detailed(["Where is the nearest\n  station, please?"], to="en")
    assert found.text == "Where is the nearest\n  station, please?"
    assert [(warning.code, warning.message) for warning in found.warnings] == [
        ("unchanged", 'the text is in "en" already and was left as it is.')
    ]


def test_text_in_none_of_the_models_languages_is_handed_back(multilingual: Translator) -> None:
    found = multilingual.translate_detailed(["¿Dónde está la\nestación?", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"], to="de")
    assert [it.text for it in found] == ["¿Dónde está la\nestación?", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"]
    assert [(it.source_language, it.target_language) for it in found] == [("es", "de"), (None, "de")]
    assert found[0].source_confidence is not None
    assert found[0].source_confidence > 0.9
    assert [(warning.code, warning.message) for it in found for warning in it.warnings] == [
        (
            "unknown_language",
            'the text seems to be in Spanish ("es"), which this model does not translate from, and was left as it is. '
            "Say the language with --from to translate it anyway.",
        ),
        (
            "unknown_language",
            "the text seems to be in a language that this model does not translate from, and was left as it is. "
            "Say the language with --from to translate it anyway.",
        ),
    ]
    given = multilingual.translate_detailed(["¿Dónde está la estación?"], from_="fr", to="en")
    assert "unknown_language" not in [warning.code for warning in given[0].warnings]


def test_a_folder_may_name_its_directions_and_its_threshold(tmp_path: Path) -> None:
    folder = make_model(languages=LANGUAGES)
    changed = folder.description.changed(directions=(("de", "en"), ("en", "zh")), facts={"low_confidence": 0.5})
    save_model_folder(tmp_path / "model", replace(folder, description=changed))
    translator = load(tmp_path / "model", device="cpu")
    assert (translator.source_languages, translator.target_languages) == (("de", "en"), ("en", "zh"))
    [found] = translator.translate_detailed(["wo ist der bahnhof"], from_="de")
    assert "low_confidence" in [warning.code for warning in found.warnings], "no mean log-probability is above 0"


def test_an_ensemble_of_a_model_with_itself_is_the_model(tmp_path: Path) -> None:
    path = save_model(tmp_path / "model")
    for quantize in ("auto", "none"):
        alone = load(path, device="cpu", quantize=quantize)
        twice = load([path, path], device="cpu", quantize=quantize)
        assert isinstance(twice.generator.model, Ensemble)
        assert load([path], device="cpu").translate(SOURCES) == load(path, device="cpu").translate(SOURCES)
        for one, other in zip(alone.translate_detailed(SOURCES), twice.translate_detailed(SOURCES), strict=True):
            assert one.text == other.text
            assert one.score == pytest.approx(other.score, abs=1e-4)


def test_two_models_decide_together(tmp_path: Path) -> None:
    paths = [save_model(tmp_path / str(seed), seed=seed) for seed in (1, 2)]
    together = load(paths, device="cpu", quantize="none")
    [found] = together.translate_detailed(["where is the station"], beam_size=1)
    assert found.text not in [
        load(path, device="cpu", quantize="none").translate("where is the station") for path in paths
    ]
    # By hand: every model reads what was written, their log-probabilities are averaged, and the average is normalised.
    tokenizer = together.tokenizer
    source_ids = torch.tensor([tokenizer.encode_source("where is the station")])
    ids = [tokenizer.target.vocabulary.index(piece) for piece in found.alternatives[0].tokens]
    target_ids = torch.tensor([[tokenizer.bos_id, *ids[:-1]]])
    models = [restore_model(load_model_folder(path, TranslatorDescription)) for path in paths]
    with torch.no_grad():
        mean = torch.stack([model(source_ids, None, target_ids).log_softmax(-1) for model in models]).mean(0)
    by_hand = mean.log_softmax(-1)[0].gather(1, torch.tensor(ids).unsqueeze(1)).squeeze(1)
    assert found.alternatives[0].token_log_probs == pytest.approx(by_hand.tolist(), abs=1e-4)


def test_models_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one = save_model(tmp_path / "one")
    other = save_model(tmp_path / "other", lines=["quite other words"])
    with pytest.raises(UserError) as caught:
        load([one, other], device="cpu")
    assert str(caught.value).startswith(
        f"The models of an ensemble must have the same tokenizer, but {other} has another than {one}. "
    )
    folder = make_model()
    back = folder.description.changed(source_language="de", target_language="en")
    save_model_folder(tmp_path / "back", replace(folder, description=back))
    with pytest.raises(UserError, match=r"^The models of an ensemble must translate the same languages, but "):
        load([one, tmp_path / "back"], device="cpu")


@pytest.mark.skipif(not Int8Transformer.is_available(), reason="needs a C++ compiler")
def test_a_folder_in_int8_translates_as_the_one_it_was_made_from(tmp_path: Path) -> None:
    path = save_model(tmp_path / "float")
    folder = load_model_folder(path, TranslatorDescription)
    save_model_folder(tmp_path / "int8", replace(folder, weights=QuantizedWeights.of(folder.weights)))
    rounded, stored = load(path, device="cpu"), load(tmp_path / "int8", device="cpu")
    assert stored.engine == "int8"
    assert stored.translate_detailed(SOURCES, n_best=2) == rounded.translate_detailed(SOURCES, n_best=2)
    floats = load(tmp_path / "int8", device="cpu", quantize="none")
    assert floats.engine == "float"
    for a, b in zip(floats.translate_detailed(SOURCES), stored.translate_detailed(SOURCES), strict=True):
        assert a.score == pytest.approx(b.score, abs=0.05)


@pytest.mark.gpu
def test_a_folder_in_int8_runs_on_a_gpu_as_floats(tmp_path: Path) -> None:
    folder = make_model()
    save_model_folder(tmp_path / "int8", replace(folder, weights=QuantizedWeights.of(folder.weights)))
    there, here = (load(tmp_path / "int8", device=device, quantize=None) for device in ("cuda", "cpu"))
    assert there.engine == "float"
    assert isinstance(there.readable_model, Transformer)
    for a, b in zip(there.translate_detailed(SOURCES), here.translate_detailed(SOURCES), strict=True):
        assert a.score == pytest.approx(b.score, abs=1e-3)
