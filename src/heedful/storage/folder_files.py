"""What every model folder has in common, whatever its model is for: its files, and that they belong together.

    config.json         what the model is; its `task` says which class reads it
    model.safetensors   the weights, a shared matrix once
    tokenizer.json      text to tokens; this file carries it and checks that it belongs here, but does not read it
    README.md           the model card
    drafter.safetensors what guesses ahead for the model (drafters.py), where it has such a thing
    manifest.json       size and sha256 of each, written last (files.py)

A folder appears whole or not at all. What is missing, altered, of another model or from the future is refused with a
sentence before any of it is used. This file knows files and tensors; it knows no model.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import torch
from pydantic import Field, JsonValue, ValidationError
from pydantic_core import from_json
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from heedful.config.findings import fill_default_kinds
from heedful.config.section import Section
from heedful.errors import ModelFolderError
from heedful.files import publish_folder, verify_manifest, write_manifest

CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
DRAFTER = "drafter.safetensors"
ConfigT = TypeVar("ConfigT", bound=Section)

VocabSize = Annotated[int, Field(ge=1, le=1 << 24)]
"""Entries of a vocabulary, with a bound as every size has one that a file may name (config/models.py)."""


class HasSpecialIds(Protocol):
    """A tokenizer, as far as its special symbols are concerned."""

    @property
    def pad_id(self) -> int:
        """Fills up short rows."""

    @property
    def bos_id(self) -> int:
        """What every output starts from."""

    @property
    def eos_id(self) -> int:
        """What ends an output."""

    @property
    def unk_id(self) -> int:
        """Stands for what has no piece."""


class SpecialIds(Section):
    """Ids of the symbols that are no text."""

    pad: int = Field(ge=0)
    bos: int = Field(ge=0)
    eos: int = Field(ge=0)
    unk: int = Field(ge=0)

    @classmethod
    def of(cls, tokenizer: HasSpecialIds) -> "SpecialIds":
        """Return those of a tokenizer."""
        return cls(pad=tokenizer.pad_id, bos=tokenizer.bos_id, eos=tokenizer.eos_id, unk=tokenizer.unk_id)


@dataclass(frozen=True)
class FolderFiles:
    """The files of a model folder, read and found to belong together."""

    config: JsonValue
    """What config.json says, still to be checked by `check_config`."""

    weights: dict[str, Tensor]
    tokenizer_json: str
    card: str
    drafter: dict[str, Tensor] | None = None


def write_files(path: Path, files: FolderFiles) -> None:
    """Write a model folder at `path`, which must not exist yet."""

    def fill(partial: Path) -> None:
        (partial / CONFIG).write_bytes(json.dumps(files.config, indent=2, ensure_ascii=False).encode() + b"\n")
        (partial / WEIGHTS).write_bytes(save(files.weights))
        (partial / TOKENIZER).write_bytes(files.tokenizer_json.encode())
        (partial / CARD).write_bytes(files.card.encode())
        if files.drafter is not None:
            (partial / DRAFTER).write_bytes(save(files.drafter))
        write_manifest(partial, {"kind": "model", "tokenizer_sha256": sha256_of(files.tokenizer_json)})

    publish_folder(path, fill)


def read_files(path: Path) -> FolderFiles:
    """Read a model folder and check that it is whole and that its tokenizer is its own."""
    manifest = verify_manifest(path)
    if manifest.get("kind") != "model":
        raise ModelFolderError(
            f"{path} must be a model folder, but is a {manifest.get('kind', 'folder')} of another kind."
        )
    for name in (CONFIG, WEIGHTS, TOKENIZER, CARD):
        if not (path / name).is_file():
            raise ModelFolderError(f"{path} must hold {name}, but the file is missing. Copy the whole folder again.")
    config = read_json(path / CONFIG)
    tokenizer_json = _read_utf8(path / TOKENIZER)
    if isinstance(config, dict) and config.get("tokenizer_sha256") not in (None, sha256_of(tokenizer_json)):
        raise ModelFolderError(
            f"{path / TOKENIZER} must be the tokenizer this model was trained with, but is another one."
        )
    weights = _read_tensors(path / WEIGHTS)
    drafter = _read_tensors(path / DRAFTER) if (path / DRAFTER).is_file() else None
    return FolderFiles(config, weights, tokenizer_json, _read_utf8(path / CARD), drafter)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file by name."""
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ModelFolderError(f"{path} must be a safetensors file, but is not: {error}.") from error


