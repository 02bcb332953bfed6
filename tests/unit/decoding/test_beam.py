"""Beam search on scripts small enough to know the answer."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from heedful.decoding import StepList
from heedful.decoding.beam import start_beams
from heedful.decoding.hypothesis import Hypothesis
from heedful.errors import UserError
from tests.support.scripted import BOS, EOS, PAD, ScriptedModel, batch_of, exhaustive, random_script
from tests.support.searches import search

A, B = 3, 4


def run(
    script: Callable[..., Any], sources: list[tuple[int, ...]] | tuple[tuple[int, ...]] = ((5,),), **options: Any
) -> list[list[Hypothesis]]:
    defaults = {"max_lengths": [8] * len(sources), "beam_size": 2, "length_penalty": 0.0, "forbidden_ids": (PAD, BOS)}
    return search(ScriptedModel(script), *batch_of(sources), bos_id=BOS, eos_id=EOS, **(defaults | options))


def probabilities(table: dict[Any, Any]) -> Callable[..., Any]:
    """A script from a table of probabilities by what has been written; everything not named is impossible."""

    def script(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        row = table[written]
        return [math.log(row[token]) if token in row else -math.inf for token in range(5)]

    return script


# The greedy beginning A leads to nothing good; B is found only by a search that keeps two.
GARDEN_PATH = {
    (): {A: 0.6, B: 0.4},
    (A,): {A: 0.3, B: 0.3, EOS: 0.4},
    (B,): {EOS: 0.9, A: 0.1},
    (A, A): {EOS: 1.0},
    (A, B): {EOS: 1.0},
    (B, A): {EOS: 1.0},
}


def test_a_beam_finds_what_greedy_search_walks_past() -> None:
    script = probabilities(GARDEN_PATH)
    [[greedy]] = run(script, beam_size=1)
    [[best]] = run(script, beam_size=2)
    assert greedy.token_ids == [A]
    assert greedy.log_prob == pytest.approx(math.log(0.24))
    assert best.token_ids == [B]
    assert best.log_prob == pytest.approx(math.log(0.36))
    assert best.finish_reason == "eos"


def test_the_length_penalty_divides_by_five_plus_length_over_six() -> None:
    [hypotheses] = run(probabilities(GARDEN_PATH), beam_size=2, n_best=2, length_penalty=0.6)
    for hypothesis in hypotheses:
        length = len(hypothesis.token_ids) + 1  # the end symbol counts
        assert hypothesis.score == pytest.approx(hypothesis.log_prob / ((5 + length) / 6) ** 0.6)


def test_n_best_is_sorted_and_has_no_duplicates() -> None:
    [hypotheses] = run(random_script(1, 7), beam_size=6, n_best=6, max_lengths=[5], length_penalty=0.6)
    assert len(hypotheses) == 6
    assert [it.score for it in hypotheses] == sorted((it.score for it in hypotheses), reverse=True)
    assert len({tuple(it.token_ids) for it in hypotheses}) == 6


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_that_holds_everything_is_exhaustive_search(seed: int, alpha: float) -> None:
    script = random_script(seed, 6)
    [found] = run(script, beam_size=130, n_best=130, max_lengths=[4], length_penalty=alpha)
    expected = exhaustive(script, (5,), allowed=(3, 4, 5), max_length=4, alpha=alpha)
    assert len(found) == len(expected) == 1 + 3 + 9 + 27 + 81
    assert [it.score for it in found] == pytest.approx([score for score, _ in expected], abs=1e-6)
    assert {tuple(it.token_ids) for it in found} == {tuple(tokens) for _, tokens in expected}


def test_asking_for_fewer_stops_earlier_but_finds_the_same() -> None:
    for seed in range(20):
        script = random_script(seed, 8, sharpness=3.0)
        few, many = ScriptedModel(script), ScriptedModel(script)
        options = {"bos_id": BOS, "eos_id": EOS, "max_lengths": [30], "beam_size": 5, "length_penalty": 0.0}
        [[best]] = search(few, *batch_of([[5]]), **options)
        [all_five] = search(many, *batch_of([[5]]), n_best=5, **options)
        assert best == all_five[0]
        assert len(few.steps) <= len(many.steps)


def test_the_cap_ends_what_is_open_and_says_so() -> None:
    never_ends = probabilities({(A,) * length: {A: 0.7, B: 0.3} for length in range(9)} | {(B,): {B: 1.0}})
    [[best]] = run(lambda source, written: never_ends(source, ()), max_lengths=[4])
    assert best.token_ids == [A, A, A, A]
    assert best.finish_reason == "length"
    assert best.log_prob == pytest.approx(4 * math.log(0.7))


def test_an_output_may_be_empty() -> None:
    [[best]] = run(lambda source, written: [0.0, 0.0, 9.0, 1.0, 1.0])
    assert best.token_ids == []
    assert best.finish_reason == "eos"
    assert len(best.token_log_probs) == 1


def test_finished_sentences_leave_the_batch() -> None:
    def script(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        ends = len(written) >= source[0]
        return [0.0, 0.0, 50.0 if ends else -50.0, 1.0, 0.5]

    model = ScriptedModel(script)
    found = search(
        model, *batch_of([[3], [9], [5]]), bos_id=BOS, eos_id=EOS, beam_size=2, max_lengths=[20] * 3,
        length_penalty=0.0, forbidden_ids=(PAD, BOS),
    )  # fmt: skip
    assert [len(best[0].token_ids) for best in found] == [3, 9, 5]
    assert model.steps == [3, 6, 6, 6, 4, 4, 2, 2, 2, 2]


def test_a_beam_wider_than_the_vocabulary_works() -> None:
    [hypotheses] = run(random_script(3, 4), beam_size=50, n_best=50, max_lengths=[3], forbidden_ids=(PAD, BOS))
    assert {tuple(it.token_ids) for it in hypotheses} == {(), (3,), (3, 3), (3, 3, 3)}


def test_min_length_delays_the_end() -> None:
    [[best]] = run(lambda source, written: [0.0, 0.0, 9.0, 1.0, 0.5], min_length=3)
    assert best.token_ids == [A, A, A]
    assert best.finish_reason == "eos"


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_prefix_is_kept_scored_and_stronger_than_a_ban(beam_size: int) -> None:
    script = random_script(5, 7)
    prefixes = [[PAD, 6], [], [4]]
    found = run(script, sources=[(5,), (6,), (5, 6)], prefix_ids=prefixes, beam_size=beam_size, max_lengths=[5] * 3)
    for [best], prefix in zip(found, prefixes, strict=True):
        assert best.token_ids[: len(prefix)] == prefix
        assert not {PAD, BOS} & set(best.token_ids[len(prefix) :])
        assert best.log_prob == pytest.approx(sum(best.token_log_probs))
    assert found[1] == run(script, sources=[(6,)], beam_size=beam_size, max_lengths=[5])[0]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_prefix_may_fill_the_whole_cap(beam_size: int) -> None:
    [[best]] = run(random_script(5, 7), prefix_ids=[[3, 4]], max_lengths=[2], beam_size=beam_size)
    assert best.token_ids == [3, 4]
    assert best.finish_reason == "length"


def test_the_recorder_hears_enough_to_rebuild_every_hypothesis() -> None:
    recorder, script = StepList(), random_script(11, 9)
    found = run(
        script, sources=[(5,), (6, 7), (8,)], beam_size=3, n_best=3, max_lengths=[6, 3, 5], recorder=recorder,
        length_penalty=0.6,
    )  # fmt: skip
    assert found == run(
        script, sources=[(5,), (6, 7), (8,)], beam_size=3, n_best=3, max_lengths=[6, 3, 5], length_penalty=0.6
    )
    slots: dict[tuple[int, int], list[int]] = {(sentence, 0): [] for sentence in range(3)}
    rebuilt: list[list[tuple[list[int], float]]] = [[], [], []]
    for number, step in enumerate(recorder.steps):
        assert step.step == number
        new: dict[tuple[int, int], list[int]] = {}
        for line, sentence in enumerate(step.sentences.tolist()):
            for column in np.flatnonzero(step.log_probs[line] > -math.inf).tolist():
                path = [*slots[sentence, step.parent_slots[line, column]], int(step.token_ids[line, column])]
                if step.is_finished[line, column]:
                    rebuilt[sentence].append((path, float(step.log_probs[line, column])))
                if step.next_slots[line, column] >= 0:
                    new[sentence, int(step.next_slots[line, column])] = path
            if not step.is_done[line]:
                assert (sentence, 0) in new
        slots = new
    for sentence, hypotheses in enumerate(found):
        paths = {tuple(it for it in path if it != EOS): log_prob for path, log_prob in rebuilt[sentence]}
        for hypothesis in hypotheses:
            assert paths[tuple(hypothesis.token_ids)] == pytest.approx(hypothesis.log_prob)


def test_the_state_starts_with_one_empty_slot_for_each_sentence() -> None:
    state = start_beams([4, 7], length_penalty=1.0)
    assert state.log_probs.tolist() == [[0.0], [0.0]]
    assert state.longest_penalty.tolist() == [1.5, 2.0]


def test_no_sentences_give_no_results() -> None:
    empty = torch.zeros(0, 3, dtype=torch.long)
    assert search(ScriptedModel(random_script(0, 5)), empty, empty > 0, bos_id=BOS, eos_id=EOS, max_lengths=[]) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"beam_size": 0}, "`beam_size` must be at least 1, but is 0."),
        ({"n_best": 3}, "`n_best` must be between 1 and `beam_size` (2), but is 3."),
        ({"length_penalty": -0.5}, "`length_penalty` must be at least 0, but is -0.5."),
        ({"max_lengths": [0]}, "`max_lengths` must be at least 1, but contain 0."),
        ({"max_lengths": [4, 4]}, "`max_lengths` must have one entry for each of 1 sentences, but has 2."),
        ({"prefix_ids": []}, "`prefix_ids` must have one list for each of 1 sentences, but has 0."),
        ({"prefix_ids": [[3, EOS]]}, "`prefix_ids` must not contain the end symbol: nothing could follow it."),
        (
            {"prefix_ids": [[3, 3, 3]], "max_lengths": [2]},
            "`prefix_ids` must fit `max_lengths`, but sentence 0 has 3 tokens for 2 places.",
        ),
        (
            {"forbidden_ids": (EOS,)},
            "`forbidden_ids` must not contain the end symbol, but contain 2. Use `min_length`.",
        ),
    ],
)
def test_an_impossible_request_gets_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        run(random_script(0, 6), **options)
    assert str(caught.value) == sentence
