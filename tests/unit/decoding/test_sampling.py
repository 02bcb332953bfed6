"""Sampling draws what the distribution says, from the tokens it may, and is a function of the sentence's seed."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch

from heedful.decoding import SearchRequest, sample
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.sampling import draw_tokens
from heedful.errors import UserError
from tests.support.scripted import BOS, EOS, PAD, ScriptedModel, batch_of, random_script, rescore
from tests.support.searches import search


def generators(*seeds: Any) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def run(
    script: Callable[..., Any], sources: list[tuple[int, ...]], seeds: list[int], **options: Any
) -> list[Hypothesis]:
    caps = options.pop("max_lengths", [12] * len(sources))
    request = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=caps, forbidden_ids=(PAD, BOS), length_penalty=0.0)
    return sample(ScriptedModel(script), *batch_of(sources), request, generators=generators(*seeds), **options)


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
    assert draw_tokens(logits, draws).tolist() == [1, 0, 0]


def test_a_sample_does_not_depend_on_its_batch() -> None:
    script = random_script(4, 9)
    sources, seeds, caps = [(5,), (6, 7), (8,), (5, 5)], [11, 12, 13, 14], [9, 4, 12, 1]
    together = run(script, sources, seeds, max_lengths=caps)
    alone = [
        run(script, [it], [seed], max_lengths=[cap])[0] for it, seed, cap in zip(sources, seeds, caps, strict=True)
    ]
    assert together == alone
    assert len({tuple(run(script, [(5,)], [seed])[0].token_ids) for seed in range(30)}) > 10


def test_log_probs_are_the_models_own_whatever_the_temperature() -> None:
    script = random_script(6, 9)
    [drawn] = run(script, [(5,)], [3], temperature=2.5, top_k=4)
    outputs = [*drawn.token_ids, EOS] if drawn.finish_reason == "eos" else drawn.token_ids
    assert drawn.token_log_probs == pytest.approx(rescore(script, (5,), outputs), abs=1e-6)
    assert not {PAD, BOS} & set(drawn.token_ids)


def test_the_coldest_sample_is_greedy_search() -> None:
    script = random_script(8, 30, sharpness=9.0)
    options = {"bos_id": BOS, "eos_id": EOS, "max_lengths": [12], "forbidden_ids": (PAD, BOS), "length_penalty": 0.0}
    [[greedy]] = search(ScriptedModel(script), *batch_of([(5,)]), beam_size=1, **options)
    assert run(script, [(5,)], [1], top_k=1)[0] == greedy
    assert run(script, [(5,)], [1], temperature=1e-3)[0] == greedy


def test_a_nan_ends_one_sentence_with_an_error() -> None:
    tame = random_script(4, 9)
    script = lambda source, written: [math.nan] * 9 if source == (6,) else tame(source, written)  # noqa: E731
    good, bad = run(script, [(5,), (6,)], [1, 2])
    assert bad.finish_reason == "error"
    assert bad.token_ids == []
    assert good == run(script, [(5,)], [1])[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"temperature": 0.0},
            "`temperature` must be greater than 0, but is 0.0. Use a search for the best output.",
        ),
        ({"top_k": 0}, "`top_k` must be at least 1, but is 0."),
        ({"top_p": 1.5}, "`top_p` must be greater than 0 and at most 1, but is 1.5."),
    ],
)
def test_an_impossible_request_gets_a_sentence(options: dict[str, float] | dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        run(random_script(0, 6), [(5,)], [1], **options)
    assert str(caught.value) == sentence


def test_each_sentence_needs_its_generator() -> None:
    with pytest.raises(UserError, match="one entry for each of 2 sentences, but has 1"):
        run(random_script(0, 6), [(5,), (6,)], [1])
