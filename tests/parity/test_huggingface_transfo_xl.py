"""Transformer-XL against Hugging Face's, by files that its last release wrote (golden/make_transfo_xl.py)."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from heedful.config.language_modeling import TransformerXLConfig
from heedful.models.segment_memory import SegmentMemory
from heedful.models.transformer_xl import TransformerXL

GOLDEN = Path(__file__).parent / "golden"
SETTINGS = {
    "tied_biases": {"tied_biases": True, "clamp_len": None},
    "own_biases_clamped": {"tied_biases": False, "clamp_len": 3},
}


def converted(theirs: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """Give every weight of theirs the name it has with us."""
    ours = {
        "embedding.embedding.weight": theirs["transformer.word_emb.emb_layers.0.weight"],
        "output_projection.weight": theirs["crit.out_layers.0.weight"],
        "output_projection.bias": theirs["crit.out_layers.0.bias"],
    }
    for number in range(num_layers):
        them, us = f"transformer.layers.{number}", f"layers.{number}"
        query, key, value = theirs[f"{them}.dec_attn.qkv_net.weight"].chunk(3)
        ours[f"{us}.attention.query.weight"] = query
        ours[f"{us}.attention.key_value.weight"] = torch.cat([key, value])
        ours[f"{us}.attention.distance.weight"] = theirs[f"{them}.dec_attn.r_net.weight"]
        ours[f"{us}.attention.output.weight"] = theirs[f"{them}.dec_attn.o_net.weight"]
        ours[f"{us}.attention.biases.content"] = theirs[f"{them}.dec_attn.r_w_bias"]
        ours[f"{us}.attention.biases.position"] = theirs[f"{them}.dec_attn.r_r_bias"]
        for part in ("weight", "bias"):
            ours[f"{us}.attention_residual.norm.{part}"] = theirs[f"{them}.dec_attn.layer_norm.{part}"]
            ours[f"{us}.feed_forward.expand.{part}"] = theirs[f"{them}.pos_ff.CoreNet.0.{part}"]
            ours[f"{us}.feed_forward.contract.{part}"] = theirs[f"{them}.pos_ff.CoreNet.3.{part}"]
            ours[f"{us}.feed_forward_residual.norm.{part}"] = theirs[f"{them}.pos_ff.layer_norm.{part}"]
    return ours


@pytest.fixture(params=SETTINGS)
def golden(request: pytest.FixtureRequest) -> tuple[TransformerXL, dict[str, Tensor]]:
    tensors = load_file(GOLDEN / f"transfo_xl_{request.param}.safetensors")
    weights = {name.removeprefix("weights/"): value for name, value in tensors.items() if name.startswith("weights/")}
    shape = TransformerXLConfig(
        dim=16, num_heads=2, hidden_dim=24, num_layers=3, tied_output=False, dropout=0.0, **SETTINGS[request.param]
    )
    model = TransformerXL(shape, vocab_size=13)
    model.load_state_dict(converted(weights, 3))
    return model.eval(), tensors


def test_states_probabilities_and_memory_of_two_segments_are_theirs(
    golden: tuple[TransformerXL, dict[str, Tensor]],
) -> None:
    model, theirs = golden
    memory = model.empty_memory(2, 4)
    memory = SegmentMemory(memory.states, torch.full((2,), 4))  # theirs begins with zeros that it looks at
    for number, part in enumerate(theirs["token_ids"].split(5, dim=1)):
        with torch.no_grad():
            hidden, memory = model(part, memory)
            log_probs = model.project(hidden).log_softmax(-1)
        torch.testing.assert_close(hidden, theirs[f"hidden/{number}"], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(log_probs, theirs[f"log_probs/{number}"], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(memory.states, theirs[f"memory/{number}"].transpose(1, 2), rtol=1e-5, atol=1e-5)


def test_the_files_are_no_accident(golden: tuple[TransformerXL, dict[str, Tensor]]) -> None:
    model, theirs = golden
    assert theirs["log_probs/0"].exp().sum(-1).allclose(torch.ones(2, 5))
    fresh, _ = model(theirs["token_ids"][:, 5:], model.empty_memory(2, 4))
    assert not torch.allclose(fresh, theirs["hidden/1"], atol=1e-2)  # without the memory it is another answer
