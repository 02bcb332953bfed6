"""Model folders with 8-bit weights: what they hold, what they compute, and how a wrong one is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from heedful.config.models import LearnedPositions, TransformerConfig
from heedful.engines.int8.engine import Int8Transformer, restore_int8
from heedful.errors import ModelFolderError
from heedful.files import MANIFEST, write_manifest
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, load_model_folder, restore_model, save_model_folder, weights_of
from heedful.storage.quantized_weights import QuantizedWeights

SHAPE = {"dim": 32, "num_heads": 2, "hidden_dim": 64, "num_encoder_layers": 1, "num_decoder_layers": 1}


def make_folder(**settings: Any) -> ModelFolder[TranslatorDescription]:
    config = TransformerConfig.model_validate({**SHAPE, **settings})
    generator = torch.Generator().manual_seed(0)
    model = build_model(config, source_vocab_size=50, target_vocab_size=50, pad_id=0, generator=generator)
    return ModelFolder(
        TranslatorDescription(
            model=config,
            special_ids=SpecialIds(pad=0, bos=1, eos=2, unk=3),
            source_vocab_size=50,
            target_vocab_size=50,
            source_language="en",
            target_language="de",
            directions=(("en", "de"), ("de", "en")),
        ),
        weights_of(model),
        "{}",
    )


def quantized(folder: ModelFolder[TranslatorDescription]) -> ModelFolder[TranslatorDescription]:
    return replace(folder, weights=QuantizedWeights.of(folder.weights))


def first_logits(engine: Int8Transformer) -> Tensor:
    source_ids = torch.arange(4, 16).reshape(2, 6)
    state = engine.start(source_ids, None, max_rows=2, max_len=1)
    return engine.step(state, torch.ones(2, dtype=torch.int64))


@pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_what_is_stored_computes_what_rounding_at_load_computes(tmp_path: Path, tying: str, norm: str) -> None:
    if not Int8Transformer.is_available():
        pytest.skip("needs a C++ compiler")
    folder = make_folder(
        tying=tying, norm=norm, output_bias=True, positions=LearnedPositions(kind="learned", max_len=20)
    )
    save_model_folder(tmp_path / "int8", quantized(folder))
    loaded = load_model_folder(tmp_path / "int8", TranslatorDescription)
    assert isinstance(loaded.weights, QuantizedWeights)
    assert torch.equal(first_logits(restore_int8(loaded)), first_logits(restore_int8(folder)))


def test_everyone_else_reads_floats_within_half_a_step(tmp_path: Path) -> None:
    folder = make_folder()
    save_model_folder(tmp_path / "int8", quantized(folder))
    loaded = load_model_folder(tmp_path / "int8", TranslatorDescription)
    assert replace(loaded, weights={}) == replace(folder, weights={})
    assert loaded.weights.keys() == folder.weights.keys()
    model = restore_model(loaded)
    for name, parameter in model.named_parameters():
        exact = folder.weights[name]
        step = exact.abs().amax(dim=-1, keepdim=True) / 127 if exact.dim() == 2 else torch.zeros(1)
        assert parameter.dtype == torch.float32
        assert ((parameter - exact).abs() <= step / 2 + 1e-7).all(), name
    assert len(model.output_projection.weight) == 50


def test_bytes_and_scales_are_all_there_is(tmp_path: Path) -> None:
    folder = make_folder(positions=LearnedPositions(kind="learned", max_len=20))
    save_model_folder(tmp_path / "int8", quantized(folder))
    stored = load_file(tmp_path / "int8" / "model.safetensors")
    matrix = stored["encoder.layers.0.feed_forward.expand.weight"]
    assert (matrix.dtype, tuple(matrix.shape)) == (torch.int8, (64, 32))
    assert tuple(stored["encoder.layers.0.feed_forward.expand.weight.scales"].shape) == (64,)
    assert stored["source_positions.embedding.weight"].dtype == torch.float32
    config = json.loads((tmp_path / "int8" / "config.json").read_bytes())
    assert (config["version"], config["weights"]) == (2, "int8")


def test_rounding_twice_changes_nothing() -> None:
    once = QuantizedWeights.of(make_folder().weights)
    assert QuantizedWeights.of(once) is once


def altered(path: Path, name: str, tensor: Tensor | None) -> str:
    """Put another tensor into a folder, seal it again as someone who knows how would, and return the refusal."""
    save_model_folder(path, quantized(make_folder()))
    stored = {key: value for key, value in load_file(path / "model.safetensors").items() if key != name}
    if tensor is not None:
        stored[name] = tensor
    save_file(stored, path / "model.safetensors")
    (path / MANIFEST).unlink()
    write_manifest(path, {"kind": "model"})
    with pytest.raises(ModelFolderError) as caught:
        load_model_folder(path, TranslatorDescription)
    return str(caught.value).replace(str(path), "MODEL")


def test_a_folder_that_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    name = "encoder.layers.0.feed_forward.expand.weight"
    assert altered(tmp_path / "a", name, torch.zeros(64, 32)) == (
        f"MODEL/model.safetensors: `{name}` must be int8, but is float32."
    )
    assert altered(tmp_path / "b", f"{name}.scales", None) == (
        f"MODEL/model.safetensors: `{name}` must have its scales in float32 beside it, but has none."
    )
    assert altered(tmp_path / "c", f"{name}.scales", torch.ones(5)) == (
        f"MODEL/model.safetensors: `{name}.scales` must have one scale for each row, but has the shape (5,)."
    )
    assert altered(tmp_path / "d", "other.scales", torch.ones(5)) == (
        "MODEL/model.safetensors: `other.scales` must have its matrix beside it, but does not."
    )
    assert altered(tmp_path / "e", name, torch.zeros(63, 32, dtype=torch.int8)).startswith(
        f"MODEL/model.safetensors: `{name}.scales` must have one scale for each row"
    )
    assert altered(tmp_path / "f", "encoder.layers.0.feed_forward.expand.bias", None) == (
        "MODEL/model.safetensors must hold the tensor `encoder.layers.0.feed_forward.expand.bias`, but does not."
    )
