"""What holds for every search, on scripts that hypothesis makes up.

`plain_beam` is the rules of beam search said again with lists and loops; the vectorised search must agree with it
exactly, on every script, penalty and rule.
"""

import math
import operator
from functools import reduce
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.decoding import SearchRequest, StepList, greedy_search
from heedful.decoding.hypothesis import Hypothesis
from tests.support.scripted import (
    BOS,
    EOS,
    Script,
    ScriptedModel,
    batch_of,
    exhaustive,
    log_probs_after,
    penalty,
    random_script,
    rescore,
)
from tests.support.searches import FORBIDDEN, alphas, moody_script, run, search, seeds, sources_and_caps, vocabs


def plain_beam(
    script: Script, source: list[int], cap: int, *, beam_size: int, n_best: int, alpha: float, min_length: int
) -> tuple[list[tuple[float, list[int], str]], int]:
    """(score, tokens, reason) of the n_best hypotheses, and the steps taken, by the docstring of `decoding.beam`."""
    beam: list[tuple[float, list[int], list[float]]] = [(0.0, [], [])]
    finished: list[tuple[float, list[int], str]] = []
    for step in range(cap):
        candidates = []
        for total, tokens, parts in beam:
            log_probs = log_probs_after(script, source, tokens)
            if any(math.isnan(value) for value in log_probs):
                if finished and beam[0][0] / penalty(cap, alpha) <= max(finished)[0]:  # searched for others only
                    return sorted(finished, key=lambda it: -it[0])[:n_best], step + 1
                return [(total_score(beam[0][2], alpha), beam[0][1], "error")], step + 1
            order = sorted(range(len(log_probs)), key=lambda token: (-log_probs[token], token))
            banned = (*FORBIDDEN, EOS) if step < min_length else FORBIDDEN
            for token in order:
                if token not in banned and log_probs[token] > -math.inf:
                    candidates.append((total + log_probs[token], [*tokens, token], [*parts, log_probs[token]]))
        candidates.sort(key=lambda it: -it[0])
        best, previous = beam[0], beam
        for _, tokens, parts in candidates[:beam_size]:
            if tokens[-1] == EOS:
                finished.append((total_score(parts, alpha), tokens[:-1], "eos"))
            elif step + 1 == cap:
                finished.append((total_score(parts, alpha), tokens, "length"))
        beam = [it for it in candidates if it[1][-1] != EOS][:beam_size]
        if not beam and not finished:
            return [(total_score(best[2], alpha), previous[0][1], "error")], step + 1
        to_beat = sorted((score for score, _, _ in finished), reverse=True)[n_best - 1 : n_best]
        if not beam or len(finished) >= beam_size or (to_beat and beam[0][0] / penalty(cap, alpha) <= to_beat[0]):
            break
    return sorted(finished, key=lambda it: -it[0])[:n_best], step + 1


def total_score(parts: list[float], alpha: float) -> float:
    # Added up as a search does: `sum` corrects for rounding since Python 3.12, and a tie would be none any more.
    return reduce(operator.add, parts, 0.0) / penalty(len(parts), alpha)


@settings(max_examples=300)  # cases in which a search can end early are rare among what is drawn
@given(seeds, vocabs, sources_and_caps, st.integers(1, 7), alphas, st.integers(0, 3), st.data())
def test_beam_search_follows_its_rules(
    seed: int,
    vocab: int,
    cases: list[tuple[list[int], int]],
    beam_size: int,
    alpha: float,
    min_length: int,
    data: st.DataObject,
) -> None:
    script = moody_script(seed, vocab)
    n_best = data.draw(st.integers(1, beam_size), label="n_best")
    options = {"beam_size": beam_size, "n_best": n_best, "min_length": min_length}
    recorder = StepList()
    found = run(script, cases, **options, length_penalty=alpha, recorder=recorder)
    for sentence, (hypotheses, (source, cap)) in enumerate(zip(found, cases, strict=True)):
        expected, num_steps = plain_beam(script, source, cap, **options, alpha=alpha)
        assert [(it.token_ids, it.finish_reason) for it in hypotheses] == [(it[1], it[2]) for it in expected]
        assert [it.score for it in hypotheses] == pytest.approx([it[0] for it in expected], abs=1e-9)
        assert sum(sentence in step.sentences for step in recorder.steps) == num_steps


@given(seeds, vocabs, sources_and_caps, alphas, st.integers(0, 3))
def test_a_beam_of_one_is_greedy_search(
    seed: int, vocab: int, cases: list[tuple[list[int], int]], alpha: float, min_length: int
) -> None:
    script = moody_script(seed, vocab)
    source_ids, source_mask = batch_of([source for source, _ in cases])
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=[cap for _, cap in cases], forbidden_ids=FORBIDDEN, length_penalty=alpha,
        min_length=min_length,
    )  # fmt: skip
    greedy = greedy_search(ScriptedModel(script), source_ids, source_mask, request)
    beam = run(script, cases, beam_size=1, length_penalty=alpha, min_length=min_length)
    assert [[it] for it in greedy] == beam


