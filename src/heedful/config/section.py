"""What every section of a configuration has in common: it cannot be changed, and it knows all of its keys."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A frozen group of settings. Unknown keys are errors; the sentence under a field is its documentation."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    takes_preset: ClassVar[bool] = False
    """Whether a file may name a preset here, which load.py puts under what the file says."""


class RunSection(Section):
    """What the description of every run begins with."""

    task: str
    """What the model is for."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the run; its folder is `runs_folder`/`name`."""

    runs_folder: str = "runs"
    """Where run folders are made."""

    seed: int = Field(default=1, ge=0)
    """Decides initial weights, order of the data and dropout."""
