"""Options of verbs that can be jobs over corpora: `--input … --out DIR --workers N`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.console import note
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from heedful.jobs.plan import Job

Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="GLOB",
        help="Shards, as a pattern or an address (text, TSV, JSONL, Parquet, Arrow): a job, which needs --out DIR.",
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Of a job: processes; by default one a core.")
]
Ray = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS", help="Of a job: do it on a Ray cluster; auto finds one.")
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME", help="Of a job: column to read, by name or from 0; for pairs, twice."),
]
Rows = Annotated[
    int | None, typer.Option("--rows", metavar="N", min=1, help="Of a job: rows of a piece, which is one output file.")
]


def refuse_without_input(**given: object) -> None:
    """Refuse options of jobs where there is none."""
    for name, value in given.items():
        if value is not None:
            raise UserError(f"`--{name}` must go with --input, which makes it a job.")


def columns_of(given: Sequence[str] | None, inputs: Sequence[str], count: int) -> tuple[str | int, ...]:
    """Return the columns to read: those that were named, or the first ones."""
    if given is None:
        return tuple(range(count))
    if len(given) != count or len(inputs) > 1:
        raise UserError(f"`--column` must be given {'once' if count == 1 else 'twice'}, with one --input.")
    return tuple(int(name) if name.isdigit() else name for name in given)


def run_translating(
    verb: str,
    settings: dict[str, Any],
    inputs: Sequence[str],
    out: Path | None,
    where: tuple[int | None, str | None],
    column: Sequence[str] | None,
    rows: int | None,
) -> None:
    """Do a job that a translator does: `translate`, a line for each row, or `distill`, the distinct rows as pairs."""
    if len(inputs) > 1:
        raise UserError(f"`--input` must be given once, but is given {len(inputs)} times. Use a pattern.")
    from heedful.jobs.plan import Job

    ending, distinct = ("txt", False) if verb == "translate" else ("tsv", True)
    columns = columns_of(column, inputs, 1)
    run(Job(verb, tuple(inputs), columns, rows or 10_000, ending, settings, distinct), out, *where)


def run_on_pairs(
    verb: str,
    settings: dict[str, Any],
    inputs: Sequence[str],
    out: Path | None,
    where: tuple[int | None, str | None],
    column: Sequence[str] | None,
    rows: int,
) -> None:
    """Do a job on pairs: two columns of shards, or shards of two inputs side by side."""
    if len(inputs) > 2:
        raise UserError(f"`--input` must name shards with pairs, or those of both sides, but names {len(inputs)}.")
    from heedful.jobs.plan import Job

    ending = "tsv" if verb == "clean" else "links"
    run(Job(verb, tuple(inputs), columns_of(column, inputs, 2), rows, ending, settings), out, *where)


def run(job: "Job", out: Path | None, workers: int | None, ray: str | None) -> None:
    """Do a job and say what was done."""
    if out is None:
        raise UserError("The folder to write must be named: --out DIR.")
    if out.exists() and not out.is_dir():
        raise UserError(f"`--out` must be a folder, but {out} is a file.")
    from heedful.jobs.run import Where, run_job

    done = run_job(job, out, Where(workers, ray), note)
    if done.num_pieces:
        note(f"{out}: {count_of(done.num_rows, 'row')} in {count_of(done.num_pieces, 'piece')}, and manifest.json.")
