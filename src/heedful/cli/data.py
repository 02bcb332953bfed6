"""`heedful data`: fetch a public corpus from where its authors publish it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note, write_line
from heedful.cli.options import is_written
from heedful.errors import UserError


def data(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The corpus; without a name, all of them are listed.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The data folder; by default HEEDFUL_DATA, or `data`."),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="URL",
            envvar="HEEDFUL_DATA_MIRROR",
            help="A mirror, which keeps every file under its host and path.",
        ),
    ] = None,
    retries: Annotated[
        int, typer.Option("--retries", metavar="N", min=0, help="Tries after a failure that brought nothing new.")
    ] = 5,
    as_json: options.Json = False,
) -> None:
    """Fetch a public corpus, check it, and lay it out as the configs expect.

    There are multi30k, tatoeba, imdb, enwik8 and general. A broken download goes on where it stopped
    when the command is run again. Mind the licence it names.
    """
    if name is None:
        for parameter, option in (("out", "--out"), ("mirror", "--from"), ("retries", "--retries")):
            if is_written(context, parameter):
                raise UserError(f"`{option}` must go with the NAME of a corpus: without one, nothing is fetched.")
        _list(as_json=as_json)
        return
    from heedful.corpora.catalogue import find_corpus
    from heedful.corpora.download import BackOff
    from heedful.corpora.fetch import PROVENANCE, data_folder, fetch_corpus
    from heedful.corpora.progress import make_download_display

    corpus = find_corpus(name)
    folder = data_folder() if out is None else out
    note(f"{corpus.name} comes from {corpus.source}\nLicence: {corpus.licence}")
    with make_download_display() as display:
        is_new = fetch_corpus(corpus, folder, listener=display, mirror=mirror, back_off=BackOff(num_retries=retries))
    place = folder / corpus.name
    if as_json:
        write_line(json.dumps({"corpus": corpus.name, "folder": str(place), "fetched": is_new}, ensure_ascii=False))
    elif is_new:
        note(f"The corpus is in {place}; {PROVENANCE} there says what was fetched and when.")
    else:
        note(f"{place} is there already, and whole: nothing was fetched.")


def _list(*, as_json: bool) -> None:
    from heedful.corpora.catalogue import PUBLIC_CORPORA
    from heedful.corpora.progress import size_in_words

    for corpus in PUBLIC_CORPORA:
        if as_json:
            fields = {
                "name": corpus.name,
                "description": corpus.description,
                "bytes": corpus.num_bytes,
                "licence": corpus.licence,
                "source": corpus.source,
                "urls": [item.url for item in corpus.downloads],
            }
            write_line(json.dumps(fields, ensure_ascii=False))
        else:
            write_line(f"{corpus.name:<9} {corpus.description}")
            write_line(f"          about {size_in_words(corpus.num_bytes)} from {corpus.source}")
            write_line(f"          {corpus.licence}")
