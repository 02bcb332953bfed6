"""`heedful demo`: train a small model on a generated corpus, and show what it can do with lines it has never seen."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.console import write_line
from heedful.errors import count_of

if TYPE_CHECKING:
    from heedful.config.run import RunConfig
    from heedful.tasks.demo import DemoPair, DemoResult

_NUM_SHOWN = 8


def demo(
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder for the corpus and the run.")] = Path(
        "runs"
    ),
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", min=1, help="Training steps; fewer are quicker and worse.")
    ] = None,
) -> None:
    """Train a small model on a generated corpus, and translate lines it has never seen.

    Needs no download, and about a minute.
    """
    write_line("Heedful demo: dates, times and amounts in words, from English into German.")
    import torch

    from heedful.tasks.demo import demo_config, run_demo
    from heedful.training.display import make_display

    # So small a model gains nothing from a second thread, and on a busy machine threads would wait for each other.
    torch.set_num_threads(1)
    config = demo_config(runs, steps)
    _introduce(config)
    with make_display(config.training.max_steps) as display:
        result = run_demo(config, display=display)
    _show(result)


def _introduce(config: "RunConfig") -> None:
    write_line(
        f"The corpus is made by rule, in {config.runs_folder}/demo-corpus; 300 of its lines are kept from the model."
    )
    write_line(f"Training {config.training.max_steps:,} steps, less than a minute on a free core ...")
    sys.stdout.flush()


def _show(result: "DemoResult") -> None:
    # The longest and therefore hardest lines come first among those shown, mistakes before everything.
    hardest = sorted(result.pairs, key=lambda pair: (pair.is_exact, -len(pair.source)))
    mistakes = [pair for pair in hardest if not pair.is_exact][:2]
    right = [pair for pair in result.pairs if pair.is_exact][: _NUM_SHOWN - len(mistakes)]
    show = _show_on_terminal if sys.stdout.isatty() else _show_plainly
    show([*right, *mistakes])
    run = result.run_folder
    share = result.num_exact / len(result.pairs)
    write_line(f"Exactly right: {result.num_exact} of {count_of(len(result.pairs), 'unseen line')} ({share:.1%}).")
    write_line("")
    write_line(f"The model is in {run}/model, how it was trained in {run}. Next:")
    write_line(f"  echo 'on friday at half past seven' | heedful translate --model {run}")
    write_line(f"  heedful evaluate {run} --split unseen")
    write_line("  heedful train configs/demo.toml name=mine training.max_steps=2000")


def _show_plainly(pairs: list["DemoPair"]) -> None:
    write_line("")
    for pair in pairs:
        write_line(f"source       {pair.source}")
        write_line(f"translation  {pair.translation}")
        write_line(f"reference    {pair.reference}{'' if pair.is_exact else '   (not the same)'}")
        write_line("")


def _show_on_terminal(pairs: list["DemoPair"]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.ROUNDED, title="Lines the model has never seen", title_justify="left", show_lines=True)
    for heading in ("source", "translation", "reference"):
        table.add_column(heading, overflow="fold", ratio=1)
    for pair in pairs:
        mark = Text("✓ ", "bold green") if pair.is_exact else Text("✗ ", "bold red")
        table.add_row(Text(pair.source, "dim"), mark + Text(pair.translation), Text(pair.reference, "dim"))
    Console().print(table)
