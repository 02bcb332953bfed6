"""The `heedful` command: its verbs, and what holds for all of them.

Each verb lives in its own file, which imports the working layers inside its function: help and completion must not
wait for torch.
"""

import gc
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from heedful import __version__
from heedful.cli.align import align
from heedful.cli.check import check
from heedful.cli.classify import classify
from heedful.cli.clean import clean
from heedful.cli.compare import compare
from heedful.cli.console import exits, is_open, write_line
from heedful.cli.data import data
from heedful.cli.demo import demo
from heedful.cli.distill import distill
from heedful.cli.draft import draft
from heedful.cli.evaluate import evaluate
from heedful.cli.explain import explain
from heedful.cli.export import export
from heedful.cli.generate import generate
from heedful.cli.get import get
from heedful.cli.import_ import import_
from heedful.cli.info import info
from heedful.cli.review import review
from heedful.cli.serve import serve
from heedful.cli.study import study
from heedful.cli.train import train
from heedful.cli.translate import translate
from heedful.cli.tune import tune
from heedful.waiting import spin_briefly


class Verbs(TyperGroup):
    """The group of all verbs: every one of them ends by the same rules."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was asked for."""
        with exits():
            return super().invoke(ctx)


app = typer.Typer(
    name="heedful",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train, use and measure Transformers: from raw text to a translation.",
    epilog="Exit codes: 0 done, 1 failed at run time, 2 wrong input, 130 interrupted, 143 terminated.",
)
app.command("translate")(translate)
app.command("classify")(classify)
app.command("generate")(generate)
app.command("explain")(explain)
app.command("serve")(serve)
app.command("train")(train)
app.command("distill")(distill)
app.command("draft")(draft)
app.command("evaluate")(evaluate)
app.command("compare")(compare)
app.command("review")(review)
app.command("align")(align)
app.command("tune")(tune)
app.add_typer(study, name="study")
app.command("data")(data)
app.command("check")(check)
app.command("clean")(clean)
app.command("info")(info)
app.command("demo")(demo)
app.command("get")(get)
app.command("import")(import_)
app.command("export")(export)


def _print_version(asked: bool) -> None:
    if asked:
        with exits():
            write_line(f"heedful {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Hold the options that come before a verb."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    if not is_open(sys.stderr):  # closed before the start: what is said there goes nowhere
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    spin_briefly()
    try:
        app(prog_name="heedful")
    finally:
        gc.freeze()  # else the interpreter looks through all of torch for garbage before it ends: 0.4 s
