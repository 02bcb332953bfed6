"""Recurrent units against `torch.nn.GRU`, additive attention against NumPy written from the paper."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heedful.nn.additive_attention import AdditiveAttention
from heedful.nn.initialization import initialize
from heedful.nn.masks import padding_mask
from heedful.nn.recurrent import BothWays, GatedRecurrence

LENGTHS = torch.tensor([7, 4, 1])
MASK = torch.arange(7) < LENGTHS.unsqueeze(1)


def drawn(module: nn.Module) -> nn.Module:
    """Weights and biases of a module, all different from zero."""
    initialize(module, torch.Generator().manual_seed(1))
    for parameter in module.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    return module


def states(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_a_unit_stepped_through_a_sequence_is_the_gru_of_torch() -> None:
    layer = drawn(GatedRecurrence(6, 10))
    theirs = nn.GRU(6, 10, batch_first=True)
    theirs.load_state_dict(layer.unit.state_dict())
    inputs, first = states(3, 7, 6), states(3, 10, seed=1)
    expected, _ = theirs(inputs, first.unsqueeze(0))
    torch.testing.assert_close(layer(inputs, first), expected)
    state, stepped = first, []
    for place in range(7):
        state = layer.step(inputs[:, place], state)
        stepped.append(state)
    torch.testing.assert_close(torch.stack(stepped, dim=1), expected, atol=1e-6, rtol=1e-5)


def test_a_unit_is_the_formula_of_cho() -> None:
    layer = drawn(GatedRecurrence(4, 5))
    weights = [parameter.detach().double().numpy() for parameter in layer.unit.all_weights[0]]
    (read_r, read_z, read_n), (kept_r, kept_z, kept_n) = (np.split(matrix, 3) for matrix in weights[:2])
    (bias_r, bias_z, bias_n), (more_r, more_z, more_n) = (np.split(bias, 3) for bias in weights[2:])
    x, h = states(4).numpy().astype(float), states(5, seed=1).numpy().astype(float)
    reset = sigmoid(read_r @ x + bias_r + kept_r @ h + more_r)
    update = sigmoid(read_z @ x + bias_z + kept_z @ h + more_z)
    candidate = np.tanh(read_n @ x + bias_n + reset * (kept_n @ h + more_n))
    wanted = (1 - update) * candidate + update * h
    found = layer.step(torch.tensor(x[None], dtype=torch.float32), torch.tensor(h[None], dtype=torch.float32))
    np.testing.assert_allclose(found.detach().numpy()[0], wanted, atol=1e-6)


def test_reading_both_ways_is_the_bidirectional_gru_of_torch() -> None:
    layer = drawn(BothWays(8))
    theirs = nn.GRU(8, 4, batch_first=True, bidirectional=True)
    ahead, back = layer.forward_layer.unit.state_dict(), layer.backward_layer.unit.state_dict()
    theirs.load_state_dict({**ahead, **{f"{name}_reverse": tensor for name, tensor in back.items()}})
    inputs = states(3, 7, 8)
    torch.testing.assert_close(layer(inputs), theirs(inputs)[0])
    packed = nn.utils.rnn.pack_padded_sequence(inputs, LENGTHS, batch_first=True)
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    torch.testing.assert_close(layer(inputs, MASK)[MASK], expected[MASK])


def test_additive_attention_is_the_formula_of_bahdanau() -> None:
    layer = drawn(AdditiveAttention(6))
    query, memory = states(3, 5, 6), states(3, 7, 6, seed=1)
    weight = {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}
    for one in range(3):
        length = int(LENGTHS[one])
        for place in range(5):
            asks = weight["query.weight"] @ query[one, place].numpy() + weight["query.bias"]
            keys = memory[one, :length].numpy() @ weight["key.weight"].T
            scores = np.array([weight["score.weight"][0] @ np.tanh(asks + key) for key in keys])
            weights = np.exp(scores) / np.exp(scores).sum()
            context = weights @ memory[one, :length].numpy()
            shown = layer.weights(query, memory, padding_mask(MASK))[one, 0, place].detach().numpy()
            np.testing.assert_allclose(shown, [*weights, *[0.0] * (7 - length)], atol=1e-6)
            found = layer(query, memory, padding_mask(MASK))[one, place].detach().numpy()
            np.testing.assert_allclose(found, weight["output.weight"] @ context + weight["output.bias"], atol=1e-5)


@pytest.mark.parametrize("mask", [None, padding_mask(MASK[:2])])
@torch.no_grad()
def test_an_explained_score_ends_in_the_weight_shown(mask: Tensor | None) -> None:
    layer = drawn(AdditiveAttention(6))
    query, memory = states(2, 5, 6)[[1, 0]], states(2, 7, 6, seed=1)
    mask = None if mask is None else mask[[1, 0]]
    shown = layer.weights(query, memory, mask)[0, 0, 2]
    explained = layer.explain_score(query, memory, mask, head=0, row=2, column=1)
    torch.testing.assert_close(explained.row_weights, shown)
    assert explained.weight == pytest.approx(float(shown[1]))
    assert explained.total == pytest.approx(float(explained.row_scores[1]), rel=1e-5)
    vector = layer.score.weight[0]
    torch.testing.assert_close(explained.terms, vector * (explained.query + explained.key).tanh())
    assert explained.divisor == 1
