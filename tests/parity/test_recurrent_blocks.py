"""Recurrent units against `torch.nn`, their three attentions against NumPy written from the papers."""

from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heedful.nn.initialization import initialize
from heedful.nn.masks import padding_mask
from heedful.nn.recurrent import CELLS, BothWays, Cell, GatedRecurrence, LongShortTermMemory, Recurrence, last_said
from heedful.nn.single_head_attention import COMPARISONS, AdditiveAttention, Comparison, SingleHeadAttention

THEIRS: dict[Cell, type[nn.GRU] | type[nn.LSTM]] = {"gru": nn.GRU, "lstm": nn.LSTM}
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


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_unit_stepped_through_a_sequence_is_the_layer_of_torch(cell: Cell) -> None:
    layer = cast(Recurrence, drawn(CELLS[cell](6, 10)))
    theirs = THEIRS[cell](6, 10, batch_first=True)
    theirs.load_state_dict(layer.unit.state_dict())
    inputs, first = states(3, 7, 6), states(3, layer.state_dim, seed=1)
    parts = [part.unsqueeze(0).contiguous() for part in first.split(10, dim=-1)]
    expected, last = theirs(inputs, tuple(parts) if cell == "lstm" else parts[0])
    torch.testing.assert_close(layer(inputs, first), expected)
    found_last = layer.read(inputs, first)[1]
    torch.testing.assert_close(found_last, torch.cat([part[0] for part in last], -1) if cell == "lstm" else last[0])
    state, stepped = first, []
    for place in range(7):
        state = layer.step(inputs[:, place], state)
        stepped.append(layer.said(state))
    torch.testing.assert_close(torch.stack(stepped, dim=1), expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(state, found_last, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_gradients_of_steps_are_those_of_the_layer_of_torch(cell: Cell) -> None:
    layer = cast(Recurrence, drawn(CELLS[cell](6, 10)).double())
    theirs = THEIRS[cell](6, 10, batch_first=True).double()
    theirs.load_state_dict(layer.unit.state_dict())
    inputs = states(3, 7, 6).double()
    theirs(inputs)[0].square().sum().backward()
    state, total = torch.zeros(3, layer.state_dim).double(), torch.zeros(()).double()
    for place in range(7):
        state = layer.step(inputs[:, place], state)
        total = total + layer.said(state).square().sum()
    total.backward()
    for ours, other in zip(layer.unit.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, other.grad)


def test_gated_units_are_the_formula_of_cho() -> None:
    layer = cast(GatedRecurrence, drawn(GatedRecurrence(4, 5)).double())
    weights = [parameter.detach().numpy() for parameter in layer.unit.all_weights[0]]
    (read_r, read_z, read_n), (kept_r, kept_z, kept_n) = (np.split(matrix, 3) for matrix in weights[:2])
    (bias_r, bias_z, bias_n), (more_r, more_z, more_n) = (np.split(bias, 3) for bias in weights[2:])
    x, h = states(4).double().numpy(), states(5, seed=1).double().numpy()
    reset = sigmoid(read_r @ x + bias_r + kept_r @ h + more_r)
    update = sigmoid(read_z @ x + bias_z + kept_z @ h + more_z)
    candidate = np.tanh(read_n @ x + bias_n + reset * (kept_n @ h + more_n))
    wanted = (1 - update) * candidate + update * h
    found = layer.step(torch.tensor(x[None]), torch.tensor(h[None]))
    np.testing.assert_allclose(found.detach().numpy()[0], wanted, atol=1e-12)


def test_long_short_term_memory_is_the_formula_of_hochreiter_and_schmidhuber_with_a_forget_gate() -> None:
    layer = cast(LongShortTermMemory, drawn(LongShortTermMemory(4, 5)).double())
    weights = [parameter.detach().numpy() for parameter in layer.unit.all_weights[0]]
    x, h, c = states(4).double().numpy(), states(5, seed=1).double().numpy(), states(5, seed=2).double().numpy()
    enter, forget, candidate, say = np.split(weights[0] @ x + weights[2] + weights[1] @ h + weights[3], 4)
    cell = sigmoid(forget) * c + sigmoid(enter) * np.tanh(candidate)
    found = layer.step(torch.tensor(x[None]), torch.tensor(np.concatenate([h, c])[None]))
    np.testing.assert_allclose(found.detach().numpy()[0, 5:], cell, atol=1e-12)
    np.testing.assert_allclose(layer.said(found).detach().numpy()[0], sigmoid(say) * np.tanh(cell), atol=1e-12)


def test_a_forget_gate_begins_open() -> None:
    layer = LongShortTermMemory(4, 5)
    initialize(layer, torch.Generator().manual_seed(1))
    _, _, read, kept = layer.unit.all_weights[0]
    assert (read + kept).chunk(4)[1].tolist() == [1.0] * 5
    assert (read + kept).sum() == 5


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_reading_both_ways_is_the_bidirectional_layer_of_torch(cell: Cell) -> None:
    layer = cast(BothWays, drawn(BothWays(8, cell)))
    theirs = THEIRS[cell](8, 4, batch_first=True, bidirectional=True)
    ahead, back = layer.forward_layer.unit.state_dict(), layer.backward_layer.unit.state_dict()
    theirs.load_state_dict({**ahead, **{f"{name}_reverse": tensor for name, tensor in back.items()}})
    inputs = states(3, 7, 8)
    torch.testing.assert_close(layer(inputs), theirs(inputs)[0])
    packed = nn.utils.rnn.pack_padded_sequence(inputs, LENGTHS, batch_first=True)
    found, last = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(found, batch_first=True)
    torch.testing.assert_close(layer(inputs, MASK)[MASK], expected[MASK])
    ended = last[0] if cell == "lstm" else last
    torch.testing.assert_close(last_said(layer(inputs, MASK), MASK), torch.cat([*ended], dim=-1))
    torch.testing.assert_close(last_said(layer(inputs[:1]), None), torch.cat([*ended[:, :1]], dim=-1))


def score_of(comparison: Comparison, weight: dict[str, np.ndarray], query: np.ndarray, key: np.ndarray) -> float:
    """The formulas of Bahdanau (additive) and Luong (dot, general), the products divided by the root of the width."""
    if comparison == "additive":
        hidden = np.tanh(weight["query.weight"] @ query + weight["query.bias"] + weight["key.weight"] @ key)
        return float(weight["score.weight"][0] @ hidden)
    asked = query if comparison == "dot" else query @ weight["key.weight"]
    return float(asked @ key / np.sqrt(len(query)))


@pytest.mark.parametrize("comparison", ["additive", "dot", "general"])
def test_attention_is_the_formula_of_its_paper(comparison: Comparison) -> None:
    layer = cast(SingleHeadAttention, drawn(COMPARISONS[comparison](6)).double())
    query, memory = states(3, 5, 6).double(), states(3, 7, 6, seed=1).double()
    weight = {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}
    for one in range(3):
        length = int(LENGTHS[one])
        keys = memory[one, :length].numpy()
        for place in range(5):
            scores = np.array([score_of(comparison, weight, query[one, place].numpy(), key) for key in keys])
            weights = np.exp(scores) / np.exp(scores).sum()
            shown = layer.weights(query, memory, padding_mask(MASK))[one, 0, place].detach().numpy()
            np.testing.assert_allclose(shown, [*weights, *[0.0] * (7 - length)], atol=1e-12)
            found = layer(query, memory, padding_mask(MASK))[one, place].detach().numpy()
            wanted = weight["output.weight"] @ (weights @ keys) + weight["output.bias"]
            np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("comparison", ["dot", "general"])
def test_the_fused_products_are_the_readable_ones(comparison: Comparison) -> None:
    layer = cast(SingleHeadAttention, drawn(COMPARISONS[comparison](6)))
    query, memory, mask = states(3, 5, 6), states(3, 7, 6, seed=1), padding_mask(MASK)
    readable = SingleHeadAttention.look_up(layer, query, layer.answers(memory), memory, mask)
    torch.testing.assert_close(layer(query, memory, mask), readable)


@pytest.mark.parametrize("mask", [None, padding_mask(MASK[:2])])
@pytest.mark.parametrize("comparison", ["additive", "dot", "general"])
@torch.no_grad()
def test_an_explained_score_ends_in_the_weight_shown(comparison: Comparison, mask: Tensor | None) -> None:
    layer = cast(SingleHeadAttention, drawn(COMPARISONS[comparison](6)))
    query, memory = states(2, 5, 6)[[1, 0]], states(2, 7, 6, seed=1)
    mask = None if mask is None else mask[[1, 0]]
    shown = layer.weights(query, memory, mask)[0, 0, 2]
    explained = layer.explain_score(query, memory, mask, head=0, row=2, column=1)
    torch.testing.assert_close(explained.row_weights, shown)
    assert explained.weight == pytest.approx(float(shown[1]))
    assert explained.total / explained.divisor == pytest.approx(float(explained.row_scores[1]), rel=1e-5)
    if isinstance(layer, AdditiveAttention):
        terms = layer.score.weight[0] * (explained.query + explained.key).tanh()
        assert (explained.formula, explained.divisor) == ("additive", 1)
    else:
        terms = explained.query * explained.key
        assert explained.formula == "dot_product"
        assert explained.divisor == pytest.approx(6**0.5)
    torch.testing.assert_close(explained.terms, terms)
