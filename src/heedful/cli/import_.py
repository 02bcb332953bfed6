"""`heedful import`: another toolkit's model becomes a model folder of ours."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.console import note


def import_(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder with a Hugging Face Marian (OPUS-MT) model.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the model folder is made; must not exist.")],
) -> None:
    """Turn a Hugging Face Marian model (such as OPUS-MT) into a Heedful model folder."""
    from heedful.interop.marian import import_marian
    from heedful.storage.locate import refuse_existing
    from heedful.storage.model_folder import save_model_folder

    refuse_existing(out)
    save_model_folder(out, import_marian(path))
    note(f"The model is in {out}. Try: echo 'Hello.' | heedful translate --model {out}")
