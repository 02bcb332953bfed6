"""The model folder: everything a trained model is, and nothing else, what one ships.

    config.json         what the model is, its languages, special ids and search settings
    model.safetensors   the weights, a shared matrix once, in fp32 or in int8 (rounded_weights.py)
    tokenizer.json      text to tokens; this file carries it and checks that it belongs here, but does not read it
    README.md           the model card
    manifest.json       size and sha256 of each, written last (files.py)

A folder appears whole or not at all. What is missing, altered, of another model or from the future is refused with a
sentence before any of it is used.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import from_json
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from heedful.config.model import TransformerConfig
from heedful.config.section import Section
from heedful.config.training import DecodingConfig
from heedful.errors import ModelFolderError
from heedful.files import publish_folder, verify_manifest, write_manifest
from heedful.models.build import construct_model
from heedful.models.rounded_weights import RoundedWeights
from heedful.models.transformer import Transformer

CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
VERSION: Final = 2
"""Of config.json. Version 2 says how the weights are stored and which language is translated into which."""


class SpecialIds(Section):
    """Ids of the symbols that are no text."""

    pad: int = Field(ge=0)
    bos: int = Field(ge=0)
    eos: int = Field(ge=0)
    unk: int = Field(ge=0)


@dataclass(frozen=True)
class ModelFolder:
    """The content of a model folder."""

    model: TransformerConfig
    weights: Mapping[str, Tensor]
    """The parameters by name, a shared one once, under the first of its names (`weights_of`); `RoundedWeights` are
    stored in int8."""

    tokenizer_json: str
    special_ids: SpecialIds
    source_vocab_size: int
    target_vocab_size: int
    source_language: str
    target_language: str
    languages: tuple[str, ...] = ()
    """Target languages that can be asked for; empty when there is only one."""

    directions: tuple[tuple[str, str], ...] = ()
    """Which language the model was trained to translate into which; empty when its maker did not say."""

    task: str = "translation"
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    card: str = ""
    facts: dict[str, JsonValue] = field(default_factory=dict)
    """Where the model comes from and how good it is: for people, not needed to run it."""


class _ConfigFile(Section):
    """What config.json holds."""

    format: Literal["heedful-model"] = "heedful-model"
    version: Literal[1, 2] = VERSION
    task: Literal["translation"]
    source_language: str
    target_language: str
    languages: tuple[str, ...]
    directions: tuple[tuple[str, str], ...] = ()
    weights: Literal["float32", "int8"] = "float32"
    source_vocab_size: int = Field(ge=1)
    target_vocab_size: int = Field(ge=1)
    special_ids: SpecialIds
    model: TransformerConfig
    decoding: DecodingConfig
    tokenizer_sha256: str
    facts: dict[str, JsonValue]


def weights_of(model: Transformer) -> dict[str, Tensor]:
    """Return the parameters of a model by name, such as [vocab, dim], a shared one once, on the CPU and contiguous."""
    return {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}


def save_model_folder(path: Path, folder: ModelFolder) -> None:
    """Write a model folder at `path`, which must not exist yet."""
    config = _ConfigFile(
        task="translation",
        source_language=folder.source_language,
        target_language=folder.target_language,
        languages=folder.languages,
        directions=folder.directions,
        weights="int8" if isinstance(folder.weights, RoundedWeights) else "float32",
        source_vocab_size=folder.source_vocab_size,
        target_vocab_size=folder.target_vocab_size,
        special_ids=folder.special_ids,
        model=folder.model,
        decoding=folder.decoding,
        tokenizer_sha256=_sha256(folder.tokenizer_json),
        facts=folder.facts,
    )
    _check_weights(path, folder)
    stored = folder.weights.stored if isinstance(folder.weights, RoundedWeights) else dict(folder.weights)

    def fill(partial: Path) -> None:
        (partial / CONFIG).write_bytes(config.model_dump_json(indent=2).encode() + b"\n")
        (partial / WEIGHTS).write_bytes(save(stored))
        (partial / TOKENIZER).write_bytes(folder.tokenizer_json.encode())
        (partial / CARD).write_bytes(folder.card.encode())
        write_manifest(partial, {"kind": "model", "tokenizer_sha256": config.tokenizer_sha256})

    publish_folder(path, fill)


def load_model_folder(path: Path) -> ModelFolder:
    """Read and check a model folder; `ModelFolderError` says what is wrong with it."""
    manifest = verify_manifest(path)
    if manifest.get("kind") != "model":
        raise ModelFolderError(
            f"{path} must be a model folder, but is a {manifest.get('kind', 'folder')} of another kind."
        )
    for name in (CONFIG, WEIGHTS, TOKENIZER, CARD):
        if not (path / name).is_file():
            raise ModelFolderError(f"{path} must hold {name}, but the file is missing. Copy the whole folder again.")
    config = _read_config(path / CONFIG)
    tokenizer_json = (path / TOKENIZER).read_text(encoding="utf-8")
    if _sha256(tokenizer_json) != config.tokenizer_sha256:
        raise ModelFolderError(
            f"{path / TOKENIZER} must be the tokenizer this model was trained with, but is another one."
        )
    try:
        weights = load_file(path / WEIGHTS)
    except SafetensorError as error:
        raise ModelFolderError(f"{path / WEIGHTS} must be a safetensors file, but is not: {error}.") from error
    folder = ModelFolder(
        model=config.model,
        weights=RoundedWeights(weights) if config.weights == "int8" else weights,
        tokenizer_json=tokenizer_json,
        special_ids=config.special_ids,
        source_vocab_size=config.source_vocab_size,
        target_vocab_size=config.target_vocab_size,
        source_language=config.source_language,
        target_language=config.target_language,
        languages=config.languages,
        directions=config.directions,
        task=config.task,
        decoding=config.decoding,
        card=(path / CARD).read_text(encoding="utf-8"),
        facts=config.facts,
    )
    _check_weights(path, folder)
    return folder


def restore_model(folder: ModelFolder) -> Transformer:
    """Build the model of a folder with its weights, ready for inference."""
    model = construct(folder)
    # Not strict: the second and third name of a shared matrix are not stored. `_check_weights` has seen to the rest.
    model.load_state_dict(folder.weights, strict=False)
    return model.eval()


def model_card(
    *,
    name: str,
    source_language: str,
    target_languages: Sequence[str],
    num_parameters: int,
    facts: Mapping[str, str],
) -> str:
    """Write the README.md of a model folder; each of `facts` becomes one line of its table."""
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    return (
        f"# {name}\n\n"
        f"A Transformer that translates from {source_language} into {', '.join(target_languages)}, "
        f"with {num_parameters:,} parameters, made with Heedful.\n\n"
        "| | |\n|---|---|\n"
        f"{rows}\n\n"
        "```\n"
        "heedful translate --model . < input.txt > output.txt\n"
        "```\n"
    )


def _read_config(path: Path) -> _ConfigFile:
    try:
        content = from_json(path.read_bytes())
    except ValueError as error:
        raise ModelFolderError(f"{path} must be JSON, but is not: {error}.") from error
    version = content.get("version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > VERSION:  # asked first: what else is new in it is no mistake
        raise ModelFolderError(
            f"{path} has format version {version}, but this Heedful reads up to {VERSION}. Use a newer Heedful."
        )
    try:
        return _ConfigFile.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ModelFolderError(
            f"{path} must describe a model this Heedful knows, but `{place}` does not: {first['msg']}."
        ) from error


def construct(folder: ModelFolder) -> Transformer:
    """Build the model of a folder, its weights still to be filled in."""
    return construct_model(
        folder.model,
        source_vocab_size=folder.source_vocab_size,
        target_vocab_size=folder.target_vocab_size,
        pad_id=folder.special_ids.pad,
    )


def _check_weights(path: Path, folder: ModelFolder) -> None:
    """Compare names and shapes with those of the model that the config describes."""
    if folder.model.tying == "three_way" and folder.source_vocab_size != folder.target_vocab_size:
        raise ModelFolderError(
            f"{path / CONFIG} must name one vocabulary size, because source and target share a matrix, "
            f"but has {folder.source_vocab_size:,} and {folder.target_vocab_size:,}."
        )
    stored: Mapping[str, Tensor] = folder.weights
    if isinstance(folder.weights, RoundedWeights):
        if problem := folder.weights.find_problem():
            raise ModelFolderError(f"{path / WEIGHTS}: {problem}.")
        stored = {name: folder.weights.stored[name] for name in folder.weights}  # shapes can be had without floats
    expected = {name: tuple(parameter.shape) for name, parameter in construct(folder).named_parameters()}
    for name, shape in expected.items():
        if name not in stored:
            raise ModelFolderError(f"{path / WEIGHTS} must hold the tensor `{name}`, but does not.")
        found = tuple(stored[name].shape)
        if found != shape:
            hint = " The weights belong to another vocabulary." if "embedding" in name else ""
            raise ModelFolderError(f"{path / WEIGHTS}: `{name}` must have the shape {shape}, but has {found}.{hint}")
    if extra := sorted(stored.keys() - expected.keys()):
        raise ModelFolderError(f"{path / WEIGHTS} holds the tensor `{extra[0]}`, which this model does not have.")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
