"""`heedful align`: which words of a corpus belong together, in Pharaoh's format."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import job_options
from heedful.cli.console import note
from heedful.errors import UserError, count_of

_ROWS = 500_000
"""Of a piece of a job: what words belong together is learned from so many pairs."""


def align(
    source: Annotated[
        Path | None, typer.Argument(metavar="[SOURCE]", help="A file of sentences, one a line; .gz, .xz, .zst.")
    ] = None,
    target: Annotated[Path | None, typer.Argument(metavar="[TARGET]", help="Their translations, line by line.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where the links are written; of a job, a folder.")
    ] = None,
    symmetrize: Annotated[
        str,
        typer.Option(
            "--symmetrize",
            metavar="HOW",
            help="grow-diag-final-and, intersection, union, forward or reverse.",
        ),
    ] = "grow-diag-final-and",
    directions: Annotated[
        bool, typer.Option("--directions", help="Also write FILE.forward and FILE.reverse, one direction each.")
    ] = False,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Passes over the corpus.")] = 5,
    inputs: job_options.Inputs = None,
    workers: job_options.Workers = None,
    ray: job_options.Ray = None,
    column: job_options.Column = None,
    rows: job_options.Rows = None,
) -> None:
    """Learn from SOURCE and TARGET alone which of their words belong together.

    Writes a line for each pair, such as "0-0 1-2": words of the source and of
    the target, counted from 0 by the spaces between them. Needs no model; a
    million pairs take minutes. When it is stopped, the same command goes on.

    With --input it is a job over shards, by several processes: each piece of
    500,000 pairs (--rows) is learned and aligned by itself.
    """
    if inputs:
        if source is not None or directions:
            raise UserError("`--input` must be given alone: without SOURCE and TARGET, and without --directions.")
        settings = {"symmetrize": symmetrize, "rounds": rounds}
        job_options.run_on_pairs("align", settings, inputs, out, (workers, ray), column, rows or _ROWS)
        return
    job_options.refuse_without_input(workers=workers, ray=ray, column=column, rows=rows)
    if source is None or target is None:
        raise UserError("What is aligned must be SOURCE and TARGET, or shards: --input GLOB.")
    if out is None:
        raise UserError("The file to write must be named: --out FILE.")
    if out.is_dir():
        raise UserError(f"`--out` must be a file, but {out} is a folder.")
    from heedful.config.data import LineCorpus
    from heedful.tasks.translation.corpus_alignment import align_corpus, passed_over_sentence

    corpus = LineCorpus(source=str(source), target=str(target))
    result = align_corpus(corpus, out, how=symmetrize, directions=directions, num_rounds=rounds, say=note)  # type: ignore[arg-type]
    if result.num_passed_over:
        note(passed_over_sentence(result))
    note(f"{count_of(result.num_links, 'link')} of {count_of(result.num_pairs, 'pair')} in {out}.")
