"""`heedful export`: a model folder of ours in the format of another toolkit."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.console import note


class Format(StrEnum):
    """Formats a model can be written in."""

    HUGGINGFACE = "huggingface"
    CTRANSLATE2 = "ctranslate2"


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, or a run folder.")],
    format_: Annotated[Format, typer.Option("--format", help="The other toolkit.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where it is written; must not exist.")],
) -> None:
    """Write a model for another toolkit: a Hugging Face Marian folder, or a CTranslate2 model."""
    from heedful.models.folder import load_model_folder
    from heedful.tasks.folders import find_model_folder, refuse_existing

    refuse_existing(out)
    folder = load_model_folder(find_model_folder(model))
    match format_:
        case Format.HUGGINGFACE:
            from heedful.interop.marian import export_marian

            export_marian(folder, out)
        case Format.CTRANSLATE2:
            from heedful.interop.ctranslate2 import export_ctranslate2

            export_ctranslate2(folder, out)
    note(f"The {format_.value} model is in {out}.")
