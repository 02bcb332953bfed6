"""All ways to search, as a translator is asked for them: drawn, diverse, least risk, a prefix; and what is refused."""

import math
from dataclasses import replace
from typing import Any

import pytest

from heedful import load
from heedful.decoding import Diverse, Hypothesis, Sampling
from heedful.errors import UserError
from heedful.tasks.translation.minimum_risk import least_risk_first
from heedful.tasks.translation.request import MinimumRisk, SearchOptions, TranslationRequest
from heedful.tasks.translation.translator import Translator
from tests.support.tiny_models import save_model

TEXTS = ["where is the station", "the station. Where is it?", "", "is where\n\nthe station is"]
ASKED = TranslationRequest("en", "de")


@pytest.fixture(scope="module", params=["none", "int8"])
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en", "fr"))
    return load(folder, device="cpu", quantize=request.param)


@pytest.mark.parametrize("way", [Sampling(seed=5), Diverse(), MinimumRisk(6, Sampling(seed=5)), MinimumRisk(6)])
def test_a_text_has_the_same_translation_alone_and_among_others(translator: Translator, way: Any) -> None:
    asked = replace(ASKED, way=way, n_best=3)
    together = translator.translate_detailed(TEXTS, request=asked)
    alone = [translator.translate_detailed([text], request=asked)[0] for text in TEXTS]
    assert [[it.text for it in one.alternatives] for one in together] == [
        [it.text for it in one.alternatives] for one in alone
    ]
    assert together[0].alternatives[0].text != together[0].alternatives[1].text


def test_another_seed_draws_another_translation(translator: Translator) -> None:
    drawn = [translator.translate(TEXTS[0], request=replace(ASKED, way=Sampling(seed=seed))) for seed in (1, 2, 3, 1)]
    assert drawn[0] == drawn[3]
    assert len(set(drawn)) > 1


@pytest.mark.parametrize("way", [None, Sampling(seed=5), MinimumRisk(4)])
def test_a_translation_begins_with_its_prefix_and_only_the_text_does(translator: Translator, way: Any) -> None:
    [found] = translator.translate_detailed(
        ["where is it. The station."], request=replace(ASKED, prefix="station is", way=way)
    )
    assert found.text.startswith("station is")
    assert len(found.units) == 2
    assert not found.units[1].text.startswith("station is")
    assert translator.translate("where is it", request=replace(ASKED, source="fr", prefix="the")).startswith("the")


def test_the_length_penalty_decides_how_translations_compare(translator: Translator) -> None:
    [found] = translator.translate_detailed([TEXTS[0]], request=replace(ASKED, length_penalty=0.0))
    assert math.isclose(found.score, found.alternatives[0].log_prob)


def test_least_risk_is_what_most_candidates_agree_on() -> None:
    texts = ["Something else", "The dog sleeps.", "The dog is asleep.", "The dog sleeps"]
    candidates = [Hypothesis([number], -1.0, -1.0, "eos", [-1.0]) for number in range(4)]
    for utility in ("chrf", "bleu"):
        ordered = least_risk_first(candidates, texts, utility, "en")  # type: ignore[arg-type]
        assert ordered[-1] == candidates[0]
        assert ordered[0] in (candidates[1], candidates[3])
    assert least_risk_first(candidates, ["A b c"] * 3 + ["D e f"], "chrf", "en") == [candidates[0], candidates[3]]


@pytest.mark.parametrize(
    ("options", "asked", "sentence"),
    [
        ({"top_k": 3}, {}, "`--top-k` must go with `--sample`: without it nothing is drawn."),
        ({"seed": 3, "mbr": 4}, {}, "`--seed` must go with `--sample`: without it nothing is drawn."),
        ({"sample": True, "diverse": 3}, {}, "`--diverse` must not be given together with `--sample`."),
        ({"mbr": 4, "diverse": 3}, {}, "`--diverse` must not be given together with `--mbr`."),
        ({"diverse": 3}, {"n_best": 2}, "`--diverse` says already how many translations are wanted."),
        (
            {"sample": True},
            {"beam_size": 2},
            "A beam must not be given with sampling or diverse search, which keep none. Leave one of them out.",
        ),
        ({"mbr": 999}, {}, "Candidates of minimum Bayes risk must be between 2 and 256, but are 999."),
        (
            {"mbr": 3},
            {"n_best": 5},
            "At most as many translations can be had as candidates are compared, 3, but 5 are wanted. Compare more.",
        ),
        ({}, {"length_penalty": math.nan}, "The length penalty must be between 0 and 10, but is nan."),
        ({}, {"prefix": "x" * 1001}, "A prefix must have at most 1,000 characters, but has 1,001."),
    ],
)
def test_what_contradicts_itself_is_refused(options: dict[str, Any], asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        SearchOptions(**options).request(TranslationRequest(**asked), lambda name: "--" + name.replace("_", "-"))
    assert str(caught.value) == sentence


def test_a_request_is_not_given_twice(translator: Translator) -> None:
    with pytest.raises(UserError, match="it has them itself"):
        translator.translate("where", to="de", request=ASKED)


def test_a_prefix_that_leaves_no_room_is_refused(translator: Translator) -> None:
    with pytest.raises(UserError, match=r"A prefix must have at most [\d,]+ tokens, but has"):
        translator.translate("where", request=replace(ASKED, prefix="q " * 400))
