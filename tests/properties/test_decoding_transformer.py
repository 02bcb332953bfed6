"""The searches on a real model: what they report is what the model, asked all at once, thinks of the output.

The weights are random, but scaled up so that distributions are peaked and outputs differ from sentence to sentence.
"""

from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config.models import TransformerConfig
from heedful.decoding import Ensemble, Sampling, SearchRequest, beam_search, greedy_search, sample
from heedful.decoding.hypothesis import Hypothesis
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from tests.support.families import as_transformer
from tests.support.scripted import BOS, EOS, PAD, batch_of
from tests.support.searches import search

VOCAB = 40
OPTIONS = {"bos_id": BOS, "eos_id": EOS, "forbidden_ids": (PAD, BOS)}
sentences = st.lists(st.lists(st.integers(3, VOCAB - 1), min_size=1, max_size=9), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def model() -> Transformer:
    config = TransformerConfig(
        dim=32, num_heads=4, hidden_dim=64, num_encoder_layers=2, num_decoder_layers=2, tying="none"
    )
    built = build_model(
        config,
        source_vocab_size=VOCAB,
        target_vocab_size=VOCAB,
        pad_id=PAD,
        generator=torch.Generator().manual_seed(1),
    ).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.dim() == 2:
                parameter.mul_(1.5)
    return as_transformer(built)


def rescored(model: Transformer, source: list[int], hypothesis: Hypothesis) -> list[float]:
    """Log-probabilities of a hypothesis by one pass over the whole output, without caches or search."""
    output = [*hypothesis.token_ids, EOS] if hypothesis.finish_reason == "eos" else hypothesis.token_ids
    source_ids, source_mask = batch_of([source])
    with torch.no_grad():
        logits = model(source_ids, source_mask, torch.tensor([[BOS, *output[:-1]]]))
    return logits[0].log_softmax(-1).gather(1, torch.tensor(output)[:, None])[:, 0].tolist()


@settings(max_examples=25)
@given(sentences, st.integers(1, 5))
def test_scores_are_those_of_one_pass_over_the_output(
    model: Transformer, sources: list[list[int]], beam_size: int
) -> None:
    found = search(model, *batch_of(sources), max_lengths=[12] * len(sources), beam_size=beam_size, **OPTIONS)
    for source, [best] in zip(sources, found, strict=True):
        assert best.token_log_probs == pytest.approx(rescored(model, source, best), abs=1e-3)
        assert not {PAD, BOS} & set(best.token_ids)


@settings(max_examples=25)
@given(sentences, st.integers(1, 5), st.randoms(use_true_random=False))
def test_neighbours_order_and_padding_make_no_difference(
    model: Transformer, sources: list[list[int]], beam_size: int, random: Random
) -> None:
    def run(chosen: list[list[int]], padding: int = 0) -> list[list[Hypothesis]]:
        source_ids, source_mask = batch_of(chosen)
        source_ids = torch.nn.functional.pad(source_ids, (0, padding), value=PAD)
        source_mask = torch.nn.functional.pad(source_mask, (0, padding), value=False)
        caps = [len(source) + 6 for source in chosen]
        return search(model, source_ids, source_mask, max_lengths=caps, beam_size=beam_size, **OPTIONS)

    order = random.sample(range(len(sources)), len(sources))
    shuffled = run([sources[i] for i in order], padding=3)
    for place, i in enumerate(order):
        [alone] = run([sources[i]])[0]
        assert shuffled[place][0].token_ids == alone.token_ids
        assert shuffled[place][0].score == pytest.approx(alone.score, abs=1e-3)


@settings(max_examples=25)
@given(sentences)
def test_greedy_search_a_beam_of_one_and_sampling_the_best_agree(model: Transformer, sources: list[list[int]]) -> None:
    request = SearchRequest(**OPTIONS, max_lengths=[12] * len(sources), beam_size=1)
    greedy = greedy_search(model, *batch_of(sources), request)
    beam = beam_search(model, *batch_of(sources), request)
    drawn = sample(model, *batch_of(sources), request, Sampling(top_k=1))
    assert [it.token_ids for it in greedy] == [it.token_ids for [it] in beam] == [it.token_ids for [it] in drawn]


def test_an_ensemble_of_one_model_twice_is_that_model(model: Transformer) -> None:
    sources = [[5, 6, 7], [8, 9], [30, 31, 32, 33]]
    options = OPTIONS | {"max_lengths": [10] * 3, "beam_size": 3}
    alone = search(model, *batch_of(sources), **options)
    twice = search(Ensemble([model, model]), *batch_of(sources), **options)
    assert [best.token_ids for [best] in twice] == [best.token_ids for [best] in alone]


def test_outputs_differ_so_that_the_properties_say_something(model: Transformer) -> None:
    sources = [[token, token + 1] for token in range(3, 33)]
    found = search(model, *batch_of(sources), max_lengths=[12] * 30, beam_size=4, **OPTIONS)
    assert len({tuple(best.token_ids) for [best] in found}) > 20
    assert {best.finish_reason for [best] in found} == {"eos", "length"}
