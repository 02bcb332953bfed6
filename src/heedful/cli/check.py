"""`heedful check`: look at data and settings before a long run, as a doctor would."""

from heedful.cli import options


def check(config: options.Config, overrides: options.Overrides = None) -> None:
    """Look at the corpora and settings of CONFIG before training and say what would go wrong."""
