"""`heedful explain`: how an answer came about, on the terminal, as JSON, or as one page that opens anywhere."""

import json
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options, search_options
from heedful.cli.console import note, warn, write_line
from heedful.cli.options import LANGUAGE_MODELING, TRANSLATION
from heedful.errors import UserError

UNDERSTOOD_BY = {
    "source_language": (TRANSLATION,),
    "target_language": (TRANSLATION,),
    "beam": (TRANSLATION,),
    "sentence": (TRANSLATION,),
    "hypothesis": (TRANSLATION,),
    "glossary": (TRANSLATION,),
    "quantize": (TRANSLATION,),
    "symbols": (LANGUAGE_MODELING,),
}
"""Which tasks the options say something to, where these are not all."""


def explain(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to translate, to label, or to read.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page there, which must not exist yet.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", metavar="DIR", help="A model folder, a run folder, or bundled, the default."),
    ] = None,
    source_language: Annotated[
        str | None, typer.Option("--from", metavar="LANG", help="Language of the text; by default detected.")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--to", metavar="LANG", help="Language wanted; need not be said if there is one.")
    ] = None,
    beam: options.Beam = None,
    sentence: Annotated[
        int, typer.Option(metavar="N", min=1, help="Which sentence of TEXT to look into, where it has several.")
    ] = 1,
    hypothesis: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Make the model write this instead of searching.")
    ] = None,
    glossary: search_options.GlossaryFile = None,
    symbols: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=128, help="Of a language model: how many of the last symbols to look at."),
    ] = 64,
    as_json: Annotated[
        bool, typer.Option("--json", help="All of it as one JSON object, as the server has it.")
    ] = False,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
) -> None:
    """Say how a model came to its answer for TEXT, on stdout or as a page.

    Of a translator: how probable each token was and what else was likely, the
    attention of every layer and head, everything the search considered, which
    source words the translation rests on, and what it loses without a head.

    Of a classifier: which words speak for each label and against it, and where
    its heads look.

    Of a language model: how surprising each symbol was, what it expected there
    and expects next, and how far back its heads look, into the memory too.

    With --out FILE.html all of it is one page that needs no network and no
    server. An option that says nothing to the kind of model at hand is refused.
    """
    if hypothesis is not None and beam is not None:
        raise UserError("`--beam` must be left out with --hypothesis: nothing is searched for.")
    if hypothesis is not None and glossary is not None:
        raise UserError("`--glossary` must be left out with --hypothesis: nothing is searched for.")
    if out is not None and out.exists():
        raise UserError(f"The file {out} must not exist yet, but does. Choose another, or remove it.")
    task = options.task_understood(context, [] if model is None else [model], UNDERSTOOD_BY)
    from heedful.files import write_atomic
    from heedful.insight.explaining import EXPLAINERS, ExplainRequest
    from heedful.insight.html import render_payload
    from heedful.tasks.table import TASKS
    from heedful.tasks.translation.glossary import NO_TERMS, load_glossary

    loaded = TASKS[task].load(model, device=device, quantize=quantize, say=note)
    terms = NO_TERMS if glossary is None else load_glossary(glossary)
    request = ExplainRequest(source_language, target_language, beam, sentence - 1, hypothesis, terms, symbols)
    found = EXPLAINERS[task](loaded, text, request)
    if as_json:
        write_line(json.dumps(found.payload, allow_nan=False))
    elif out is None:
        for line in found.lines:
            write_line(line)
    if out is not None:
        write_atomic(out, render_payload(found.payload).encode())
        note(found.answer)
    for warning in found.warnings:
        warn(warning)
    if out is not None:
        note(f"Written to {out}.")
