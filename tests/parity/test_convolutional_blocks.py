"""Gated convolutions against `functional.conv1d`, attention against NumPy, and the whole model against the paper."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.config.models import ConvolutionalConfig, LearnedPositions
from heedful.models.build import build_model
from heedful.nn.conditioned_attention import ConditionedAttention
from heedful.nn.convolution import GatedConvolution
from heedful.nn.initialization import initialize
from heedful.nn.masks import padding_mask

LENGTHS = torch.tensor([7, 4, 1])
MASK = torch.arange(7) < LENGTHS.unsqueeze(1)
WINDOWS = [(1, 1), (2, 0), (0, 0), (2, 1), (4, 0)]


def drawn(module: nn.Module) -> nn.Module:
    """Weights and biases of a module in float64, all different from zero."""
    initialize(module, torch.Generator().manual_seed(1))
    for parameter in module.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    return module.double()


def states(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("before", "after"), WINDOWS)
def test_a_gated_convolution_is_that_of_torch(before: int, after: int) -> None:
    layer = drawn(GatedConvolution(6, before=before, after=after))
    width = before + 1 + after
    # Theirs has [out, in, width], ours the vectors of a window side by side: [out, width · in].
    weight = layer.linear.weight.view(12, width, 6).transpose(1, 2)
    inputs = states(3, 9, 6)
    padded = functional.pad(inputs.transpose(1, 2), (before, after))
    expected = functional.glu(functional.conv1d(padded, weight, layer.linear.bias), dim=1).transpose(1, 2)
    torch.testing.assert_close(layer(inputs), expected)


@pytest.mark.parametrize(("before", "after"), WINDOWS)
def test_a_gated_convolution_is_the_formula_of_dauphin(before: int, after: int) -> None:
    layer = drawn(GatedConvolution(4, before=before, after=after))
    weight, bias = layer.linear.weight.detach().numpy(), layer.linear.bias.detach().numpy()
    inputs = states(7, 4).numpy()
    found = layer(torch.tensor(inputs[None]))[0].detach().numpy()
    for place in range(7):
        neighbours = range(place - before, place + after + 1)
        window = np.concatenate([inputs[i] if 0 <= i < 7 else np.zeros(4) for i in neighbours])
        values, gates = np.split(weight @ window + bias, 2)
        np.testing.assert_allclose(found[place], values / (1 + np.exp(-gates)), atol=1e-12)


def test_padding_is_as_good_as_the_end() -> None:
    layer = drawn(GatedConvolution(6, before=2, after=2))
    inputs = states(3, 7, 6)
    found = layer(inputs, MASK)
    for one, length in enumerate(LENGTHS):
        torch.testing.assert_close(found[one, :length], layer(inputs[one : one + 1, :length])[0])


@pytest.mark.parametrize("name", ["convolution", "attention"])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    if name == "convolution":
        convolution = drawn(GatedConvolution(4, before=2, after=0))
        assert torch.autograd.gradcheck(convolution, states(2, 5, 4).requires_grad_())
        return
    attention = drawn(ConditionedAttention(4))
    given = [states(2, length, 4, seed=seed).requires_grad_() for seed, length in enumerate((3, 3, 5, 5))]
    assert torch.autograd.gradcheck(lambda *four: attention(*four, padding_mask(MASK[:2, :5])), given)


def test_attention_is_the_formula_of_gehring() -> None:
    layer = drawn(ConditionedAttention(6))
    asks, read = states(3, 5, 6), states(3, 5, 6, seed=1)
    keys, values = states(3, 7, 6, seed=2), states(3, 7, 6, seed=3)
    weight = {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}
    found = layer(asks, read, keys, values, padding_mask(MASK)).detach().numpy()
    shown = layer.weights(asks, read, keys, values, padding_mask(MASK)).detach().numpy()
    for one, length in enumerate(LENGTHS.tolist()):
        query = asks[one].numpy() @ weight["query.weight"].T + weight["query.bias"] + read[one].numpy()
        weights = softmax(query @ keys[one, :length].numpy().T / np.sqrt(6))
        np.testing.assert_allclose(shown[one, 0, :, :length], weights, atol=1e-12)
        assert not shown[one, 0, :, length:].any()
        context = weights @ values[one, :length].numpy()
        np.testing.assert_allclose(found[one], context @ weight["output.weight"].T + weight["output.bias"], atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@torch.no_grad()
def test_an_explained_score_ends_in_the_weight_shown(masked: bool) -> None:
    layer = drawn(ConditionedAttention(6)).float()
    mask = padding_mask(MASK[[1, 0]]) if masked else None
    given = [states(2, length, 6, seed=seed).float() for seed, length in enumerate((5, 5, 7, 7))]
    shown = layer.weights(*given, mask)[0, 0, 2]
    explained = layer.explain_score(*given, mask, head=0, row=2, column=1)
    torch.testing.assert_close(explained.row_weights, shown)
    assert explained.weight == pytest.approx(float(shown[1]))
    assert explained.total / explained.divisor == pytest.approx(float(explained.row_scores[1]), rel=1e-5)
    torch.testing.assert_close(explained.query, (layer.query(given[0]) + given[1])[0, 2])


def test_the_whole_model_is_that_of_the_paper_in_numpy() -> None:
    """Sections 3.1 to 3.3, one position after the other, with sums scaled and nothing normalised."""
    config = ConvolutionalConfig(
        kind="convolutional",
        dim=6,
        norm="scaled",
        num_encoder_layers=2,
        num_decoder_layers=2,
        positions=LearnedPositions(kind="learned", max_len=9),
    )
    model = build_model(config, source_vocab_size=11, target_vocab_size=11, pad_id=0)
    drawn(model).eval()
    weight = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    source, target = [3, 7, 5, 9, 2], [1, 4, 4, 8]

    def embedded(ids: list[int], side: str) -> np.ndarray:
        table, places = weight["source_embedding.embedding.weight"], weight[f"{side}_positions.embedding.weight"]
        return table[ids] * np.sqrt(6) + places[: len(ids)]

    def convolved(vectors: np.ndarray, name: str, before: int, after: int) -> np.ndarray:
        padded = np.concatenate([np.zeros((before, 6)), vectors, np.zeros((after, 6))])
        windows = [padded[place : place + before + 1 + after].ravel() for place in range(len(vectors))]
        both = np.array(windows) @ weight[f"{name}.linear.weight"].T + weight[f"{name}.linear.bias"]
        return both[:, :6] / (1 + np.exp(-both[:, 6:]))

    half = np.sqrt(0.5)
    said = z = embedded(source, "source")
    for layer in range(2):
        z = (z + convolved(z, f"encoder.{layer}.convolution", 1, 1)) * half
    g = h = embedded(target, "target")
    for layer in range(2):
        name = f"decoder.{layer}"
        h = (h + convolved(h, f"{name}.convolution", 2, 0)) * half
        d = h @ weight[f"{name}.attention.query.weight"].T + weight[f"{name}.attention.query.bias"] + g
        found = softmax(d @ z.T / np.sqrt(6)) @ ((z + said) * half)
        h = (h + found @ weight[f"{name}.attention.output.weight"].T + weight[f"{name}.attention.output.bias"]) * half
    logits = model(torch.tensor([source]), None, torch.tensor([target]))[0].detach().numpy()
    np.testing.assert_allclose(logits, h @ weight["source_embedding.embedding.weight"].T, atol=1e-10)