def named_task(path: Path) -> str | None:
    """Return the task that config.json names, None where it cannot be read or names none."""
    try:
        return task_in(from_json((path / CONFIG).read_bytes()))
    except (OSError, ValueError):
        return None


def task_in(config: JsonValue) -> str | None:
    """Return the task that the content of a config.json names, None where it names none."""
    task = config.get("task") if isinstance(config, dict) else None
    return task if isinstance(task, str) else None


def check_config(path: Path, content: JsonValue, schema: type[ConfigT], *, version: int) -> ConfigT:
    """Return what config.json says as `schema` has it; `version` is the newest that is understood."""
    place = path / CONFIG
    given = content.get("version") if isinstance(content, dict) else None
    if isinstance(given, int) and given > version:  # asked first: what else is new in it is no mistake
        raise ModelFolderError(
            f"{place} has format version {given}, but this Heedful reads up to {version}. Use a newer Heedful."
        )
    if isinstance(content, dict):
        fill_default_kinds(schema, content)
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "value_error":  # parts that do not fit together, in our own words
            raise ModelFolderError(f"{place}: {first['msg'].removeprefix('Value error, ')}.") from error
        raise ModelFolderError(
            f"{place} must describe a model this Heedful knows, but `{name}` does not: {first['msg']}."
        ) from error


def check_depth(path: Path, stored: Mapping[str, Tensor], num_layers: int) -> None:
    """Refuse more layers than tensors, each layer having some of its own: asked before a list of them is made."""
    if num_layers > len(stored):
        raise ModelFolderError(
            f"{path / WEIGHTS} must hold the tensors of {num_layers:,} layers, as {CONFIG} says, "
            f"but holds {len(stored):,} tensors."
        )


def check_floats(path: Path, stored: Mapping[str, Tensor]) -> None:
    """Refuse tensors that are stored otherwise than in float32, what weights are unless the config says int8."""
    for name, tensor in stored.items():
        if tensor.dtype != torch.float32:
            found = str(tensor.dtype).removeprefix("torch.")
            raise ModelFolderError(f"{path / WEIGHTS}: `{name}` must be float32, but is {found}.")


def check_shapes(path: Path, stored: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Compare names and shapes of the stored tensors with those of the model that the config describes."""
    for name, shape in expected.items():
        if name not in stored:
            raise ModelFolderError(f"{path / WEIGHTS} must hold the tensor `{name}`, but does not.")
        found = tuple(stored[name].shape)
        if found != shape:
            hint = " The weights belong to another vocabulary." if "embedding" in name else ""
            raise ModelFolderError(f"{path / WEIGHTS}: `{name}` must have the shape {shape}, but has {found}.{hint}")
    if extra := sorted(stored.keys() - expected.keys()):
        raise ModelFolderError(f"{path / WEIGHTS} holds the tensor `{extra[0]}`, which this model does not have.")


def sha256_of(text: str) -> str:
    """Return the sha256 of a text as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _read_utf8(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelFolderError(f"{path} must be UTF-8 text, but byte {error.start:,} is not.") from None


def read_json(path: Path) -> JsonValue:
    """Read a JSON file of a model folder."""
    try:
        content: JsonValue = from_json(path.read_bytes())
    except ValueError as error:
        raise ModelFolderError(f"{path} must be JSON, but is not: {error}.") from error
    return content
