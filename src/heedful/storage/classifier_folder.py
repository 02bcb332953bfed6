"""The model folder of a classifier: its labels beside what every model folder has (folder_files.py)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, JsonValue, model_validator
from torch import Tensor

from heedful.config.classification import ClassifierConfig, TransformerLayer
from heedful.config.section import Section
from heedful.models.build import construct_classifier, parameter_shapes
from heedful.models.classifier import ClassifierModel
from heedful.storage.folder_files import (
    SpecialIds,
    VocabSize,
    check_config,
    check_depth,
    check_floats,
    check_shapes,
    check_special_ids,
    check_task,
    read_files,
    sha256_of,
    write_files,
)

VERSION: Final = 1
"""Of config.json."""


@dataclass(frozen=True)
class ClassifierFolder:
    """The content of a classifier's model folder."""

    model: ClassifierConfig
    weights: Mapping[str, Tensor]
    """The parameters by name."""

    tokenizer_json: str
    special_ids: SpecialIds
    vocab_size: int
    labels: tuple[str, ...]
    """What can be said of a text; label number i is the i-th logit."""

    card: str = ""
    facts: dict[str, JsonValue] = field(default_factory=dict)
    """Where the model comes from and how good it is: for people, not needed to run it."""


class _ConfigFile(Section):
    """What config.json holds."""

    format: Literal["heedful-model"] = "heedful-model"
    version: Literal[1] = VERSION
    task: Literal["classification"] = "classification"
    labels: tuple[str, ...] = Field(min_length=2)
    vocab_size: VocabSize
    special_ids: SpecialIds
    model: ClassifierConfig
    tokenizer_sha256: str
    facts: dict[str, JsonValue]

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("labels must be different from one another")
        return self


def save_classifier(path: Path, folder: ClassifierFolder) -> None:
    """Write the model folder of a classifier at `path`, which must not exist yet."""
    config = _ConfigFile(
        labels=folder.labels,
        vocab_size=folder.vocab_size,
        special_ids=folder.special_ids,
        model=folder.model,
        tokenizer_sha256=sha256_of(folder.tokenizer_json),
        facts=folder.facts,
    )
    _check_weights(path, folder)
    write_files(path, config, folder.weights, folder.tokenizer_json, folder.card)


def load_classifier_folder(path: Path) -> ClassifierFolder:
    """Read and check the model folder of a classifier; `ModelFolderError` says what is wrong with it."""
    files = read_files(path)
    check_task(path, "classification")
    config = check_config(path, files.config, _ConfigFile, version=VERSION)
    folder = ClassifierFolder(
        model=config.model,
        weights=files.weights,
        tokenizer_json=files.tokenizer_json,
        special_ids=config.special_ids,
        vocab_size=config.vocab_size,
        labels=config.labels,
        card=files.card,
        facts=config.facts,
    )
    _check_weights(path, folder)
    return folder


def restore_classifier(folder: ClassifierFolder) -> ClassifierModel:
    """Build the model of a folder with its weights, ready for inference."""
    model = _construct(folder)
    model.load_state_dict(dict(folder.weights))
    return model.eval()


def classifier_card(*, name: str, labels: tuple[str, ...], num_parameters: int, facts: Mapping[str, str]) -> str:
    """Write the README.md of a classifier's folder; each of `facts` becomes one line of its table."""
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    shown = ", ".join(labels[:20]) + (f" and {len(labels) - 20:,} more" if len(labels) > 20 else "")
    return (
        f"# {name}\n\n"
        f"A classifier that puts one of {len(labels):,} labels on a text ({shown}), with {num_parameters:,} "
        "parameters, made with Heedful.\n\n"
        "| | |\n|---|---|\n"
        f"{rows}\n\n"
        "```\n"
        "heedful classify --model . < texts.txt\n"
        "```\n"
    )


def _check_weights(path: Path, folder: ClassifierFolder) -> None:
    """Find out whether weights and special ids are those of the model that the config describes, before it is built."""
    check_floats(path, folder.weights)
    check_special_ids(path, folder.special_ids, folder.vocab_size)
    if isinstance(folder.model.layer, TransformerLayer):  # bare attention may have no weights at all
        check_depth(path, folder.weights, folder.model.num_layers)
    check_shapes(path, folder.weights, parameter_shapes(partial(_construct, folder)))


def _construct(folder: ClassifierFolder) -> ClassifierModel:
    return construct_classifier(
        folder.model, vocab_size=folder.vocab_size, num_labels=len(folder.labels), pad_id=folder.special_ids.pad
    )
