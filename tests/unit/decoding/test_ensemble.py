"""An ensemble is a model like any other, and its distribution is the renormalised geometric mean of its members'."""

import pytest
import torch

from heedful.decoding import Ensemble
from heedful.errors import UserError
from tests.support.scripted import BOS, EOS, PAD, ScriptedModel, batch_of, random_script
from tests.support.searches import search

OPTIONS = {"bos_id": BOS, "eos_id": EOS, "forbidden_ids": (PAD, BOS), "max_lengths": [7, 7], "beam_size": 3}
SOURCES = batch_of([(5,), (6, 7)])


def test_members_that_agree_change_nothing() -> None:
    script = random_script(1, 9)
    alone = search(ScriptedModel(script), *SOURCES, **OPTIONS)
    together = search(Ensemble([ScriptedModel(script), ScriptedModel(script)]), *SOURCES, **OPTIONS)
    for [one], [other] in zip(alone, together, strict=True):
        assert one.token_ids == other.token_ids
        assert one.score == pytest.approx(other.score, abs=1e-5)


def test_two_members_search_like_one_with_the_mean_of_their_log_probabilities() -> None:
    first, second = random_script(1, 9), random_script(2, 9)

    def mean(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        logits = torch.tensor([first(source, written), second(source, written)], dtype=torch.float64)
        return logits.log_softmax(-1).mean(0).tolist()

    found = search(Ensemble([ScriptedModel(first), ScriptedModel(second)]), *SOURCES, **OPTIONS)
    expected = search(ScriptedModel(mean), *SOURCES, **OPTIONS)
    for [one], [other] in zip(found, expected, strict=True):
        assert one.token_ids == other.token_ids
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)


def test_members_must_share_a_vocabulary() -> None:
    with pytest.raises(UserError, match=r"must share a vocabulary, but have \[8, 9\] tokens"):
        search(Ensemble([ScriptedModel(random_script(1, 8)), ScriptedModel(random_script(1, 9))]), *SOURCES, **OPTIONS)


def test_an_ensemble_needs_a_member() -> None:
    with pytest.raises(UserError, match="at least 1 model, but has 0"):
        Ensemble([])
