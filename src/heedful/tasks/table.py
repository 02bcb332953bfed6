"""The table of tasks: what a run and a model folder of each look like, and what trains and loads them.

Whoever must know which task something belongs to reads it here: the commands, `heedful.load`, the server. Importing
this file imports torch; commands do so when they have something to do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from heedful.config.load import AnyRun
from heedful.storage.descriptions import (
    ClassifierDescription,
    Description,
    LanguageModelDescription,
    TranslatorDescription,
)
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import task_of
from heedful.tasks.classification.classifier import load_classifier
from heedful.tasks.classification.train import ClassificationJob
from heedful.tasks.language_modeling.model import load_text_model
from heedful.tasks.language_modeling.train import LanguageModelJob
from heedful.tasks.runs import RunContext, RunJob
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.train import TranslationJob


class Load(Protocol):
    """Makes something one can use of a model folder."""

    def __call__(
        self, models: Any, *, device: str | None, quantize: str | None, say: Callable[[str], None] | None
    ) -> Any:
        """Load from a folder; None, where a task has one, is the bundled model."""


@dataclass(frozen=True)
class Task:
    """What is different from task to task."""

    description: type[Description]
    """What a model folder says of its model."""

    prepare: Callable[[Any, RunContext], RunJob[Any]]
    """Makes the job of a run, for `run_training`."""

    load: Load
    advice: str
    """What to do with a trained model; the run folder follows."""


def _load_in_floats(
    load: Callable[..., Any],
    models: str | Path,
    *,
    device: str | None,
    quantize: str | None,  # noqa: ARG001 - int8 is for translators
    say: Callable[[str], None] | None,  # noqa: ARG001 - nothing has to be compiled
) -> Any:
    return load(models, device=device)


TASKS: dict[str, Task] = {
    "translation": Task(
        TranslatorDescription,
        TranslationJob.prepare,
        load_translator,
        "Translate with it: heedful translate --model",
    ),
    "classification": Task(
        ClassifierDescription,
        ClassificationJob.prepare,
        partial(_load_in_floats, load_classifier),
        "Classify with it: heedful classify --model",
    ),
    "language_modeling": Task(
        LanguageModelDescription,
        LanguageModelJob.prepare,
        partial(_load_in_floats, load_text_model),
        "Write with it: heedful generate PROMPT --model",
    ),
}


def task_of_run(run: AnyRun) -> Task:
    """Return the task that a run is for."""
    return TASKS[run.task]


def task_name_of(model: str | Path | None) -> str:
    """Return the name of the task that a model, given by its folder, a run folder or None for the bundled, is for."""
    name = task_of(find_model_folder(model))
    return name if name in TASKS else "translation"  # whose loader says what is wrong with the folder
