"""Model folders of every kind that are in order, how each is used, and how one thing of them is altered."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

from heedful.config.classification import ClassifierConfig
from heedful.config.data import TokenizerConfig
from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.files import MANIFEST, write_manifest
from heedful.models.build import build_classifier, build_language_model
from heedful.storage.descriptions import ClassifierDescription, LanguageModelDescription
from heedful.storage.folder_files import SpecialIds, sha256_of
from heedful.storage.model_folder import ModelFolder, save_model_folder
from heedful.storage.quantized_weights import QuantizedWeights
from heedful.tasks.classification.classifier import load_classifier
from heedful.tasks.language_modeling.model import load_text_model
from heedful.tasks.translation.load import load_translator
from heedful.text.learning import learn_tokenizer
from heedful.text.symbols import ByteSymbols
from tests.support.tiny_models import LINES, make_model, save_model


def save_int8(path: Path) -> None:
    folder = make_model()
    save_model_folder(path, replace(folder, weights=QuantizedWeights.of(folder.weights)))


def save_labels(path: Path) -> None:
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=320), LINES, ())
    config = ClassifierConfig.model_validate(
        {
            "dim": 8,
            "num_layers": 1,
            "attention": {"kind": "multi_head", "num_heads": 2},
            "ngram_embedding": {"num_buckets": 50},
            "naive_bayes": {"num_buckets": 60},
        }
    )
    size = tokenizer.source_vocab_size
    model = build_classifier(config, vocab_size=size, num_labels=2, pad_id=tokenizer.pad_id)
    save_model_folder(
        path,
        ModelFolder(
            ClassifierDescription(
                model=config, special_ids=SpecialIds.of(tokenizer), vocab_size=size, labels=("neg", "pos")
            ),
            {name: parameter.detach() for name, parameter in model.named_parameters()},
            tokenizer.to_json(),
        ),
    )


def save_text(path: Path, config: TransformerXLConfig | LanguageModelConfig) -> None:
    model = build_language_model(config, vocab_size=256)
    save_model_folder(
        path,
        ModelFolder(
            LanguageModelDescription(model=config, vocab_size=256, segment_len=8, memory_len=8),
            {name: parameter.detach() for name, parameter in model.named_parameters()},
            ByteSymbols().to_json(),
        ),
    )


SHAPE: dict[str, Any] = {"dim": 8, "num_heads": 2, "hidden_dim": 8, "num_layers": 1}
KINDS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "fp32": (save_model, lambda path: load_translator(path, device="cpu").translate("where is the station")),
    "int8": (save_int8, lambda path: load_translator(path, device="cpu").translate("where is the station")),
    "labels": (save_labels, lambda path: load_classifier(path, device="cpu").classify("where is the station")),
    "xl": (
        lambda path: save_text(path, TransformerXLConfig(**SHAPE)),
        lambda path: list(load_text_model(path, device="cpu").generate("where", max_tokens=2)),
    ),
    "plain": (
        lambda path: save_text(
            path,
            LanguageModelConfig(kind="language_model", context_len=16, positions={"kind": "none"}, **SHAPE),  # type: ignore[arg-type]
        ),
        lambda path: list(load_text_model(path, device="cpu").generate("where", max_tokens=2)),
    ),
}


def seal_again(path: Path) -> None:
    (path / MANIFEST).unlink()
    write_manifest(path, {"kind": "model"})


def altered_config(sound: Path, tmp_path: Path, place: str, value: object) -> Path:
    """Copy a folder and write `value` at every one of the places; several values for several places."""
    path = copytree(sound, tmp_path / "model")
    config = json.loads((path / "config.json").read_bytes())
    places = place.split()
    for number, name in enumerate(places):
        *outer, last = name.split(".")
        here = config
        for key in outer:
            here = here[key]
        here[last] = value[number] if isinstance(value, tuple) else value
    (path / "config.json").write_text(json.dumps(config))
    seal_again(path)
    return path


def replace_tokenizer(sound: Path, tmp_path: Path, content: bytes) -> Path:
    """Copy a folder and give it another tokenizer, which its config knows as its own."""
    path = copytree(sound, tmp_path / "model")
    (path / "tokenizer.json").write_bytes(content)
    config = json.loads((path / "config.json").read_bytes())
    config["tokenizer_sha256"] = sha256_of(content.decode("utf-8", errors="replace"))
    (path / "config.json").write_text(json.dumps(config))
    seal_again(path)
    return path
