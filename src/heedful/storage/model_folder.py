"""The model folder of a translation model: everything it is, and nothing else, what one ships.

    config.json         what the model is, its languages, special ids and search settings
    model.safetensors   the weights, in fp32 or in int8 (quantized_weights.py)

and the other files that every model folder has (folder_files.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue
from torch import Tensor

from heedful.config.models import ModelConfig
from heedful.config.section import Section
from heedful.config.training import DecodingConfig
from heedful.errors import ModelFolderError
from heedful.files import verify_sizes
from heedful.models.build import construct_model, parameter_shapes
from heedful.models.interfaces import EncoderDecoder
from heedful.storage.folder_files import (
    CARD,
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    SpecialIds,
    VocabSize,
    check_config,
    check_depth,
    check_floats,
    check_shapes,
    check_special_ids,
    check_task,
    read_files,
    read_json,
    sha256_of,
    write_files,
)
from heedful.storage.quantized_weights import RoundedWeights

__all__ = [
    "CARD",
    "CONFIG",
    "TOKENIZER",
    "WEIGHTS",
    "ModelDescription",
    "ModelFolder",
    "SpecialIds",
    "construct",
    "describe_model_folder",
    "load_model_folder",
    "model_card",
    "restore_model",
    "save_model_folder",
    "weights_of",
]

VERSION: Final = 2
"""Of config.json. Version 2 says how the weights are stored and which language is translated into which."""


@dataclass(frozen=True)
class ModelFolder:
    """The content of a model folder."""

    model: ModelConfig
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


class ModelDescription(Section):
    """What config.json holds: everything of a model but its weights."""

    format: Literal["heedful-model"] = "heedful-model"
    version: Literal[1, 2] = VERSION
    task: Literal["translation"]
    source_language: str
    target_language: str
    languages: tuple[str, ...]
    directions: tuple[tuple[str, str], ...] = ()
    weights: Literal["float32", "int8"] = "float32"
    source_vocab_size: VocabSize
    target_vocab_size: VocabSize
    special_ids: SpecialIds
    model: ModelConfig
    decoding: DecodingConfig
    tokenizer_sha256: str
    facts: dict[str, JsonValue]


def weights_of(model: EncoderDecoder) -> dict[str, Tensor]:
    """Return the parameters of a model by name, such as [vocab, dim], a shared one once, on the CPU and contiguous."""
    return {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}


def save_model_folder(path: Path, folder: ModelFolder) -> None:
    """Write a model folder at `path`, which must not exist yet."""
    config = ModelDescription(
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
        tokenizer_sha256=sha256_of(folder.tokenizer_json),
        facts=folder.facts,
    )
    _check_weights(path, folder)
    stored = folder.weights.stored if isinstance(folder.weights, RoundedWeights) else dict(folder.weights)
    write_files(path, config, stored, folder.tokenizer_json, folder.card)


def load_model_folder(path: Path) -> ModelFolder:
    """Read and check a model folder; `ModelFolderError` says what is wrong with it."""
    files = read_files(path)
    check_task(path, "translation")
    config = check_config(path, files.config, ModelDescription, version=VERSION)
    folder = ModelFolder(
        model=config.model,
        weights=RoundedWeights(files.weights) if config.weights == "int8" else files.weights,
        tokenizer_json=files.tokenizer_json,
        special_ids=config.special_ids,
        source_vocab_size=config.source_vocab_size,
        target_vocab_size=config.target_vocab_size,
        source_language=config.source_language,
        target_language=config.target_language,
        languages=config.languages,
        directions=config.directions,
        task=config.task,
        decoding=config.decoding,
        card=files.card,
        facts=config.facts,
    )
    _check_weights(path, folder)
    return folder


def describe_model_folder(path: Path) -> ModelDescription:
    """Return what a folder says of its model, in no time: neither weights nor tokenizer are read or checked."""
    verify_sizes(path)
    check_task(path, "translation")
    return check_config(path, read_json(path / CONFIG), ModelDescription, version=VERSION)


def restore_model(folder: ModelFolder) -> EncoderDecoder:
    """Build the model of a folder with its weights, ready for inference."""
    model = construct(folder)
    # Not strict: the second and third name of a shared matrix are not stored. `_check_weights` has seen to the rest.
    model.load_state_dict(folder.weights, strict=False)
    return model.eval()


def model_card(
    *,
    name: str,
    family: str,
    source_language: str,
    target_languages: Sequence[str],
    num_parameters: int,
    facts: Mapping[str, str],
) -> str:
    """Write the README.md of a model folder; each of `facts` becomes one line of its table."""
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    return (
        f"# {name}\n\n"
        f"A {family} that translates from {source_language} into {', '.join(target_languages)}, "
        f"with {num_parameters:,} parameters, made with Heedful.\n\n"
        "| | |\n|---|---|\n"
        f"{rows}\n\n"
        "```\n"
        "heedful translate --model . < input.txt > output.txt\n"
        "```\n"
    )


def construct(folder: ModelFolder) -> EncoderDecoder:
    """Build the model of a folder, its weights still to be filled in."""
    return construct_model(
        folder.model,
        source_vocab_size=folder.source_vocab_size,
        target_vocab_size=folder.target_vocab_size,
        pad_id=folder.special_ids.pad,
    )


def _check_weights(path: Path, folder: ModelFolder) -> None:
    """Find out whether weights and special ids are those of the model that the config describes, before it is built."""
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
    else:
        check_floats(path, stored)
    check_special_ids(path, folder.special_ids, min(folder.source_vocab_size, folder.target_vocab_size))
    check_depth(path, stored, folder.model.depth)
    check_shapes(path, stored, parameter_shapes(partial(construct, folder)))
