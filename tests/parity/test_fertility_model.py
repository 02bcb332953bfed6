"""The model with fertilities is the formulas of Gu et al. (2018), written out sentence by sentence."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heedful.models.attention_weights import forced_pass
from heedful.models.fertilities import copied_places, most_probable_of_length
from heedful.models.fertility import FertilityLayer, FertilityModel, average
from heedful.nn.layers import EncoderLayer
from heedful.nn.positions import sinusoidal_table
from tests.support.fertile_models import DIM, HEADS, drawn_model, drawn_sources


def attended(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> Tensor:
    """Attention of [length, dim] in heads, written out; a row without anything to look at finds nothing."""
    found = torch.zeros_like(query)
    for head in range(HEADS):
        part = slice(head * DIM // HEADS, (head + 1) * DIM // HEADS)
        for row in range(len(query)):
            keys = [column for column in range(len(key)) if allowed[row, column]]
            if keys:
                scores = torch.stack([query[row, part] @ key[k, part] for k in keys]) / math.sqrt(DIM // HEADS)
                found[row, part] = scores.softmax(dim=0) @ value[keys, part]
    return found


def normalised(norm: nn.LayerNorm, states: Tensor) -> Tensor:
    centred = states - states.mean(dim=-1, keepdim=True)
    return centred / (centred.pow(2).mean(dim=-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias


def decoded(model: FertilityModel, embeddings: Tensor, memory: Tensor, fertilities: list[int]) -> Tensor:
    """The decoder for one sentence: embeddings and memory [source_len, dim]; returns logits [length, vocab]."""
    owners = [place for place, count in enumerate(fertilities) for _ in range(count)]
    positions = sinusoidal_table(len(owners), DIM)
    states = embeddings[owners] + positions
    everywhere = torch.ones(len(owners), len(owners), dtype=torch.bool)
    for layer in model.decoder:
        assert isinstance(layer, FertilityLayer)
        query, key, value = layer.self_attention.query_key_value(states).chunk(3, dim=-1)
        others = everywhere & ~torch.eye(len(owners), dtype=torch.bool)
        update = layer.self_attention.output(attended(query, key, value, others))
        states = normalised(layer.self_attention_residual.norm, states + update)
        query, key = layer.positional_attention.query_key(positions).chunk(2, dim=-1)
        value = layer.positional_attention.value(states)
        update = layer.positional_attention.output(attended(query, key, value, everywhere))
        states = normalised(layer.positional_attention_residual.norm, states + update)
        key, value = layer.cross_attention.key_value(memory).chunk(2, dim=-1)
        all_source = torch.ones(len(owners), len(memory), dtype=torch.bool)
        update = layer.cross_attention.output(attended(layer.cross_attention.query(states), key, value, all_source))
        states = normalised(layer.cross_attention_residual.norm, states + update)
        states = normalised(layer.feed_forward_residual.norm, states + layer.feed_forward(states))
    return states @ model.output_projection.weight.T


@torch.no_grad()
def test_logits_are_those_of_the_formulas_written_out() -> None:
    model = drawn_model()
    source_ids, mask = drawn_sources()
    memory, log_probs = model.read(source_ids, mask)
    fertilities = model.choose(log_probs)
    found, real = model.distributions(memory, mask, fertilities, 99)
    for row in range(len(source_ids)):
        length = int(mask[row].sum())
        embeddings = model.source_embedding(source_ids[row : row + 1, :length])[0]
        states = embeddings + sinusoidal_table(length, DIM)
        for layer in model.encoder.layers:
            assert isinstance(layer, EncoderLayer)
            states = layer(states.unsqueeze(0)).squeeze(0)
        wanted_fertilities = model.fertility(states).argmax(dim=-1).tolist()
        assert fertilities[row, :length].tolist() == wanted_fertilities
        assert not fertilities[row, length:].any()
        wanted = decoded(model, embeddings, states, wanted_fertilities).log_softmax(dim=-1)
        assert int(real[row].sum()) == len(wanted)
        torch.testing.assert_close(found[row, : len(wanted)], wanted, atol=1e-5, rtol=1e-4)


def test_copies_are_those_of_numpys_repeat() -> None:
    generator = torch.Generator().manual_seed(1)
    fertilities = torch.randint(0, 4, (50, 6), generator=generator)
    places, real = copied_places(fertilities, 20)
    for row, counts in enumerate(fertilities.numpy()):
        wanted = np.repeat(np.arange(6), counts)
        assert places[row, : len(wanted)].tolist() == wanted.tolist()
        assert real[row].tolist() == [place < len(wanted) for place in range(20)]


@pytest.mark.parametrize("length", [0, 1, 3, 5, 8])
def test_the_most_probable_fertilities_of_a_length_are_the_best_of_all_that_sum_to_it(length: int) -> None:
    log_probs = torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(length)).log_softmax(dim=-1)
    found = most_probable_of_length(log_probs, torch.full((4,), length), max(length, 1))
    for row in range(4):
        ways = [way for way in product(range(3), repeat=4) if sum(way) == length]
        scores = {way: sum(float(log_probs[row, place, count]) for place, count in enumerate(way)) for way in ways}
        assert tuple(found[row].tolist()) == max(scores, key=lambda way: scores[way])


def test_a_length_beyond_all_fertilities_goes_to_the_last_token() -> None:
    log_probs = torch.zeros(1, 2, 3).log_softmax(dim=-1)
    assert most_probable_of_length(log_probs, torch.tensor([7]), 7).sum() == 7


def test_the_mean_is_rounded() -> None:
    log_probs = torch.tensor([[[0.5, 0.0, 0.5], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]]]).log()
    assert average(log_probs).tolist() == [[1, 2, 0]]


@torch.no_grad()
def test_made_to_write_an_output_of_its_own_length_it_takes_its_own_fertilities() -> None:
    model = drawn_model()
    source_ids, mask = drawn_sources()
    memory, log_probs = model.read(source_ids, mask)
    chosen = model.choose(log_probs)
    found, real = model.distributions(memory, mask, chosen, 99)
    forced = model(source_ids, mask, real.long()).log_softmax(dim=-1)
    torch.testing.assert_close(found[real], forced[real])


@torch.no_grad()
def test_neighbours_and_padding_change_nothing() -> None:
    model = drawn_model("average")
    source_ids, mask = drawn_sources()
    memory, log_probs = model.read(source_ids, mask)
    together = model.write(memory, mask, model.choose(log_probs), max_length=99)
    for row in range(len(source_ids)):
        length = int(mask[row].sum())
        memory, log_probs = model.read(source_ids[row : row + 1, :length], None)
        alone = model.write(memory, None, model.choose(log_probs), max_length=99)
        size = alone.token_ids.size(1)
        assert torch.equal(together.token_ids[row, :size], alone.token_ids[0])
        torch.testing.assert_close(together.log_probs[row, :size], alone.log_probs[0])
        assert not together.real[row, size:].any()


def test_no_position_looks_at_itself_and_positions_look_at_all() -> None:
    source_ids, mask = drawn_sources()
    _, weights = forced_pass(drawn_model(), source_ids, mask, torch.full((3, 5), 7))
    assert torch.diagonal(weights["decoder"], dim1=-2, dim2=-1).abs().max() == 0
    torch.testing.assert_close(weights["decoder"].sum(dim=-1), torch.ones(2, 3, HEADS, 5))
    assert torch.diagonal(weights["position"], dim1=-2, dim2=-1).min() > 0
    assert torch.equal(
        weights["position"][:, 0], weights["position"][:, 1]
    )  # of positions alone, not of what they hold
