from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heedful.config.training import DecodingConfig
from heedful.decoding.length_penalty import length_penalty
from heedful.models import save_model_folder
from heedful.tasks.loading import load_translator

from .tiny_models import make_model

WEIGHT = 5.0
SENTENCES = ["where is the station", "the station", "is the where"]


@pytest.fixture
def translators(tmp_path: Path):
    made = {}
    for name, weights in {"plain": {}, "asks": {"en-de": WEIGHT}}.items():
        folder = make_model(languages=("de", "en"), seed=3)
        decoding = DecodingConfig(beam_size=4, extra_tokens=4, length_penalty=1.0, reverse_weights=weights)
        save_model_folder(tmp_path / name, replace(folder, decoding=decoding))
        made[name] = load_translator(tmp_path / name, quantize="none")
    return made


def way_back(translator, text: str, source: str) -> float:
    """log p(source | text), from one forward pass of the model."""
    tokenizer = translator.tokenizer
    ids, wanted = torch.tensor([tokenizer.encode_source(text, "en")]), tokenizer.encode_target(source)
    inputs = torch.tensor([[tokenizer.bos_id, *wanted[:-1]]])
    with torch.no_grad():
        log_probs = translator.model(ids, None, inputs).log_softmax(-1)[0]
    return sum(log_probs[place, token].item() for place, token in enumerate(wanted))


def test_outputs_are_ordered_by_both_ways(translators):
    plain = translators["plain"].translate_detailed(SENTENCES, from_="en", to="de", n_best=4)
    asked = translators["asks"].translate_detailed(SENTENCES, from_="en", to="de", n_best=4)
    changed = 0
    for source, one, other in zip(SENTENCES, plain, asked, strict=True):
        expected = {
            alternative.tokens: (
                alternative.log_prob + WEIGHT * way_back(translators["plain"], alternative.text, source)
            )
            / length_penalty(len(alternative.token_log_probs), 1.0)
            for alternative in one.alternatives
        }
        ranked = sorted(expected, key=lambda tokens: -expected[tokens])
        assert [alternative.tokens for alternative in other.alternatives] == ranked
        assert [alternative.score for alternative in other.alternatives] == pytest.approx(
            [expected[tokens] for tokens in ranked], abs=1e-4
        )
        changed += ranked != [alternative.tokens for alternative in one.alternatives]
    assert changed


def test_a_direction_without_a_weight_and_the_number_of_alternatives_stay_as_they_are(translators):
    for direction in ({"from_": "de", "to": "en"},):
        one, other = (translators[name].translate_detailed(SENTENCES, **direction, n_best=2) for name in translators)
        assert one == other
    assert len(translators["asks"].translate_detailed(SENTENCES[:1], from_="en", to="de")[0].alternatives) == 1


def test_the_result_for_a_sentence_does_not_depend_on_the_others(translators):
    together = translators["asks"].translate(SENTENCES, from_="en", to="de")
    assert together == [translators["asks"].translate(text, from_="en", to="de") for text in SENTENCES]
