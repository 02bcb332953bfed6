"""`heedful export`: a model folder in the format of another toolkit, or as one of ours with 8-bit weights."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.console import note, warn
from heedful.errors import UserError


class Format(StrEnum):
    """Formats a model can be written in."""

    HUGGINGFACE = "huggingface"
    CTRANSLATE2 = "ctranslate2"
    INT8 = "int8"


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, a run folder, or bundled.")],
    format_: Annotated[Format, typer.Option("--format", help="The other toolkit, or int8 for a small folder of ours.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where it is written; must not exist.")],
    low_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            max=0,
            help="With int8: translations whose tokens have a mean log-probability below X are flagged.",
        ),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With int8: the model card; by default the one the model has."),
    ] = None,
) -> None:
    """Write a model for another toolkit, or with 8-bit weights to be shipped.

    huggingface makes what AutoModelForSeq2SeqLM and AutoTokenizer read,
    ctranslate2 a CTranslate2 model. int8 makes a model folder of a quarter of
    the size, which every verb takes.
    """
    from heedful.storage.locate import find_model_folder, refuse_existing

    refuse_existing(out)
    for option, value in (("--low-confidence", low_confidence), ("--card", card)):
        if value is not None and format_ is not Format.INT8:
            raise UserError(f"`{option}` must go with --format int8: other formats have no place for it.")
    path = find_model_folder(model)
    if format_ is Format.INT8:
        _export_int8(path, out, low_confidence, card)
    else:
        _export_to_others(path, out, format_)
    note(f"The {format_.value} model is in {out}.")


def _export_to_others(path: Path, out: Path, format_: Format) -> None:
    """Write a translator for another toolkit."""
    from heedful.storage.descriptions import TranslatorDescription
    from heedful.storage.model_folder import load_model_folder
    from heedful.tasks.folder_tokenizers import translation_tokenizer

    folder = load_model_folder(path, TranslatorDescription)
    translation_tokenizer(folder)  # for its sentences: what does not belong together is not handed on
    match format_:
        case Format.HUGGINGFACE:
            from heedful.interop.huggingface import export_huggingface

            why = export_huggingface(folder, out)
            if why is not None:
                warn(f"AutoTokenizer cannot read this tokenizer, because {why}. Cut text into tokens with Heedful.")
        case Format.CTRANSLATE2:
            from heedful.interop.ctranslate2 import export_ctranslate2

            export_ctranslate2(folder, out)


def _export_int8(path: Path, out: Path, low_confidence: float | None, card: Path | None) -> None:
    """Write the model of any task as a folder of ours with 8-bit weights."""
    from heedful.storage.descriptions import DESCRIPTIONS
    from heedful.storage.model_folder import load_model_folder, save_model_folder, task_of
    from heedful.storage.quantized_weights import QuantizedWeights
    from heedful.tasks.folder_tokenizers import check_tokenizer

    task = task_of(path)
    if low_confidence is not None and task != "translation":
        raise UserError("`--low-confidence` must be used with a translator: other models flag nothing.")
    folder = load_model_folder(path, DESCRIPTIONS[task])
    check_tokenizer(folder)  # for its sentences: what does not belong together is not handed on
    description = folder.description
    if low_confidence is not None:
        description = description.changed(facts={**description.facts, "low_confidence": low_confidence})
    text = folder.card if card is None else card.read_text(encoding="utf-8")
    weights = QuantizedWeights.of(folder.weights)
    save_model_folder(out, replace(folder, description=description, weights=weights, card=text))
