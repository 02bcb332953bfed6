"""One path for each sentence: looking seldom, leaving in groups, and a GPU change nothing about the result."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.decoding import SearchRequest
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.paths import follow_paths
from tests.support.scripted import BOS, EOS, PAD, ScriptedModel, batch_of, random_script
from tests.support.searches import search


def greedy_by(
    script: Callable[..., Any], sources: list[tuple[int, ...]], caps: list[int], steps_between_looks: int
) -> tuple[list[Hypothesis], ScriptedModel]:
    """Greedy search without its front end, so that the pace of looking can be chosen."""
    model = ScriptedModel(script)
    state = model.start(*batch_of(sources), max_rows=len(sources), max_len=max(caps))

    def choose(token_ids: Tensor, parents: Tensor | None, step: int, sentences: list[int]) -> tuple[Tensor, Tensor]:
        log_probs, ids = model.step_best(state, token_ids, parents, count=1)
        return ids[:, 0], log_probs[:, 0]

    request = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=caps)
    found = follow_paths(choose, request, torch.device("cpu"), steps_between_looks=steps_between_looks)
    return found, model


@pytest.mark.parametrize("steps_between_looks", [2, 3, 8, 100])
def test_looking_seldom_changes_the_work_but_not_the_result(steps_between_looks: int) -> None:
    sources, caps = [(length,) for length in range(3, 23)], [1 + length % 13 for length in range(20)]
    for seed in range(5):
        script = random_script(seed, 6)
        expected, always = greedy_by(script, sources, caps, 1)
        found, seldom = greedy_by(script, sources, caps, steps_between_looks)
        assert found == expected
        assert sum(seldom.steps) >= sum(always.steps)


def test_sentences_leave_in_groups_of_an_eighth() -> None:
    def script(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        return [0.0, 0.0, 9.0 if len(written) == source[0] - 3 else -9.0, 1.0]

    sources = [(length,) for length in range(3, 19)]  # sentence i ends after i tokens
    found, model = greedy_by(script, sources, [20] * 16, 1)
    assert [len(it.token_ids) for it in found] == list(range(16))
    assert model.steps == [16, 16, *range(14, 0, -1)]  # two of sixteen first; below sixteen an eighth is one


@pytest.mark.gpu
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_gpu_finds_what_the_cpu_finds(beam_size: int) -> None:
    script = random_script(3, 12, sharpness=3.0)
    source_ids, source_mask = batch_of([(length,) for length in range(3, 13)])
    options = {"bos_id": BOS, "eos_id": EOS, "max_lengths": [20] * 10, "forbidden_ids": (PAD, BOS), "min_length": 1}
    options |= {"prefix_ids": [[4, 5]] * 5 + [[]] * 5, "beam_size": beam_size}
    expected = search(ScriptedModel(script), source_ids, source_mask, **options)
    found = search(ScriptedModel(script), source_ids.cuda(), source_mask.cuda(), **options)
    for [one], [other] in zip(found, expected, strict=True):
        assert one.token_ids == other.token_ids
        assert one.finish_reason == other.finish_reason
        assert one.score == pytest.approx(other.score, abs=1e-5)
