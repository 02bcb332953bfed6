"""`heedful get`: a model of others, by its name on a hub."""

import json
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note, write_line
from heedful.cli.options import is_written
from heedful.errors import UserError


def get(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="OWNER/NAME, or one of OPUS-MT's; without it, what is here is listed."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="A new model folder; by default it is kept to be used by its name."),
    ] = None,
    revision: Annotated[str, typer.Option(metavar="REV", help="A branch, a tag or a commit.")] = "main",
    retries: Annotated[
        int, typer.Option("--retries", metavar="N", min=0, help="Tries after a failure that brought nothing new.")
    ] = 5,
    as_json: options.Json = False,
) -> None:
    """Fetch a Marian model, such as those of OPUS-MT, from Hugging Face's hub, and import it.

    Every verb then takes it by its name: --model Helsinki-NLP/opus-mt-en-de.
    Files are compared with the hub's checksums; a broken download goes on
    where it stopped when the command is run again. HF_ENDPOINT names another
    hub, HF_TOKEN a token. Mind the licence it names.
    """
    from heedful.storage.locate import fetched_folder, models_folder, refuse_existing

    if name is None:
        for parameter in ("out", "revision", "retries"):
            if is_written(context, parameter):
                raise UserError(f"`--{parameter}` must go with the NAME of a model: without one, nothing is fetched.")
        for config in sorted(models_folder().glob("[!.]*/[!.]*/config.json")):
            write_line("/".join(config.parent.parts[-2:]))
        return
    kept = fetched_folder(name)
    if out is not None:
        refuse_existing(out)
    elif kept is not None and kept.exists():
        if is_written(context, "revision"):
            raise UserError(f"{name} is there already, in {kept}. Remove the folder, or choose another with --out DIR.")
        _tell(name, kept, as_json=as_json, fetched=False)
        return
    from heedful.corpora.download import BackOff
    from heedful.corpora.progress import make_download_display
    from heedful.interop.hub import get_model

    folder = out or kept or Path(name)  # a name that none can have is refused below
    with make_download_display() as display:
        get_model(name, folder, listener=display, revision=revision, back_off=BackOff(num_retries=retries))
    _tell(name if out is None else str(out), folder, as_json=as_json, fetched=True)


def _tell(name: str, folder: Path, *, as_json: bool, fetched: bool) -> None:
    if as_json:
        write_line(json.dumps({"model": name, "folder": str(folder), "fetched": fetched}, ensure_ascii=False))
    elif fetched:
        note(f"The model is in {folder}. Try: echo 'Hello.' | heedful translate --model {name}")
    else:
        note(f"{folder} is there already: nothing was fetched. Use it with --model {name}")
