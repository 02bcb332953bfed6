"""`heedful explain`: how a translation came about, as one page that opens anywhere."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note, warn
from heedful.errors import UserError


def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to translate.")],
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="Where to write the page; must not exist yet.")],
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
    device: options.Device = None,
    quantize: options.Quantize = "auto",
) -> None:
    """Translate TEXT and write how it came about as one HTML file.

    The page shows the attention of every layer and head, what was likely at each
    token, everything the search considered, which source tokens the translation
    rests on, and what it loses without a head. It needs no network and no server.
    """
    if hypothesis is not None and beam is not None:
        raise UserError("`--beam` must be left out with --hypothesis: nothing is searched for.")
    if out.exists():
        raise UserError(f"The file {out} must not exist yet, but does. Choose another, or remove it.")
    from heedful.files import write_atomic
    from heedful.insight.ablation import head_changes
    from heedful.insight.attribution import attribute
    from heedful.insight.html import render_page
    from heedful.insight.trace import trace_translation
    from heedful.tasks.translation.load import load_translator
    from heedful.tasks.translation.request import TranslationRequest

    translator = load_translator(model, device=device, quantize=quantize, say=note)
    (plan,) = translator.plan([text], TranslationRequest(source_language, target_language))
    trace = trace_translation(translator, plan, beam_size=beam, sentence=sentence - 1, hypothesis=hypothesis)
    page = render_page(
        trace, attribution=attribute(translator.readable_model, trace), changes=head_changes(translator, trace)
    )
    write_atomic(out, page.encode())
    for warning in trace.warnings:
        warn(str(warning))
    note(f"{trace.text}\nWritten to {out}.")
