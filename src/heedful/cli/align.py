"""`heedful align`: which words of a corpus belong together, in Pharaoh's format."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.console import note
from heedful.errors import UserError, count_of


def align(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A file of sentences, one a line; .gz, .xz, .zst.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Their translations, line by line.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where the links are written.")] = None,
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
) -> None:
    """Learn from SOURCE and TARGET alone which of their words belong together.

    Writes a line for each pair, such as "0-0 1-2": words of the source and of
    the target, counted from 0 by the spaces between them. Needs no model; a
    million pairs take minutes. When it is stopped, the same command goes on.
    """
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
