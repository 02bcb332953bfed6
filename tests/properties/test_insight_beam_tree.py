"""The tree is the search: its best path is the output, and whatever was dropped really was worse."""

import math
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.decoding import StepList
from heedful.decoding.recorder import BeamStep
from heedful.insight.beam_tree import BeamTree, grow_tree
from tests.support.scripted import EOS, log_probs_after
from tests.support.searches import FORBIDDEN, alphas, moody_script, run, seeds, sources_and_caps, vocabs


@settings(max_examples=150)
@given(seed=seeds, vocab=vocabs, cases=sources_and_caps, beam_size=st.integers(1, 5), alpha=alphas)
def test_the_tree_is_the_search(
    seed: int, vocab: int, cases: list[tuple[list[int], int]], beam_size: int, alpha: float
) -> None:
    script = moody_script(seed, vocab)
    recorder = StepList()
    found = run(script, cases, beam_size=beam_size, length_penalty=alpha, recorder=recorder)
    for sentence, ((source, _), (best,)) in enumerate(zip(cases, found, strict=True)):
        if best.finish_reason == "error":
            continue
        tree = grow_tree(
            recorder.steps, sentence=sentence, beam_size=beam_size, length_penalty=alpha, eos_id=EOS, spell=str
        )
        path = tree.best_path
        written = [*best.token_ids, EOS] if best.finish_reason == "eos" else best.token_ids
        assert [node.token_id for node in path] == written
        assert (path[-1].score, path[-1].fate) == (best.score, "finished")
        assert [node.token_log_prob for node in path] == best.token_log_probs
        assert [node.id for node in tree.nodes] == list(range(len(tree.nodes)))
        check_nodes(tree, beam_size)
        check_places(tree, recorder.steps, sentence)
        check_dropped_beginnings(tree, script, source)


def check_nodes(tree: BeamTree, beam_size: int) -> None:
    children = {node.id: [other for other in tree.nodes if other.parent == node.id] for node in tree.nodes}
    winner = tree.nodes[tree.chosen]
    for node in tree.nodes:
        before = 0.0 if node.parent is None else tree.nodes[node.parent].log_prob
        assert node.log_prob == before + node.token_log_prob
        assert not children[node.id] or node.fate == "extended"
        goes_on = any(child.fate != "pruned" for child in children[node.id])
        assert (node.ended_at is None) == goes_on
        same_step = [other for other in tree.nodes if other.step == node.step]
        if node.fate == "pruned":
            assert node.ended_at == node.step
            better = [other for other in same_step if other.rank < node.rank]
            assert all(other.log_prob >= node.log_prob for other in better)
            assert len(better) >= beam_size
            if not node.is_end:  # it lost its place to others that go on
                kept = [other for other in better if not other.is_end]
                assert len(kept) >= beam_size or any(other.is_end and other.token_id != EOS for other in same_step)
        if node.fate == "beaten" and node.is_end:
            assert node.score <= winner.score
    assert [node.id for node in tree.nodes if node.fate == "finished"] == [tree.chosen]
    check_open_at_the_end(tree, beam_size)


def check_places(tree: BeamTree, steps: list[BeamStep], sentence: int) -> None:
    """As many candidates of a step stay in the beam as the search gave a place in it."""
    for step in steps:
        (line,) = (step.sentences == sentence).nonzero()
        places = (step.next_slots[line] >= 0).sum()
        assert sum(node.step == step.step and node.fate == "extended" for node in tree.nodes) == places


def check_open_at_the_end(tree: BeamTree, beam_size: int) -> None:
    """What was beaten without an end is the beam of the last step, which nobody went on with."""
    still_open = [node for node in tree.nodes if node.fate == "beaten" and not node.is_end]
    last = [node for node in tree.nodes if node.step == tree.nodes[-1].step and not node.is_end]
    assert still_open in ([], last[:beam_size])
    if any(node.is_end and node.token_id != EOS for node in tree.nodes):  # cut by the cap, after which nothing is open
        assert not still_open


def check_dropped_beginnings(tree: BeamTree, script: Callable[..., Any], source: list[int]) -> None:
    """What was in the beam and has no child: each of its continuations was worse than all that are there."""
    parents = {node.parent for node in tree.nodes}
    for node in tree.nodes:
        if node.fate != "extended" or node.id in parents:
            continue
        assert node.ended_at == node.step + 1
        written = [other.token_id for other in tree.path(node.id)]
        log_probs = log_probs_after(script, source, written)
        allowed = [value for token, value in enumerate(log_probs) if token not in FORBIDDEN and value > -math.inf]
        continued = [other.log_prob for other in tree.nodes if other.step == node.ended_at]
        assert not allowed or not continued or node.log_prob + max(allowed) <= min(continued) + 1e-6
