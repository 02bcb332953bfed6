"""`heedful clean`: the corpora of a run without what spoils them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import job_options, options
from heedful.cli.console import note, write_line
from heedful.errors import UserError

if TYPE_CHECKING:
    from heedful.config.data import Corpus
    from heedful.tasks.cleaning import Reports

_ROWS = 100_000
"""Of a piece of a job: enough to see by how many lines sides are shifted."""

_RULES = {
    "shifted": "shifted by lines",
    "exchanged": "sides exchanged",
    "mojibake": "mojibake",
    "markup": "markup",
    "empty": "empty",
    "copy": "copies",
    "other_language": "in another language",
    "held_out": "near duplicates of what is held out",
}


def clean(
    config: Annotated[Path | None, typer.Argument(metavar="[CONFIG]", help="The run's TOML file.")] = None,
    overrides: options.Overrides = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="FILE | GLOB",
            help="Without CONFIG: two files aligned by lines (--input twice), or one TSV; for a job, patterns.",
        ),
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", metavar="LANG", help="Language of the sources.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="LANG", help="Language of the targets.")] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            "--against",
            metavar="FILE",
            help="Leave out of training what is near a line of FILE, on either side; may be repeated.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="A new folder for what is written.")] = None,
    workers: job_options.Workers = None,
    ray: job_options.Ray = None,
    column: job_options.Column = None,
    rows: job_options.Rows = None,
    as_json: options.Json = False,
) -> None:
    """Write the corpora of CONFIG without what spoils them, whatever the task.

    Sides that are shifted or exchanged are put right, mojibake and markup
    are taken out; copies, other languages and near duplicates of validation
    and test are left out, with --against those of any line of other files.
    Beside it stand a report and a config.toml that
    `heedful train` takes at once. Test corpora stay as they are.

    With --workers or --ray and --input it is a job over shards: each piece is
    cleaned by itself, and when it is stopped, the same command goes on.
    """
    if out is None:
        raise UserError("The folder to write must be named: --out DIR.")
    if (config is None) == (not files):
        raise UserError("What is cleaned must be a CONFIG or files, one of the two: --input FILE.")
    if config is not None and (from_ or to):
        raise UserError("`--from` and `--to` must go with --input: a CONFIG says its languages itself.")
    if files and (workers is not None or ray is not None):
        settings = {"source": from_ or "source", "target": to or "target", "against": list(map(str, against or ()))}
        job_options.run_on_pairs("clean", settings, files, out, (workers, ray), column, rows or _ROWS)
        return
    job_options.refuse_without_input(workers=workers, ray=ray, column=column, rows=rows)
    if out.exists():
        raise UserError(f"{out} must not exist yet, but it does. Remove it or choose another name.")
    from heedful.tasks.cleaning import CONFIG, clean_files, clean_run, report_json

    if config is not None:
        from heedful.config.load import load_any

        reports = clean_run(load_any(config, overrides or []), out, say=note, against=against or [])
    else:
        reports = clean_files(
            _corpus([Path(name) for name in files or ()]),
            (from_ or "source", to or "target"),
            out,
            say=note,
            against=against or [],
        )
    if as_json:
        write_line(report_json(reports))
        return
    for line in _table(reports):
        write_line(line)
    if config is not None:
        note(f"Train on it with: heedful train {out / CONFIG}")


def _corpus(files: list[Path]) -> "Corpus":
    from heedful.config.data import LineCorpus, TsvCorpus

    match files:
        case [both]:
            return TsvCorpus(kind="tsv", path=str(both))
        case [source, target]:
            return LineCorpus(source=str(source), target=str(target))
        case _:
            raise UserError(f"`--input` must name one TSV file or two aligned files, but names {len(files)}.")


def _table(reports: "Reports") -> Iterator[str]:
    for setting, report in reports.items():
        yield f"{setting}  {report.num_read:,} read, {report.num_kept:,} kept"
        if report.repaired or report.left_out:
            yield f"  {'':<36}{'repaired':>10}{'left out':>10}"
        for rule, words in _RULES.items():
            counts = report.repaired[rule], report.left_out[rule]
            if any(counts):
                yield f"  {words:<36}{counts[0]:>10,}{counts[1]:>10,}"
