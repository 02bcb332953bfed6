"""Terms put into what was written freely: they are there, with the model's own numbers, alone or in a batch."""

from dataclasses import replace

import pytest
import torch

from heedful.config.models import TransformerConfig
from heedful.decoding import Hypothesis, SearchRequest, Stepwise, Term
from heedful.decoding.greedy import greedy_search
from heedful.decoding.insertion import NUM_PLACES, insert_terms
from heedful.models import build_model
from heedful.models.transformer import Transformer

BOS, EOS, CAP = 1, 2, 24
SOURCES = torch.tensor([[5, 9, 7, 2], [11, 4, 6, 2], [8, 8, 10, 2], [3, 12, 9, 2], [6, 13, 5, 2]])


@pytest.fixture(scope="module")
def model() -> Transformer:
    config = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=1)
    generator = torch.Generator().manual_seed(3)
    made = build_model(config, source_vocab_size=30, target_vocab_size=30, pad_id=0, generator=generator).eval()
    assert isinstance(made, Transformer)
    return made


def asked(terms: list[list[Term]]) -> SearchRequest:
    return SearchRequest(
        bos_id=BOS, eos_id=EOS, beam_size=1, max_lengths=[CAP] * len(terms), forbidden_ids=(0, 1), terms=terms
    )


def search(model: Transformer, sources: torch.Tensor, terms: list[list[Term]]) -> list[list[Hypothesis] | None]:
    return insert_terms(model, sources, torch.ones_like(sources, dtype=torch.bool), asked(terms), None)


def contains(token_ids: list[int], form: tuple[int, ...]) -> bool:
    return any(tuple(token_ids[start : start + len(form)]) == form for start in range(len(token_ids)))


TERMS = [[Term(((20, 21),))], [Term(((14,), (15, 16, 17)))], [Term(((18, 19, 18),))], [Term(((22,),))], [Term(((9,),))]]


def test_outputs_have_the_term_and_the_probabilities_of_the_model(model: Transformer) -> None:
    found = search(model, SOURCES, TERMS)
    assert sum(one is not None for one in found) >= 3
    for source, hypotheses, terms in zip(SOURCES, found, TERMS, strict=True):
        if hypotheses is None:
            continue
        (one,) = hypotheses
        assert any(contains(list(one.token_ids), form) for form in terms[0].forms)
        written = torch.tensor([[BOS, *one.token_ids, EOS][: len(one.token_log_probs) + 1]])
        mask = torch.ones(1, len(source), dtype=torch.bool)
        with torch.inference_mode():
            state = model.start(source[None], mask, max_rows=1, max_len=CAP)
            log_probs = model.extend(state, written[:, :-1], None).log_softmax(-1)[0]
        expected = log_probs.gather(1, written[0, 1:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(one.token_log_probs), expected, rtol=1e-4, atol=1e-4)


def test_an_output_that_has_its_term_anyway_is_that_of_greedy_search(model: Transformer) -> None:
    mask = torch.ones_like(SOURCES, dtype=torch.bool)
    free = greedy_search(model, SOURCES, mask, SearchRequest(bos_id=BOS, eos_id=EOS, beam_size=1,
                                                             max_lengths=[CAP] * 5, forbidden_ids=(0, 1)))  # fmt: skip
    terms = [[Term((tuple(one.token_ids[2:4]),))] for one in free]
    found = search(model, SOURCES, terms)
    assert [one and one[0].token_ids for one in found] == [one.token_ids for one in free]


def test_a_sentence_does_not_depend_on_the_others(model: Transformer) -> None:
    together = search(model, SOURCES, TERMS)
    for number, terms in enumerate(TERMS):
        (alone,) = search(model, SOURCES[number : number + 1], [terms])
        one = together[number]
        assert (alone is None) == (one is None)
        assert alone is None or one is None or alone[0].token_ids == one[0].token_ids


def test_several_missing_terms_are_left_to_a_search_that_looks_further(model: Transformer) -> None:
    assert NUM_PLACES > 1
    assert search(model, SOURCES[:1], [[Term(((20,),)), Term(((23,),))]]) == [None]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_where_terms_may_be_lacking_an_improbable_one_leaves_the_output_that_is_free(
    model: Transformer, beam_size: int
) -> None:
    mask = torch.ones_like(SOURCES, dtype=torch.bool)
    terms = [[Term((tuple(range(20, 29)),))]] * len(SOURCES)
    bound = replace(asked(terms), beam_size=beam_size, may_lack_terms=True)
    expected = Stepwise(model).generate(SOURCES, mask, replace(bound, terms=None, may_lack_terms=False))
    found = Stepwise(model).generate(SOURCES, mask, bound)
    assert [one[0].token_ids for one in found] == [one[0].token_ids for one in expected]
    assert not any(contains(one[0].token_ids, terms[0][0].forms[0]) for one in found)
    strict = Stepwise(model).generate(SOURCES, mask, replace(bound, may_lack_terms=False))
    assert any(contains(one[0].token_ids, terms[0][0].forms[0]) for one in strict), "it could have been had"
