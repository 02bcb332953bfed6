"""Sampling draws what the distribution says, from the tokens it may, and is a function of the sentence's seed."""

import math
from collections import Counter
from typing import Any

import pytest
import torch

from heedful.decoding import Sampling, SearchRequest, Stepwise
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.sampling import draw_tokens
from heedful.errors import UserError
from tests.support.scripted import BOS, EOS, PAD, Script, ScriptedModel, batch_of, random_script, rescore
from tests.support.searches import search


def run(script: Script, sources: list[tuple[int, ...]], **options: Any) -> list[list[Hypothesis]]:
    caps = options.pop("max_lengths", [12] * len(sources))
    n_best = options.pop("n_best", 1)
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=caps, forbidden_ids=(PAD, BOS), length_penalty=0.0, n_best=n_best,
        beam_size=n_best, way=Sampling(**options),
    )  # fmt: skip
    return Stepwise(ScriptedModel(script)).generate(*batch_of(sources), request)


def test_frequencies_follow_the_probabilities() -> None:
    probs = torch.tensor([0.5, 0.3, 0.15, 0.05])
    draws = torch.rand(20_000, generator=torch.Generator().manual_seed(1))
    counts = Counter(draw_tokens(probs.log().expand(20_000, 4), draws).tolist())
    assert [counts[token] / 20_000 for token in range(4)] == pytest.approx(probs.tolist(), abs=0.01)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"top_k": 2}, {0, 1}),
        ({"top_k": 9}, {0, 1, 2, 3}),
        ({"top_p": 0.9}, {0, 1, 2}),
        ({"top_p": 0.8}, {0, 1}),
        ({"top_p": 1e-9}, {0}),
        ({"top_k": 1, "top_p": 0.9}, {0}),
    ],
)
def test_top_k_and_top_p_leave_the_unlikely_out(
    options: dict[str, int] | dict[str, float] | dict[str, object], expected: set[int]
) -> None:
    probs = torch.tensor([0.5, 0.3125, 0.125, 0.0625])
    draws = torch.linspace(0, 1 - 2**-24, 2_000)
    assert set(draw_tokens(probs.log().expand(2_000, 4), draws, **options).tolist()) == expected


def test_the_largest_draw_never_falls_on_an_impossible_token() -> None:
    logits = torch.tensor([[0.0, 1.0, -math.inf, 0.3, -math.inf]]).expand(3, 5)
    draws = torch.tensor([0.0, 1 - 2**-24, 1.0])
    assert draw_tokens(logits, draws).tolist() == [0, 3, 3]


def test_rounding_that_exchanges_equal_tokens_does_not_change_the_outcome() -> None:
    logits = torch.linspace(0, 1e-4, 50).expand(500, 50)
    noise = 1e-5 * torch.randn(500, 50, generator=torch.Generator().manual_seed(2))
    draws = torch.rand(500, generator=torch.Generator().manual_seed(3))
    same = draw_tokens(logits, draws) == draw_tokens(logits + noise, draws)
    assert same.float().mean() > 0.99


@pytest.mark.parametrize("n_best", [1, 3])
def test_a_sample_does_not_depend_on_its_batch(n_best: int) -> None:
    script = random_script(4, 9)
    sources, caps = [(5,), (6, 7), (8,), (5, 5)], [9, 4, 12, 1]
    together = run(script, sources, seed=11, max_lengths=caps, n_best=n_best)
    alone = [
        run(script, [it], seed=11, max_lengths=[cap], n_best=n_best)[0] for it, cap in zip(sources, caps, strict=True)
    ]
    assert together == alone
    assert len({tuple(run(script, [(5,)], seed=seed)[0][0].token_ids) for seed in range(30)}) > 10


def test_several_samples_are_independent_and_the_best_comes_first() -> None:
    script = random_script(4, 9)
    [several] = run(script, [(5,)], seed=3, n_best=20)
    assert len(several) == 20
    assert len({tuple(it.token_ids) for it in several}) > 10
    assert [it.score for it in several] == sorted((it.score for it in several), reverse=True)
    [[one]] = run(script, [(5,)], seed=3)
    assert one in several
    for it in several:
        outputs = [*it.token_ids, EOS] if it.finish_reason == "eos" else it.token_ids
        assert it.token_log_probs == pytest.approx(rescore(script, (5,), outputs), abs=1e-6)


def test_log_probs_are_the_models_own_whatever_the_temperature() -> None:
    script = random_script(6, 9)
    [[drawn]] = run(script, [(5,)], seed=3, temperature=2.5, top_k=4)
    outputs = [*drawn.token_ids, EOS] if drawn.finish_reason == "eos" else drawn.token_ids
    assert drawn.token_log_probs == pytest.approx(rescore(script, (5,), outputs), abs=1e-6)
    assert not {PAD, BOS} & set(drawn.token_ids)


def test_the_coldest_sample_is_greedy_search() -> None:
    script = random_script(8, 30, sharpness=9.0)
    options = {"bos_id": BOS, "eos_id": EOS, "max_lengths": [12], "forbidden_ids": (PAD, BOS), "length_penalty": 0.0}
    [[greedy]] = search(ScriptedModel(script), *batch_of([(5,)]), beam_size=1, **options)
    assert run(script, [(5,)], top_k=1)[0][0] == greedy
    assert run(script, [(5,)], temperature=1e-3)[0][0] == greedy


def test_a_nan_ends_one_sentence_with_an_error() -> None:
    tame = random_script(4, 9)
    script = lambda source, written: [math.nan] * 9 if source == (6,) else tame(source, written)  # noqa: E731
    [good], [bad] = run(script, [(5,), (6,)])
    assert bad.finish_reason == "error"
    assert bad.token_ids == []
    assert good == run(script, [(5,)])[0][0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"temperature": 0.0},
            "`temperature` must be greater than 0, but is 0.0. Use a search for the best output.",
        ),
        ({"top_k": 0}, "`top_k` must be at least 1, but is 0."),
        ({"seed": -1}, "`seed` must be between 0 and 4,294,967,295, but is -1."),
        ({"top_p": 1.5}, "`top_p` must be greater than 0 and at most 1, but is 1.5."),
    ],
)
def test_an_impossible_request_gets_a_sentence(options: dict[str, float] | dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        run(random_script(0, 6), [(5,)], **options)
    assert str(caught.value) == sentence