@given(seeds, vocabs, sources_and_caps, st.integers(1, 5), alphas, st.randoms(use_true_random=False))
def test_the_batch_makes_no_difference(
    seed: int, vocab: int, cases: list[tuple[list[int], int]], beam_size: int, alpha: float, random: Random
) -> None:
    script = moody_script(seed, vocab)

    def found(chosen: list[tuple[list[int], int]]) -> list[list[Hypothesis]]:
        source_ids, source_mask = batch_of([source for source, _ in chosen])
        return search(
            ScriptedModel(script), source_ids, source_mask, bos_id=BOS, eos_id=EOS,
            max_lengths=[cap for _, cap in chosen], beam_size=beam_size, length_penalty=alpha, forbidden_ids=FORBIDDEN,
        )  # fmt: skip

    alone = [found([case])[0] for case in cases]
    order = random.sample(range(len(cases)), len(cases))
    assert found(cases) == alone
    assert found([cases[i] for i in order]) == [alone[i] for i in order]


@given(seeds, vocabs, sources_and_caps, st.integers(1, 6), alphas)
def test_scores_are_those_of_the_model_and_in_order(
    seed: int, vocab: int, cases: list[tuple[list[int], int]], beam_size: int, alpha: float
) -> None:
    script = random_script(seed, vocab)
    found = run(script, cases, beam_size=beam_size, n_best=beam_size, length_penalty=alpha)
    for hypotheses, (source, cap) in zip(found, cases, strict=True):
        assert 1 <= len(hypotheses) <= beam_size
        assert len({tuple(it.token_ids) for it in hypotheses}) == len(hypotheses)
        scores = [it.score for it in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for it in hypotheses:
            output = [*it.token_ids, EOS] if it.finish_reason == "eos" else it.token_ids
            assert len(output) <= cap
            assert it.token_log_probs == pytest.approx(rescore(script, source, output), abs=1e-6)
            assert it.log_prob == pytest.approx(sum(it.token_log_probs), abs=1e-9)
            assert it.score == pytest.approx(it.log_prob / penalty(len(output), alpha), abs=1e-9)


@settings(max_examples=30)
@given(seeds, st.integers(1, 4), alphas)
def test_a_huge_beam_is_exhaustive_search(seed: int, cap: int, alpha: float) -> None:
    script = random_script(seed, 6)
    [found] = run(script, [([5], cap)], beam_size=130, n_best=3, length_penalty=alpha)
    expected = exhaustive(script, [5], allowed=(3, 4, 5), max_length=cap, alpha=alpha)
    assert [it.score for it in found] == pytest.approx([score for score, _ in expected[: len(found)]], abs=1e-6)
    assert len(found) == min(3, len(expected))


@given(seeds, sources_and_caps, st.integers(1, 4), st.data())
def test_a_prefix_is_written_and_scored_as_if_it_had_been_chosen(
    seed: int, cases: list[tuple[list[int], int]], beam_size: int, data: st.DataObject
) -> None:
    script = random_script(seed, 7)
    free = run(script, cases, beam_size=beam_size)
    lengths = [data.draw(st.integers(0, len(best.token_ids))) for [best] in free]
    prefixes = [best.token_ids[:length] for [best], length in zip(free, lengths, strict=True)]
    forced = run(script, cases, beam_size=beam_size, prefix_ids=prefixes)
    for [best], prefix, (source, _) in zip(forced, prefixes, cases, strict=True):
        assert best.token_ids[: len(prefix)] == prefix
        output = [*best.token_ids, EOS] if best.finish_reason == "eos" else best.token_ids
        assert best.token_log_probs == pytest.approx(rescore(script, source, output), abs=1e-6)
    if beam_size == 1:
        assert [it[0].token_ids for it in forced] == [it[0].token_ids for it in free]


@given(seeds, vocabs, alphas, sources_and_caps, st.integers(2, 5))
@settings(max_examples=150, deadline=None)
def test_the_best_hypothesis_does_not_depend_on_how_many_are_wanted(
    seed: int, vocab: int, alpha: float, cases: list[tuple[list[int], int]], beam_size: int
) -> None:
    script = moody_script(seed, vocab)
    alone = run(script, cases, beam_size=beam_size, n_best=1, length_penalty=alpha)
    for n_best in range(2, beam_size + 1):
        several = run(script, cases, beam_size=beam_size, n_best=n_best, length_penalty=alpha)
        assert [found[0].token_ids for found in several] == [found[0].token_ids for found in alone]
        assert [found[0].score for found in several] == pytest.approx([found[0].score for found in alone], nan_ok=True)
