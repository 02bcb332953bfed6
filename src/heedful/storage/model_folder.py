"""The model folder: everything a model is, and nothing else, what one ships and what `--model` takes.

One for all tasks: a `Description` of the task (descriptions.py), the weights in fp32 or in int8
(quantized_weights.py), the tokenizer and the card; folder_files.py says which file holds which. What is loaded was
found to belong together, down to the shape of every tensor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from pydantic import JsonValue
from torch import Tensor, nn

from heedful.errors import ModelFolderError
from heedful.files import verify_sizes
from heedful.models.build import parameter_shapes
from heedful.models.drafter import Drafter
from heedful.storage.descriptions import DESCRIPTIONS, Description
from heedful.storage.drafters import pack_drafter, unpack_drafter
from heedful.storage.folder_files import (
    CONFIG,
    DRAFTER,
    WEIGHTS,
    FolderFiles,
    check_config,
    check_depth,
    check_floats,
    check_shapes,
    named_task,
    read_files,
    read_json,
    sha256_of,
    task_in,
    write_files,
)
from heedful.storage.quantized_weights import QuantizedWeights

DescriptionT = TypeVar("DescriptionT", bound=Description)
Described = TypeVar("Described", covariant=True)
ModelT = TypeVar("ModelT", bound=nn.Module)
ModelCo = TypeVar("ModelCo", bound=nn.Module, covariant=True)


class Buildable(Protocol[ModelCo]):
    """A description, known by the model it builds."""

    def build_empty(self) -> ModelCo:
        """Build the model, its weights still to be filled in."""


@dataclass(frozen=True)
class ModelFolder(Generic[Described]):
    """The content of a model folder."""

    description: Described
    weights: Mapping[str, Tensor]
    """The parameters by name, a shared one once, under the first of its names (`weights_of`); `QuantizedWeights` are
    stored in int8."""

    tokenizer_json: str
    card: str = ""
    drafter: Drafter | None = None
    """What guesses ahead for the model, where it has such a thing."""


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters of a model by name, such as [vocab, dim], a shared one once, on the CPU and contiguous."""
    return {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}


def save_model_folder(path: Path, folder: ModelFolder[DescriptionT]) -> None:
    """Write a model folder at `path`, which must not exist yet."""
    _check_weights(path, folder.description, folder.weights)
    quantized = folder.weights if isinstance(folder.weights, QuantizedWeights) else None
    content = folder.description.model_dump(mode="json")
    facts = content.pop("facts")  # the longest part, and the least needed: last
    content |= {
        "weights": "float32" if quantized is None else "int8",
        "tokenizer_sha256": sha256_of(folder.tokenizer_json),
        "facts": facts,
    }
    stored = dict(folder.weights) if quantized is None else quantized.stored
    drafter = None if folder.drafter is None else pack_drafter(folder.drafter)
    write_files(path, FolderFiles(content, stored, folder.tokenizer_json, folder.card, drafter))


def load_model_folder(path: Path, kind: type[DescriptionT]) -> ModelFolder[DescriptionT]:
    """Read and check the folder of a model of some kind; `ModelFolderError` says what is wrong with it."""
    files = read_files(path)
    _check_kind(path, task_in(files.config), kind)
    description = _described(path, files.config, kind)
    stored_as = files.config.get("weights") if isinstance(files.config, dict) else None
    weights = QuantizedWeights(files.weights) if stored_as == "int8" else files.weights
    _check_weights(path, description, weights)
    drafter = None if files.drafter is None else unpack_drafter(path / DRAFTER, files.drafter, description)
    return ModelFolder(description, weights, files.tokenizer_json, files.card, drafter)


def describe_model_folder(path: Path, kind: type[DescriptionT]) -> DescriptionT:
    """Return what a folder says of its model, in no time: neither weights nor tokenizer are read or checked."""
    verify_sizes(path)
    config = read_json(path / CONFIG)
    _check_kind(path, task_in(config), kind)
    return _described(path, config, kind)


def task_of(path: Path) -> str:
    """Return what the model of a folder is for, without reading its weights; "translation" where nothing says it.

    Only a hint at whom to ask: whoever then reads the folder checks it.
    """
    return named_task(path) or "translation"


def check_task(path: Path, wanted: type[Description]) -> None:
    """Refuse a folder that says its model is of another kind than `wanted`, and name what it can be used with."""
    _check_kind(path, named_task(path), wanted)


def _check_kind(path: Path, task: str | None, wanted: type[Description]) -> None:
    found = DESCRIPTIONS.get(task or "", wanted)
    if found is not wanted:
        raise ModelFolderError(
            f"{path} must hold {wanted.holder} here, but holds {found.holder}. Use it with heedful {found.verb}."
        )


def restore_model(folder: ModelFolder[Buildable[ModelT]]) -> ModelT:
    """Build the model of a folder with its weights, ready for inference."""
    model = folder.description.build_empty()
    # Not strict: the second and third name of a shared matrix are not stored. `_check_weights` has seen to the rest.
    model.load_state_dict(dict(folder.weights), strict=False)
    return model.eval()


def _described(path: Path, content: JsonValue, kind: type[DescriptionT]) -> DescriptionT:
    fields = dict(content) if isinstance(content, dict) else content
    if isinstance(fields, dict):
        # How the files are stored is said beside what the model is.
        _check_storage(path, fields.pop("weights", "float32"), fields.pop("tokenizer_sha256", None))
    return check_config(path, fields, kind, version=kind.newest)


def _check_storage(path: Path, weights: JsonValue, tokenizer_sha256: JsonValue) -> None:
    if weights not in ("float32", "int8"):
        raise ModelFolderError(f'{path / CONFIG}: `weights` must be "float32" or "int8", but is not.')
    if not isinstance(tokenizer_sha256, str):
        raise ModelFolderError(f"{path / CONFIG} must say which tokenizer belongs to it, in `tokenizer_sha256`.")


def _check_weights(path: Path, description: Description, weights: Mapping[str, Tensor]) -> None:
    """Find out whether the weights are those of the model that is described, before it is built."""
    stored = weights
    if isinstance(weights, QuantizedWeights):
        if problem := weights.find_problem():
            raise ModelFolderError(f"{path / WEIGHTS}: {problem}.")
        stored = {name: weights.stored[name] for name in weights}  # shapes can be had without floats
    else:
        check_floats(path, stored)
    check_depth(path, stored, description.num_layers)
    check_shapes(path, stored, parameter_shapes(description.build_empty))
