"""What holds for every search with terms, on scripts that hypothesis makes up: against exhaustive search."""

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.decoding import Hypothesis, SearchRequest, Stepwise, Term
from heedful.decoding.terms import NOTHING_YET, Demands
from tests.support.scripted import BOS, EOS, PAD, Script, ScriptedModel, batch_of, exhaustive, random_script, rescore

WORDS = (3, 4, 5, 6)
GOES_ON = frozenset({6})
forms = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(tuple)
terms = st.lists(st.lists(forms, min_size=1, max_size=2).map(lambda it: Term(tuple(it))), min_size=1, max_size=2)
seeds = st.integers(0, 2**20)


def has_terms(output: Sequence[int], wanted: Sequence[Term]) -> bool:
    """Whether an output has a form of each term that nothing goes on with: the rule said again, by looking."""
    return all(
        any(
            tuple(output[start : start + len(form)]) == form and not {*output[start + len(form) :][:1]} & GOES_ON
            for form in term.forms
            for start in range(len(output))
        )
        for term in wanted
    )


def run(script: Script, cases: Sequence[tuple[list[int], int, list[Term]]], beam_size: int) -> list[list[Hypothesis]]:
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=[cap for _, cap, _ in cases], forbidden_ids=(PAD, BOS),
        length_penalty=0.0, beam_size=beam_size, terms=[wanted for _, _, wanted in cases], continuation_ids=GOES_ON,
    )  # fmt: skip
    return Stepwise(ScriptedModel(script)).generate(*batch_of([source for source, _, _ in cases]), request)


@given(terms, st.lists(st.sampled_from(WORDS), max_size=8))
def test_progress_says_whether_the_terms_are_written(wanted: list[Term], output: list[int]) -> None:
    demands, progress = Demands(wanted, GOES_ON), NOTHING_YET
    for token in output:
        assert 0 <= demands.covered(progress) <= demands.total
        progress = demands.advance(progress, token)
    assert not demands.is_met(progress) or has_terms(output, wanted)
    if len(wanted) == 1:
        assert demands.is_met(progress) == has_terms(output, wanted)


@settings(max_examples=40, deadline=None)
@given(seeds, terms, st.integers(4, 5))
def test_a_huge_beam_finds_the_best_output_with_the_terms(seed: int, wanted: list[Term], cap: int) -> None:
    script = random_script(seed, 7)
    [[found, *_]] = run(script, [([5], cap, wanted)], beam_size=2_000)
    whole = [
        (score, output)
        for score, output in exhaustive(script, [5], allowed=WORDS, max_length=cap, alpha=0.0)
        if has_terms(output, wanted) and len(output) < cap
    ]
    if not whole:
        assert found.finish_reason == "length"
        return
    assert has_terms(found.token_ids, wanted)
    assert found.score == pytest.approx(whole[0][0], abs=1e-5)


@settings(max_examples=100, deadline=None)
@given(seeds, st.lists(st.tuples(st.lists(st.integers(3, 6), min_size=1, max_size=3), st.integers(9, 14), terms),
                       min_size=1, max_size=4), st.integers(1, 5))  # fmt: skip
def test_every_beam_keeps_the_terms_in_every_batch(
    seed: int, cases: list[tuple[list[int], int, list[Term]]], beam_size: int
) -> None:
    script = random_script(seed, 7)
    together = run(script, cases, beam_size)
    assert together == [run(script, [case], beam_size)[0] for case in cases]
    for [found, *_], (source, cap, wanted) in zip(together, cases, strict=True):
        assert len(found.token_log_probs) <= cap
        if found.finish_reason == "eos":
            assert has_terms(found.token_ids, wanted)
        output = [*found.token_ids, EOS] if found.finish_reason == "eos" else found.token_ids
        assert found.token_log_probs == pytest.approx(rescore(script, source, output), abs=1e-5)


def test_a_term_the_model_never_thinks_of_is_written_all_the_same() -> None:
    """Beyond the likeliest tokens the whole distribution is looked at; and a model that never ends loops to its cap."""
    vocab = 300

    def script(_: Sequence[int], written: Sequence[int]) -> list[float]:
        logits = [0.0] * vocab
        logits[3 + len(written) % 200] = 20.0
        logits[EOS] = 30.0 if len(written) >= 4 else -30.0
        logits[299] = -40.0
        return logits

    for beam_size in (1, 4):
        [[found]] = run(script, [([5], 20, [Term(((299, 298),))])], beam_size)
        assert found.finish_reason == "eos"
        assert (299, 298) in itertools.pairwise(found.token_ids)
    endless = lambda *_: [0.0 if token == 3 else -60.0 for token in range(vocab)]  # noqa: E731
    [[cut]] = run(endless, [([5], 20, [Term(((299,),))])], 1)
    assert cut.finish_reason == "length"
    assert len(cut.token_ids) == 20
    assert not math.isnan(cut.score)
