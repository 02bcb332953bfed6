"""Blocks with weights that make the answer plain, and the first weights themselves."""

import math

import pytest
import torch
from torch import nn

from heedful.nn import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    MultiHeadSelfAttention,
    OutputProjection,
    PostNormResidual,
    PreNormResidual,
    TokenEmbedding,
    causal_mask,
    initialize,
    padding_mask,
)


def test_causal_mask_is_the_lower_triangle() -> None:
    assert causal_mask(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_padding_mask_broadcasts_over_heads_and_queries() -> None:
    assert padding_mask(None) is None
    assert padding_mask(torch.tensor([[True, False]])).shape == (1, 1, 1, 2)


def test_embedding_is_scaled_and_cut() -> None:
    embedding = TokenEmbedding(5, 4)
    vectors = embedding(torch.tensor([[1, 2]]), keep=torch.tensor([[True, False]]))
    assert torch.equal(vectors[0, 0], embedding.weight[1] * 2)
    assert torch.equal(vectors[0, 1], torch.zeros(4))


def test_feed_forward_is_the_same_at_every_position() -> None:
    block = FeedForward(4, 8)
    states = torch.randn(1, 1, 4).expand(2, 5, 4)
    torch.testing.assert_close(block(states), block(states[:1, :1]).expand(2, 5, 4))


@pytest.mark.parametrize("layer", [EncoderLayer, DecoderLayer])
def test_pre_norm_layer_with_silent_sublayers_is_the_identity(layer: type[nn.Module]) -> None:
    block = layer(dim=8, num_heads=2, hidden_dim=16, norm="pre")
    for name, parameter in block.named_parameters():
        if "output" in name or "contract" in name:
            nn.init.zeros_(parameter)
    states = torch.randn(2, 3, 8)
    output = block(states, states) if layer is DecoderLayer else block(states)
    assert torch.equal(output, states)


def test_post_norm_normalises_the_sum_and_pre_norm_the_input() -> None:
    states = torch.randn(2, 3, 8) * 5
    post, pre = PostNormResidual(8, 0.0), PreNormResidual(8, 0.0)
    torch.testing.assert_close(post(states, torch.zeros_like), nn.functional.layer_norm(states, (8,)))
    torch.testing.assert_close(pre(states, lambda x: x), states + nn.functional.layer_norm(states, (8,)))


def test_dropout_acts_in_training_and_only_there() -> None:
    layer = DecoderLayer(dim=8, num_heads=2, hidden_dim=16, dropout=0.5, attention_dropout=0.5, hidden_dropout=0.5)
    states = torch.randn(2, 6, 8)
    assert not torch.equal(layer(states, states), layer(states, states))
    layer.eval()
    assert torch.equal(layer(states, states), layer(states, states))


def test_first_weights_are_as_documented() -> None:
    dim = 256
    blocks = nn.ModuleList(
        [
            TokenEmbedding(1000, dim),
            MultiHeadSelfAttention(dim, 4),
            MultiHeadAttention(dim, 4),
            FeedForward(dim, 1024),
            OutputProjection(1000, dim, bias=True),
        ]
    )
    initialize(blocks, torch.Generator().manual_seed(1))
    embedding, own, cross, feed_forward, output = blocks
    assert embedding.weight.std().item() == pytest.approx(dim**-0.5, rel=0.02)
    assert output.weight.std().item() == pytest.approx(dim**-0.5, rel=0.02)
    # Glorot: variance 2 / (fan in + fan out), halved for queries, keys and values, third by third.
    for matrix in (*own.query_key_value.weight.chunk(3), cross.query.weight, *cross.key_value.weight.chunk(2)):
        assert matrix.std().item() == pytest.approx(math.sqrt(0.5 / dim), rel=0.02)
    assert own.output.weight.std().item() == pytest.approx(math.sqrt(1 / dim), rel=0.02)
    assert feed_forward.expand.weight.std().item() == pytest.approx(math.sqrt(2 / (dim + 1024)), rel=0.02)
    assert all((p == 0).all() for name, p in blocks.named_parameters() if name.endswith("bias"))


def test_first_weights_are_a_function_of_the_seed() -> None:
    one, other = FeedForward(4, 8), FeedForward(4, 8)
    initialize(one, torch.Generator().manual_seed(1))
    initialize(other, torch.Generator().manual_seed(1))
    assert torch.equal(one.expand.weight, other.expand.weight)
    initialize(other, torch.Generator().manual_seed(2))
    assert not torch.equal(one.expand.weight, other.expand.weight)
