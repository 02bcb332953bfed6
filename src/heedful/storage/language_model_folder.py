"""The model folder of a language model: its symbols and its memory beside what every model folder has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, JsonValue
from torch import Tensor

from heedful.config.language_modeling import AnyLanguageModel
from heedful.config.models import MAX_LENGTH, Length
from heedful.config.section import Section
from heedful.models.build import construct_language_model, parameter_shapes
from heedful.models.language_model import LanguageModel
from heedful.models.transformer_xl import TransformerXL
from heedful.storage.folder_files import (
    VocabSize,
    check_config,
    check_depth,
    check_floats,
    check_shapes,
    check_task,
    read_files,
    sha256_of,
    write_files,
)

VERSION: Final = 1
"""Of config.json."""


@dataclass(frozen=True)
class LanguageModelFolder:
    """The content of a language model's folder."""

    model: AnyLanguageModel
    weights: Mapping[str, Tensor]
    """The parameters by name, a shared one once, under the first of its names."""

    symbols_json: str
    """What a symbol is; stands in tokenizer.json."""

    vocab_size: int
    segment_len: int
    """Symbols that were read at once in training."""

    memory_len: int
    """Positions that were remembered in training."""

    card: str = ""
    facts: dict[str, JsonValue] = field(default_factory=dict)
    """Where the model comes from and how good it is: for people, not needed to run it."""


class _ConfigFile(Section):
    """What config.json holds."""

    format: Literal["heedful-model"] = "heedful-model"
    version: Literal[1] = VERSION
    task: Literal["language_modeling"] = "language_modeling"
    vocab_size: VocabSize
    segment_len: Length
    memory_len: int = Field(ge=0, le=MAX_LENGTH)
    model: AnyLanguageModel
    tokenizer_sha256: str
    facts: dict[str, JsonValue]


def save_language_model(path: Path, folder: LanguageModelFolder) -> None:
    """Write the model folder of a language model at `path`, which must not exist yet."""
    config = _ConfigFile(
        vocab_size=folder.vocab_size,
        segment_len=folder.segment_len,
        memory_len=folder.memory_len,
        model=folder.model,
        tokenizer_sha256=sha256_of(folder.symbols_json),
        facts=folder.facts,
    )
    _check_weights(path, folder)
    write_files(path, config, folder.weights, folder.symbols_json, folder.card)


def load_language_model_folder(path: Path) -> LanguageModelFolder:
    """Read and check the model folder of a language model; `ModelFolderError` says what is wrong with it."""
    files = read_files(path)
    check_task(path, "language_modeling")
    config = check_config(path, files.config, _ConfigFile, version=VERSION)
    folder = LanguageModelFolder(
        model=config.model,
        weights=files.weights,
        symbols_json=files.tokenizer_json,
        vocab_size=config.vocab_size,
        segment_len=config.segment_len,
        memory_len=config.memory_len,
        card=files.card,
        facts=config.facts,
    )
    _check_weights(path, folder)
    return folder


def restore_language_model(folder: LanguageModelFolder) -> TransformerXL | LanguageModel:
    """Build the model of a folder with its weights, ready for inference."""
    model = _construct(folder)
    # Not strict: the second name of a shared parameter is not stored. `_check_weights` has seen to the rest.
    model.load_state_dict(dict(folder.weights), strict=False)
    return model.eval()


def language_model_card(*, name: str, symbols: str, num_parameters: int, facts: Mapping[str, str]) -> str:
    """Write the README.md of a language model's folder; each of `facts` becomes one line of its table."""
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    return (
        f"# {name}\n\n"
        f"A language model over {symbols} with {num_parameters:,} parameters, made with Heedful.\n\n"
        "| | |\n|---|---|\n"
        f"{rows}\n\n"
        "```\n"
        'heedful generate "Once upon a time" --model .\n'
        "```\n"
    )


def _check_weights(path: Path, folder: LanguageModelFolder) -> None:
    """Find out whether the weights are those of the model that the config describes, before it is built."""
    check_floats(path, folder.weights)
    check_depth(path, folder.weights, folder.model.num_layers)
    check_shapes(path, folder.weights, parameter_shapes(partial(_construct, folder)))


def _construct(folder: LanguageModelFolder) -> TransformerXL | LanguageModel:
    return construct_language_model(folder.model, vocab_size=folder.vocab_size)
