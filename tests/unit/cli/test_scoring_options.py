"""Which options of `evaluate` belong to which kind of model: the table is whole and names nothing that is not there."""

import typer.main
from typer.core import TyperGroup

from heedful.cli.main import app
from heedful.cli.scoring_options import UNDERSTOOD_BY

FOR_ALL = {"model", "more", "config", "split", "against", "as_json", "device"}
"""What every kind of model understands; of the further models of `more` only translators take any."""


def test_every_option_of_evaluate_is_for_all_models_or_says_for_which() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    names = {str(parameter.name) for parameter in group.commands["evaluate"].params}
    assert names == FOR_ALL | UNDERSTOOD_BY.keys()
