"""Which options of `evaluate` and `explain` belong to which kind of model: the tables are whole and true."""

from collections.abc import Mapping, Sequence

import pytest
import typer.main
from typer.core import TyperGroup

from heedful.cli import explain, scoring_options
from heedful.cli.check import DOCTORS
from heedful.cli.evaluate import EVALUATORS
from heedful.cli.main import app
from heedful.tasks.table import TASKS

FOR_ALL = {
    "evaluate": {"model", "more", "config", "split", "against", "as_json", "device"},
    "explain": {"text", "out", "model", "as_json", "device"},
}
"""What every kind of model understands; of the further models of `more` only translators take any."""


@pytest.mark.parametrize(
    ("verb", "understood_by"), [("evaluate", scoring_options.UNDERSTOOD_BY), ("explain", explain.UNDERSTOOD_BY)]
)
def test_every_option_is_for_all_models_or_says_for_which(
    verb: str, understood_by: Mapping[str, Sequence[str]]
) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    names = {str(parameter.name) for parameter in group.commands[verb].params}
    assert names == FOR_ALL[verb] | understood_by.keys()
    assert {task for tasks in understood_by.values() for task in tasks} <= TASKS.keys()


def test_every_task_is_checked_and_scored() -> None:
    assert DOCTORS.keys() == EVALUATORS.keys() == TASKS.keys()
