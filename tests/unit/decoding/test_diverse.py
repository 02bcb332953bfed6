"""Diverse search: the first is greedy search, the others differ from it, and the batch makes no difference."""

import pytest

from heedful.decoding import Diverse, Hypothesis, SearchRequest, Stepwise
from heedful.errors import UserError
from tests.support.scripted import BOS, EOS, PAD, Script, ScriptedModel, batch_of, log_probs_after, random_script


def run(script: Script, cases: list[tuple[tuple[int, ...], int]], n_best: int) -> list[list[Hypothesis]]:
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=[cap for _, cap in cases], forbidden_ids=(PAD, BOS), n_best=n_best,
        beam_size=n_best, way=Diverse(0.8),
    )  # fmt: skip
    return Stepwise(ScriptedModel(script)).generate(*batch_of([source for source, _ in cases]), request)


def plain_diverse(script: Script, source: tuple[int, ...], cap: int, n_best: int) -> set[tuple[int, ...]]:
    """The rule said again with lists: group by group, what was just written by an earlier one costs 0.8."""
    outputs: list[list[int]] = [[] for _ in range(n_best)]
    for _ in range(cap):
        written: list[int] = []
        for output in outputs:
            if output[-1:] == [EOS]:
                continue
            log_probs = log_probs_after(script, source, output)
            allowed = [token for token in range(len(log_probs)) if token not in (PAD, BOS)]
            chosen = max(allowed, key=lambda it: log_probs[it] - 0.8 * written.count(it))
            written.append(chosen)
            output.append(chosen)
    return {tuple(it for it in output if it != EOS) for output in outputs}


@pytest.mark.parametrize("seed", range(20))
def test_diverse_search_follows_its_rule_in_every_batch(seed: int) -> None:
    script = random_script(seed, 9)
    cases = [((5,), 9), ((6, 7), 4), ((8,), 12), ((5, 5), 1), ((3,), 7)]
    together = run(script, cases, n_best=4)
    for found, (source, cap) in zip(together, cases, strict=True):
        assert {tuple(it.token_ids) for it in found} == plain_diverse(script, source, cap, 4)
        assert len({tuple(it.token_ids) for it in found}) == len(found)
        assert [it.score for it in found] == sorted((it.score for it in found), reverse=True)
    assert together == [run(script, [case], n_best=4)[0] for case in cases]


def test_a_strength_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="`strength` must be greater than 0, but is 0"):
        Diverse(0.0)
