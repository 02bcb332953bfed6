"""The whole model against a NumPy transcription of the paper that shares no code with it."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from heedful.config.models import TransformerConfig
from heedful.models import Transformer, build_model
from heedful.nn import sinusoidal_table
from tests.support import numpy_transformer as paper
from tests.support.families import as_transformer

HEADS = 4


def build() -> Transformer:
    config = TransformerConfig(dim=16, num_heads=HEADS, hidden_dim=40, num_encoder_layers=2, num_decoder_layers=3)
    generator = torch.Generator().manual_seed(5)
    model = build_model(config, source_vocab_size=23, target_vocab_size=23, pad_id=0, generator=generator)
    for parameter in model.parameters():  # zero biases and identity norms would hide a forgotten term
        nn.init.normal_(parameter, std=0.3, generator=generator)
    return as_transformer(model.eval())


Parameters = tuple[torch.Tensor, torch.Tensor]
"""A matrix and its bias."""


def array(tensor: torch.Tensor) -> paper.Array:
    return tensor.detach().double().numpy()


def attention(query: Parameters, key: Parameters, value: Parameters, output: nn.Linear) -> dict[str, Any]:
    weights = {}
    for letter, (matrix, bias) in {"Q": query, "K": key, "V": value, "O": (output.weight, output.bias)}.items():
        weights[f"W_{letter}"], weights[f"b_{letter}"] = array(matrix).T, array(bias)
    return weights


def self_attention(module: nn.Module) -> dict[str, Any]:
    packed = module.query_key_value
    query, key, value = zip(packed.weight.chunk(3), packed.bias.chunk(3), strict=True)
    return attention(query, key, value, module.output)


def cross_attention(module: nn.Module) -> dict[str, Any]:
    key, value = zip(module.key_value.weight.chunk(2), module.key_value.bias.chunk(2), strict=True)
    return attention((module.query.weight, module.query.bias), key, value, module.output)


def norm(residual: nn.Module) -> dict[str, Any]:
    return {"gain": array(residual.norm.weight), "bias": array(residual.norm.bias)}


def feed_forward(module: nn.Module) -> dict[str, Any]:
    expand, contract = module.expand, module.contract
    return {
        "W_1": array(expand.weight).T,
        "b_1": array(expand.bias),
        "W_2": array(contract.weight).T,
        "b_2": array(contract.bias),
    }


def in_paper_symbols(layer: nn.Module) -> dict[str, Any]:
    weights = {
        "attention": self_attention(layer.self_attention),
        "attention_norm": norm(layer.self_attention_residual),
        "ffn": feed_forward(layer.feed_forward),
        "ffn_norm": norm(layer.feed_forward_residual),
    }
    if hasattr(layer, "cross_attention"):
        weights["cross"] = cross_attention(layer.cross_attention)
        weights["cross_norm"] = norm(layer.cross_attention_residual)
    return weights


@pytest.mark.parametrize("lengths", [(1, 1), (7, 5), (3, 11)])
def test_padded_batch_gives_the_papers_logits_for_each_sentence(lengths: tuple[int, int]) -> None:
    model = build()
    source_len, target_len = lengths
    source_ids, target_ids = torch.randint(1, 23, (2, 7)), torch.randint(1, 23, (2, 11))
    source_mask = torch.arange(7) < torch.tensor([[source_len], [7]])

    logits = model(source_ids, source_mask, target_ids)[0, :target_len]

    layers = {
        "encoder": [in_paper_symbols(layer) for layer in model.encoder.layers],
        "decoder": [in_paper_symbols(layer) for layer in model.decoder.layers],
    }
    embedding = array(model.source_embedding.weight)
    source, target = source_ids[0, :source_len].tolist(), target_ids[0, :target_len].tolist()
    expected = paper.transformer(source, target, embedding, layers, HEADS)
    np.testing.assert_allclose(array(logits), expected, atol=1e-5, rtol=1e-5)


def test_positional_table_is_the_papers_formula() -> None:
    np.testing.assert_allclose(array(sinusoidal_table(300, 64)), paper.positional_encoding(300, 64), atol=1e-6)
