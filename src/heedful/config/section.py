"""What every section of a configuration has in common: it cannot be changed, and it knows all of its keys."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen group of settings. Unknown keys are errors; the sentence under a field is its documentation."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    takes_preset: ClassVar[bool] = False
    """Whether a file may name a preset here, which load.py puts under what the file says."""
