"""Encoder, decoder and whole model against `torch.nn.Transformer` with copied weights: outputs and all gradients."""

import pytest
import torch
from torch import Tensor, nn

from heedful.config.models import TransformerConfig
from heedful.models import Transformer, build_model
from tests.support.families import as_transformer

DIM, HEADS, HIDDEN, VOCAB = 32, 4, 48, 29


def build_ours(norm: str, activation: str) -> Transformer:
    config = TransformerConfig(
        dim=DIM,
        num_heads=HEADS,
        hidden_dim=HIDDEN,
        num_encoder_layers=3,
        num_decoder_layers=2,
        norm=norm,
        activation=activation,
        dropout=0.0,
    )
    return as_transformer(build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0))


def build_torch(norm: str, activation: str) -> nn.Transformer:
    shape = {"dim_feedforward": HIDDEN, "dropout": 0.0, "activation": activation, "batch_first": True}
    encoder_layer = nn.TransformerEncoderLayer(DIM, HEADS, norm_first=norm == "pre", **shape)
    decoder_layer = nn.TransformerDecoderLayer(DIM, HEADS, norm_first=norm == "pre", **shape)
    # torch puts a last LayerNorm on post-norm stacks too, which the paper does not have.
    final = [nn.LayerNorm(DIM) if norm == "pre" else None for _ in range(2)]
    encoder = nn.TransformerEncoder(encoder_layer, 3, norm=final[0], enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(decoder_layer, 2, norm=final[1])
    theirs = nn.Transformer(DIM, HEADS, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    for parameter in theirs.parameters():  # zero biases and identity norms would hide a forgotten term
        nn.init.normal_(parameter, std=0.3)
    return theirs


def gradient_of(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def in_our_names(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename torch's tensors, weights or gradients alike; only the cross-attention projection is also cut."""
    ours = {}
    for name, tensor in theirs.items():
        name = name.replace("self_attn.in_proj_", "self_attention.query_key_value.")
        name = name.replace("self_attn.out_proj", "self_attention.output")
        name = name.replace("multihead_attn.out_proj", "cross_attention.output")
        name = name.replace("linear1", "feed_forward.expand").replace("linear2", "feed_forward.contract")
        last_norm = "norm2" if name.startswith("encoder") else "norm3"
        name = name.replace("coder.norm.", "coder.final_norm.").replace("norm1", "self_attention_residual.norm")
        name = name.replace(last_norm, "feed_forward_residual.norm").replace("norm2", "cross_attention_residual.norm")
        if "multihead_attn.in_proj_" in name:
            query = name.replace("multihead_attn.in_proj_", "cross_attention.query.")
            ours[query] = tensor[:DIM]
            ours[query.replace("query", "key_value")] = tensor[DIM:]
        else:
            ours[name] = tensor
    return ours


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_outputs_and_gradients_equal_torch(norm: str, activation: str) -> None:
    torch.manual_seed(11)
    ours, theirs = build_ours(norm, activation), build_torch(norm, activation)
    copied = in_our_names(theirs.state_dict())
    missing, unexpected = ours.load_state_dict(copied, strict=False)
    assert not unexpected
    assert all("embedding" in name or "output_projection" in name for name in missing)

    source_ids, target_ids = torch.randint(1, VOCAB, (4, 9)), torch.randint(1, VOCAB, (4, 6))
    source_mask = torch.arange(9) < torch.tensor([[9], [1], [4], [6]])
    # What enters torch's model is computed by ours; embedding and positions have their own tests.
    source = ours.source_positions(ours.source_embedding(source_ids, source_mask)).detach()
    target = ours.target_positions(ours.target_embedding(target_ids)).detach()
    causal = nn.Transformer.generate_square_subsequent_mask(6).isneginf()
    expected_memory = theirs.encoder(source, src_key_padding_mask=~source_mask)
    expected = theirs.decoder(
        target, expected_memory, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=~source_mask
    )

    memory = ours.encode(source_ids, source_mask)
    hidden = ours.decode(target_ids, memory, source_mask)

    close(memory[source_mask], expected_memory[source_mask])
    close(hidden, expected)
    direction = torch.randn_like(hidden) / hidden.numel() ** 0.5
    (hidden * direction).sum().backward()
    (expected * direction).sum().backward()
    gradients = in_our_names({name: gradient_of(parameter) for name, parameter in theirs.named_parameters()})
    for name, gradient in gradients.items():
        close(gradient_of(ours.get_parameter(name)), gradient)


def test_embedding_and_its_gradient_equal_torch_embedding_times_root_of_dim() -> None:
    torch.manual_seed(12)
    ours = build_ours("post", "relu").source_embedding
    theirs = nn.Embedding(VOCAB, DIM)
    theirs.load_state_dict(ours.embedding.state_dict())
    ids = torch.randint(0, VOCAB, (3, 5))
    direction = torch.randn(3, 5, DIM)

    (ours(ids) * direction).sum().backward()
    (theirs(ids) * DIM**0.5 * direction).sum().backward()

    close(ours(ids), theirs(ids) * DIM**0.5)
    close(gradient_of(ours.weight), gradient_of(theirs.weight))
