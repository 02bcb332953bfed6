"""What of a Marian folder is refused, and with which sentence; the parity tests show what is accepted."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file

from heedful.config.models import TransformerConfig
from heedful.errors import UserError
from heedful.interop import export_ctranslate2, export_huggingface, import_marian
from heedful.interop.marian_weights import layers_from_marian, layers_to_marian
from heedful.interop.residual_basis import halves_from_interleaved
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, load_model_folder, save_model_folder, weights_of
from heedful.text.tokenizer import Tokenizer

PIECES = ["</s>", "<unk>", ">>deu<<", ">>fra<<", "▁", *"abcdefghijklm", "<pad>"]
CONFIG = {
    "model_type": "marian",
    "vocab_size": len(PIECES),
    "d_model": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 12,
    "decoder_ffn_dim": 12,
    "activation_function": "swish",
    "scale_embedding": True,
    "static_position_embeddings": True,
    "pad_token_id": len(PIECES) - 1,
    "decoder_start_token_id": len(PIECES) - 1,
    "num_beams": 6,
}


def small_model(**changes: Any) -> ModelFolder[TranslatorDescription]:
    base = {"dim": 8, "num_heads": 2, "hidden_dim": 12, "num_encoder_layers": 1, "num_decoder_layers": 1}
    config = TransformerConfig.model_validate({**base, **changes})
    model = build_model(config, source_vocab_size=len(PIECES), target_vocab_size=len(PIECES), pad_id=0)
    return ModelFolder(
        TranslatorDescription(
            model=config,
            special_ids=SpecialIds(pad=0, bos=1, eos=2, unk=3),
            source_vocab_size=len(PIECES),
            target_vocab_size=len(PIECES),
            source_language="en",
            target_language="de",
        ),
        weights_of(model),
        "{}",
    )


def write_folder(path: Path, **changes: Any) -> Path:
    path.mkdir()
    for name in ("source.spm", "target.spm"):
        with (path / name).open("wb") as stream:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(["abc def ghi jklm"] * 20),
                model_writer=stream,
                vocab_size=17,
                model_type="unigram",
                minloglevel=2,
            )
    (path / "config.json").write_text(json.dumps({**CONFIG, **changes}), encoding="utf-8")
    (path / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(PIECES)}), encoding="utf-8")
    folder = small_model(output_bias=True)
    tensors = layers_to_marian(folder.weights)
    tensors["model.shared.weight"] = folder.weights["source_embedding.embedding.weight"]
    tensors["final_logits_bias"] = folder.weights["output_projection.bias"].unsqueeze(0)
    save_file(tensors, path / "model.safetensors")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        import_marian(path)
    return str(caught.value).replace(str(path), "MARIAN")


def test_multilingual_model_has_language_tags_and_survives_its_folder(tmp_path: Path) -> None:
    folder = import_marian(write_folder(tmp_path / "opus"))
    save_model_folder(tmp_path / "model", folder)
    loaded = load_model_folder(tmp_path / "model", TranslatorDescription)
    tokenizer = Tokenizer.from_json(loaded.tokenizer_json)
    assert loaded.description.languages == tokenizer.languages == ("deu", "fra")
    assert loaded.description.decoding.beam_size == 6
    assert tokenizer.encode_source("a", "fra")[0] == PIECES.index(">>fra<<")
    assert tokenizer.encode_source("a", "fra")[-1] == tokenizer.eos_id == 0
    assert tokenizer.bos_id == tokenizer.pad_id == len(PIECES) - 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model_type": "t5"}, "`model_type` must be 'marian', but is 't5'."),
        ({"scale_embedding": False}, "`scale_embedding` must be True, but is False."),
        ({"decoder_ffn_dim": 16}, "`encoder_ffn_dim` must be 16, but is 12."),
        ({"normalize_before": True}, "`normalize_before` must be False, but is True."),
        (
            {"activation_function": "tanh"},
            "`activation_function` must be one of swish, silu, relu, gelu, but is 'tanh'.",
        ),
    ],
)
def test_other_architectures_are_refused(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    assert refusal(write_folder(tmp_path / "opus", **changes)) == f"MARIAN/config.json: {sentence}"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"d_model": 10**9}, "dim"),
        ({"d_model": 7}, "model"),
        ({"encoder_layers": 10**7}, "num_encoder_layers"),
        ({"encoder_ffn_dim": 10**10, "decoder_ffn_dim": 10**10}, "hidden_dim"),
        ({"dropout": None}, "dropout"),
        ({"num_beams": 10**6}, "beam_size"),
        ({"num_beams": "many"}, "beam_size"),
    ],
)
def test_absurd_numbers_are_refused(changes: dict[str, Any], name: str, tmp_path: Path) -> None:
    found = refusal(write_folder(tmp_path / "marian", **changes))
    assert found.startswith(f"MARIAN/config.json must describe a model this Heedful knows, but its {name} does not: ")


def test_pickled_weights_are_read_as_tensors_only(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "opus")
    expected = import_marian(path).weights
    torch.save(load_file(path / "model.safetensors"), path / "pytorch_model.bin")
    (path / "model.safetensors").unlink()
    found = import_marian(path).weights
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    (path / "pytorch_model.bin").write_bytes(b"cposix\nsystem\n(S'true'\ntR.")
    assert refusal(path).startswith("MARIAN/pytorch_model.bin must be the weights of a model, tensors by name, but ")


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "model.safetensors"])
def test_missing_files_are_named(name: str, tmp_path: Path) -> None:
    path = write_folder(tmp_path / "opus")
    (path / name).unlink()
    assert refusal(path) == f"MARIAN/{name} must exist in a Marian folder, but does not."


def test_missing_tensor_is_named(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "opus")
    save_file({"final_logits_bias": torch.zeros(1, len(PIECES))}, path / "model.safetensors")
    assert refusal(path) == "MARIAN/model.safetensors must hold the tensor `model.shared.weight`, but does not."


def test_config_without_a_number_is_refused(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "opus", d_model=None)
    assert refusal(path) == "MARIAN/config.json: `d_model` must be a whole number, but is None."


def test_vocabulary_larger_than_the_model_is_refused(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "opus")
    (path / "vocab.json").write_text(json.dumps({"</s>": 0, "<unk>": 99}), encoding="utf-8")
    assert refusal(path) == (
        "MARIAN/vocab.json: the id of '<unk>' must be below the model's vocabulary of 19, but is 99."
    )


def test_models_that_have_no_class_there_are_not_exported(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"^A model for Hugging Face must have sinusoidal positions, but this one has learned ones\.$"
    ):
        export_huggingface(small_model(positions={"kind": "learned"}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_names_go_there_and_back() -> None:
    weights = {name: t for name, t in small_model().weights.items() if ".layers." in name}
    back = layers_from_marian(layers_to_marian(weights))
    assert back.keys() == weights.keys()
    assert all(torch.equal(back[name], tensor) for name, tensor in weights.items())


def test_renumbering_the_stream_moves_sines_to_the_front() -> None:
    weights = {"source_embedding.embedding.weight": torch.tensor([[0.0, 1.0, 2.0, 3.0]])}
    moved = halves_from_interleaved(weights, 4)["source_embedding.embedding.weight"]
    assert moved.tolist() == [[0.0, 2.0, 1.0, 3.0]]


def test_absent_ctranslate2_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(UserError, match=r"^The package `ctranslate2` must be installed for this export, but is not\."):
        export_ctranslate2(small_model(), tmp_path / "out")
