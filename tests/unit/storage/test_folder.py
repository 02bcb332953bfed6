"""The model folder: what was saved is what is loaded, and every kind of wrong folder gets its sentence."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from heedful.config.models import TransformerConfig
from heedful.config.training import DecodingConfig
from heedful.errors import HeedfulError, ModelFolderError
from heedful.files import MANIFEST, write_manifest
from heedful.models import build_model
from heedful.storage.cards import translator_card
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, load_model_folder, restore_model, save_model_folder, weights_of


def make_folder(tying: str = "three_way") -> ModelFolder[TranslatorDescription]:
    config = TransformerConfig(
        dim=16, num_heads=2, hidden_dim=24, num_encoder_layers=1, num_decoder_layers=1, tying=tying, dropout=0.3
    )
    model = build_model(config, source_vocab_size=11, target_vocab_size=11, pad_id=0)
    return ModelFolder(
        TranslatorDescription(
            model=config,
            special_ids=SpecialIds(pad=0, bos=1, eos=2, unk=3),
            source_vocab_size=11,
            target_vocab_size=11,
            source_language="en",
            target_language="de",
            languages=("de", "fr"),
            decoding=DecodingConfig(beam_size=7),
            facts={"bleu": 41.5, "steps": [1, 2]},
        ),
        weights_of(model),
        '{"pieces": "å漢"}',
        "# A card\n",
    )


def seal_again(path: Path) -> None:
    """Give an altered folder a manifest that fits, as someone who knows how would."""
    (path / MANIFEST).unlink()
    write_manifest(path, {"kind": "model"})


@pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])
def test_what_is_saved_is_loaded(tying: str, tmp_path: Path) -> None:
    folder = make_folder(tying)
    save_model_folder(tmp_path / "model", folder)
    loaded = load_model_folder(tmp_path / "model", TranslatorDescription)
    assert replace(loaded, weights={}) == replace(folder, weights={})
    assert loaded.weights.keys() == folder.weights.keys()
    assert all(torch.equal(loaded.weights[name], tensor) for name, tensor in folder.weights.items())


@pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])
def test_restored_model_computes_the_same(tying: str, tmp_path: Path) -> None:
    folder = make_folder(tying)
    model = restore_model(folder)
    save_model_folder(tmp_path / "model", replace(folder, weights=weights_of(model)))
    restored = restore_model(load_model_folder(tmp_path / "model", TranslatorDescription))
    ids = torch.randint(1, 11, (2, 5))
    assert not restored.training
    assert torch.equal(restored(ids, None, ids), model(ids, None, ids))
    assert len(list(restored.parameters())) == len(folder.weights)


def test_shared_matrix_is_stored_once(tmp_path: Path) -> None:
    save_model_folder(tmp_path / "model", make_folder("three_way"))
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert [name for name in stored if "embedding" in name or "output_projection" in name] == [
        "source_embedding.embedding.weight"
    ]


def test_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    save_model_folder(tmp_path / "model", make_folder())
    with pytest.raises(HeedfulError, match="must not exist yet, but it does"):
        save_model_folder(tmp_path / "model", make_folder())


def refusal(path: Path) -> str:
    with pytest.raises(ModelFolderError) as caught:
        load_model_folder(path, TranslatorDescription)
    return str(caught.value).replace(str(path), "MODEL")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "README.md", "manifest.json"])
def test_missing_file_is_named(name: str, tmp_path: Path) -> None:
    save_model_folder(tmp_path / "model", make_folder())
    (tmp_path / "model" / name).unlink()
    assert refusal(tmp_path / "model").startswith(f"MODEL must hold {name}, but the file is missing.")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "README.md"])
def test_altered_file_is_named(name: str, tmp_path: Path) -> None:
    save_model_folder(tmp_path / "model", make_folder())
    content = bytearray((tmp_path / "model" / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "model" / name).write_bytes(content)
    assert refusal(tmp_path / "model").startswith(f"MODEL/{name} has been altered")


def test_no_folder_at_all(tmp_path: Path) -> None:
    assert "there is no such folder" in refusal(tmp_path / "nowhere")


def test_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model_folder(path, make_folder())
    (path / "tokenizer.json").write_text("{}", encoding="utf-8")
    seal_again(path)
    assert refusal(path) == (
        "MODEL/tokenizer.json must be the tokenizer this model was trained with, but is another one."
    )


def test_weights_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model_folder(path, make_folder())
    weights = load_file(path / "model.safetensors")
    weights["source_embedding.embedding.weight"] = torch.zeros(12, 16)
    save_file(weights, path / "model.safetensors")
    seal_again(path)
    assert refusal(path) == (
        "MODEL/model.safetensors: `source_embedding.embedding.weight` must have the shape (11, 16), but has (12, 16). "
        "The weights belong to another vocabulary."
    )


def test_missing_and_surplus_tensors_are_named(tmp_path: Path) -> None:
    folder = make_folder()
    name = "encoder.layers.0.feed_forward.expand.bias"
    fewer = {key: tensor for key, tensor in folder.weights.items() if key != name}
    with pytest.raises(ModelFolderError, match=re.escape(f"must hold the tensor `{name}`, but does not.") + "$"):
        save_model_folder(tmp_path / "fewer", replace(folder, weights=fewer))
    more = {**folder.weights, "extra": torch.zeros(1)}
    with pytest.raises(ModelFolderError, match=r"holds the tensor `extra`, which this model does not have\.$"):
        save_model_folder(tmp_path / "more", replace(folder, weights=more))
    assert list(tmp_path.iterdir()) == []


def test_model_from_the_future_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model_folder(path, make_folder())
    config = json.loads((path / "config.json").read_bytes())
    (path / "config.json").write_text(json.dumps({**config, "version": 3}), encoding="utf-8")
    seal_again(path)
    assert (
        refusal(path) == "MODEL/config.json has format version 3, but this Heedful reads up to 2. Use a newer Heedful."
    )


def test_card_names_languages_size_and_facts() -> None:
    card = translator_card("x", "Transformer", "en", ["de"], {"weight": torch.zeros(1234567)}, {"BLEU": "41.5"})
    assert "A Transformer that translates from en into de, with 1,234,567 parameters" in card
    assert "| BLEU | 41.5 |" in card
