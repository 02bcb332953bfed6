"""Noisy parallel decoding: more draws never end in what the teacher likes less, and a sentence stays itself."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from heedful.decoding import Fertile, Hypothesis, SearchRequest
from heedful.decoding.fertile import _noise
from tests.support.fertile_models import drawn_model, drawn_sources, drawn_teacher

BOS, EOS = 1, 2
REQUEST = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=[30] * 3, forbidden_ids=(0, BOS), beam_size=4)


def with_teacher(samples: int, *, is_recurrent: bool = False) -> Fertile:
    return Fertile(drawn_model(), drawn_teacher(is_recurrent=is_recurrent), samples)


def best(generator: Fertile, request: SearchRequest = REQUEST) -> list[Hypothesis]:
    return [several[0] for several in generator.generate(*drawn_sources(), request)]


@pytest.mark.parametrize("is_recurrent", [False, True])
def test_more_draws_never_score_worse(is_recurrent: bool) -> None:
    scores = [
        [one.score for one in best(with_teacher(samples, is_recurrent=is_recurrent))] for samples in (1, 4, 16, 64)
    ]
    for fewer, more in pairwise(scores):
        assert all(one <= other + 1e-5 for one, other in zip(fewer, more, strict=True))
    assert scores[0] != scores[-1]


def test_scores_are_the_teachers_own() -> None:
    generator = with_teacher(8)
    source_ids, mask = drawn_sources()
    for row, found in enumerate(best(generator)):
        assert generator.teacher is not None
        inputs = torch.tensor([[BOS, *found.token_ids]])
        length = int(mask[row].sum())
        with torch.no_grad():
            log_probs = generator.teacher(source_ids[row : row + 1, :length], None, inputs).log_softmax(dim=-1)[0]  # type: ignore[operator]
        wanted = log_probs.gather(1, torch.tensor([[*found.token_ids, EOS]]).T).squeeze(1).tolist()
        assert found.token_log_probs == pytest.approx(wanted, abs=1e-4)


def test_without_draws_it_writes_the_best_token_of_every_position() -> None:
    model = drawn_model()
    source_ids, mask = drawn_sources()
    memory, log_probs = model.read(source_ids, mask)
    written = model.write(memory, mask, model.choose(log_probs), max_length=30, forbidden_ids=(0, BOS))
    for row, found in enumerate(best(Fertile(model))):
        ids = written.token_ids[row][written.real[row]].tolist()
        assert found.token_ids == (ids[: ids.index(EOS)] if EOS in ids else ids)
        assert found.finish_reason == "eos"


@pytest.mark.parametrize("samples", [0, 20])
def test_what_else_is_in_the_batch_makes_no_difference(samples: int) -> None:
    generator = with_teacher(samples) if samples else Fertile(drawn_model())
    source_ids, mask = drawn_sources()
    together = best(generator)
    for row in range(3):
        length = int(mask[row].sum())
        one = replace(REQUEST, max_lengths=[30])
        [[alone, *_]] = generator.generate(source_ids[row : row + 1, :length], mask[row : row + 1, :length], one)
        assert alone.token_ids == together[row].token_ids
        assert alone.score == pytest.approx(together[row].score, abs=1e-4)


def test_noise_belongs_to_a_draw_and_a_place() -> None:
    assert torch.equal(_noise(3, 10, 5), _noise(7, 100, 5)[:3, :10])


def test_alternatives_are_distinct_and_in_order() -> None:
    for several in with_teacher(40).generate(*drawn_sources(), replace(REQUEST, n_best=3)):
        assert len({tuple(one.token_ids) for one in several}) == len(several) <= 3
        assert [one.score for one in several] == sorted((one.score for one in several), reverse=True)


def test_a_cap_is_kept() -> None:
    request = replace(REQUEST, max_lengths=[4, 2, 1])
    for cap, found in zip(request.max_lengths, best(Fertile(drawn_model()), request), strict=True):
        assert len(found.token_ids) <= cap


def test_what_needs_steps_is_searched_step_by_step() -> None:
    prefixes = replace(REQUEST, prefix_ids=[[7, 8], [7], [9]])
    for prefix, found in zip([[7, 8], [7], [9]], best(Fertile(drawn_model()), prefixes), strict=True):
        assert found.token_ids[: len(prefix)] == prefix
    several = Fertile(drawn_model()).generate(*drawn_sources(), replace(REQUEST, n_best=3))
    assert all(1 <= len(one) <= 3 for one in several)


def test_no_sentences_are_no_outputs() -> None:
    empty = torch.zeros(0, 3, dtype=torch.int64)
    assert Fertile(drawn_model()).generate(empty, empty.bool(), replace(REQUEST, max_lengths=[])) == []
