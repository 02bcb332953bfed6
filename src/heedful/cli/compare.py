"""`heedful compare`: several configs or finished runs on the same test data, with seeds, intervals and costs."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note, write_line
from heedful.errors import UserError


def compare(
    places: Annotated[
        list[str], typer.Argument(metavar="CONFIG|RUN...", help="Configs to train, run folders, SECTION.KEY=VALUE.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where everything is kept; begun ones go on.")],
    seeds: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Train every config with each of these seeds.")
    ] = None,
    budget: Annotated[
        list[str] | None, typer.Option("--budget", metavar="B", help="parameters, tokens, tokens=N or time=10m.")
    ] = None,
    fit_width: Annotated[
        bool, typer.Option("--fit-width", help="With --budget parameters, change widths until they are equal.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="By which share parameters may differ with --budget parameters.")
    ] = 0.05,
    processes: Annotated[int, typer.Option(metavar="N", min=1, help="Trainings side by side.")] = 1,
    measure: Annotated[bool, typer.Option("--speed/--no-speed", help="Measure speed and memory.")] = True,
    minutes: options.Minutes = None,
    device: options.Device = None,
) -> None:
    """Compare configs and finished runs: quality, significance, speed, memory.

    Trains what is not trained, with one tokenizer for all, and scores everything
    on the same test data. Writes a table, Markdown, JSON and a page with plots
    to --out. Stopped, the same command goes on where it was; later it may name
    more configs and more seeds.

    heedful compare a.toml b.toml runs/c --seeds 1,2,3 --out runs/abc
    """
    from heedful.comparisons.budgets import parse_budget
    from heedful.comparisons.candidates import read_field
    from heedful.comparisons.comparison import Wanted
    from heedful.comparisons.comparison import compare as run_comparison
    from heedful.comparisons.reporting import report_of, summary_of
    from heedful.reports.rendering import PAGE, to_lines, write_report

    chosen = parse_budget(budget or [], fit_width=fit_width, tolerance=tolerance)
    wanted = Wanted(_parse_seeds(seeds), chosen, processes, device, measure, minutes)
    overrides = [it for it in places if "=" in it and not Path(it).exists()]
    field = read_field([Path(it) for it in places if it not in overrides], overrides)
    comparison = run_comparison(field, out, wanted, say=note)
    report = report_of(comparison)
    write_report(out, report)
    for line in to_lines(summary_of(report)):
        write_line(line)
    note(f"The page with all plots is {out / PAGE}.")
    if comparison.broken:
        raise typer.Exit(comparison.broken[0].exit_code)


def _parse_seeds(written: str | None) -> list[int] | None:
    if written is None:
        return None
    words = written.split(",")
    if not all(word.isdecimal() and word.isascii() for word in words) or len(set(map(int, words))) < len(words):
        raise UserError(f'`--seeds` must be different whole numbers such as 1,2,3, but is "{written}".')
    return [int(word) for word in words]
