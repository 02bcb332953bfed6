"""`heedful distill`: a teacher's translations of a training set, as corpora for a student."""

import re
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import job_options, options, search_options
from heedful.cli.console import flush, note, write_line
from heedful.errors import UserError


def distill(
    config: Annotated[Path | None, typer.Argument(metavar="[CONFIG]", help="The run's TOML file.")] = None,
    overrides: options.Overrides = None,
    model: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", metavar="DIR", help="The teacher; several times for an ensemble of teachers."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the corpora are written.")] = Path(
        "data/distilled"
    ),
    beam: options.Beam = None,
    n_best: Annotated[
        int, typer.Option("--n-best", metavar="N", min=1, help="Translations of each sentence that are kept.")
    ] = 1,
    part: Annotated[
        str,
        typer.Option("--part", metavar="K/N", help="Do every Nth corpus from the Kth on: N processes share the work."),
    ] = "1/1",
    inputs: job_options.Inputs = None,
    source_language: search_options.SourceLanguage = None,
    target_language: search_options.TargetLanguage = None,
    workers: job_options.Workers = None,
    ray: job_options.Ray = None,
    column: job_options.Column = None,
    rows: job_options.Rows = None,
    device: options.Device = None,
) -> None:
    """Translate the training corpora of CONFIG with one or more teachers.

    Writes one tab-separated file per corpus and direction, and prints the
    sections that name them in a student's configuration.

    With --input instead of CONFIG it is a job over shards of sources, by several
    processes, each distinct source once; when stopped, the same command goes on.
    """
    if not model:
        raise UserError("The teacher must be named: --model DIR, several times for an ensemble.")
    if (config is None) == (not inputs):
        raise UserError("What is translated must be a CONFIG or shards, one of the two: --input GLOB.")
    if inputs:
        settings = {
            "source": source_language,
            "target": target_language,
            "beam": beam,
            "n_best": n_best,
            "models": list(map(str, model)),
            "device": device,
            "quantize": "none",
        }
        job_options.run_translating("distill", settings, inputs, out, (workers, ray), column, rows)
        return
    assert config is not None
    job_options.refuse_without_input(workers=workers, ray=ray, column=column, rows=rows)
    from heedful.config.load import load_config
    from heedful.tasks.translation.distill import distill as distill_corpora
    from heedful.tasks.translation.load import load_translator

    data = load_config(config, overrides or []).data
    translator = load_translator(model, device=device)
    for corpus in distill_corpora(
        data, translator, out, beam_size=beam, n_best=n_best, part=_parse_part(part), say=note
    ):
        write_line(
            f'[[data.train]]\nkind = "tsv"\npath = "{corpus.path}"\n'
            f'source_language = "{corpus.source_language}"\ntarget_language = "{corpus.target_language}"\n'
        )
        flush()


def _parse_part(written: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9][0-9]*)/([1-9][0-9]*)", written)
    if match is None or int(match[1]) > int(match[2]):
        raise UserError(f"`--part` must be K/N with K from 1 to N, such as 1/4, but is {written}.")
    return int(match[1]), int(match[2])
