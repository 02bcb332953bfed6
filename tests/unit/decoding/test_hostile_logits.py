"""Models that misbehave: whatever they say, a search ends within the cap, with a result, and harms no neighbour."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from heedful.decoding.hypothesis import Hypothesis
from tests.support.scripted import BOS, EOS, PAD, ScriptedModel, batch_of, random_script
from tests.support.searches import search

VOCAB = 7
HOSTILE = {
    "end never": [0.0, 0.0, -math.inf, 1.0, 2.0, 0.0, 0.0],
    "all equal": [0.0] * VOCAB,
    "all impossible": [-math.inf] * VOCAB,
    "not a number": [math.nan] * VOCAB,
    "one not a number": [0.0, 0.0, 0.0, math.nan, 0.0, 0.0, 0.0],
    "infinite": [0.0, 0.0, 0.0, math.inf, 0.0, 0.0, 0.0],
    "end first": [0.0, 0.0, 80.0, 0.0, 0.0, 0.0, 0.0],
    "only forbidden": [0.0, 0.0, *[-math.inf] * 5],
    "huge": [0.0, 0.0, -1e30, 1e30, -1e30, 0.0, 0.0],
}
BAD = {"all impossible", "not a number", "one not a number", "infinite", "only forbidden"}


def run(
    script: Callable[..., Any], sources: list[tuple[int, ...]], beam_size: int, caps: list[int]
) -> list[list[Hypothesis]]:
    return search(
        ScriptedModel(script), *batch_of(sources), bos_id=BOS, eos_id=EOS, max_lengths=caps, beam_size=beam_size,
        n_best=beam_size, forbidden_ids=(PAD, BOS), length_penalty=0.6,
    )  # fmt: skip


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("beam_size", [1, 2, 5, 20])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_search_survives_and_its_neighbours_do_not_notice(name: str, beam_size: int, after: int) -> None:
    tame = random_script(2, VOCAB)

    def script(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        if source == (6,) and len(written) >= after:
            return HOSTILE[name]
        return [*tame(source, written)[:2], -4.0, *tame(source, written)[3:]]

    sources, caps = [(5,), (6,), (3, 4)], [6, 5, 7]
    found = run(script, sources, beam_size, caps)
    assert all(1 <= len(hypotheses) <= beam_size for hypotheses in found)
    for hypotheses, cap in zip(found, caps, strict=True):
        assert all(len(it.token_log_probs) <= cap for it in hypotheses)
        assert all(math.isfinite(it.score) and math.isfinite(it.log_prob) for it in hypotheses)
    assert found[0] == run(script, sources[:1], beam_size, caps[:1])[0]
    assert found[2] == run(script, sources[2:], beam_size, caps[2:])[0]
    if name in BAD and after == 0:
        assert [(it.finish_reason, it.token_ids) for it in found[1]] == [("error", [])]
    if name == "end never" and after == 0:
        assert {it.finish_reason for it in found[1]} == {"length"}
        assert {len(it.token_ids) for it in found[1]} == {5}
    if name == "end first" and after == 0:
        assert found[1][0].token_ids == []
        assert found[1][0].finish_reason == "eos"


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_nan_later_on_keeps_what_had_been_written(beam_size: int) -> None:
    def script(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        return [0.0, 0.0, -9.0, 3.0, 1.0] if len(written) < 3 else [math.nan] * 5

    [[only]] = run(script, [(5,)], beam_size, [9])
    assert only.token_ids == [3, 3, 3]
    assert only.finish_reason == "error"
    assert only.log_prob == pytest.approx(sum(only.token_log_probs))
    assert len(only.token_log_probs) == 3
