"""`heedful review`: say what is doubtful about translations that are there, whoever made them."""

import json
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options, search_options
from heedful.cli.console import flush, note, write_line
from heedful.errors import UserError, count_of


def review(
    sources: Annotated[Path, typer.Argument(metavar="SOURCES", help="A file of texts, one a line.")],
    translations: Annotated[Path, typer.Argument(metavar="TRANSLATIONS", help="Their translations, line by line.")],
    model: options.Models = None,
    source_language: search_options.SourceLanguage = None,
    target_language: search_options.TargetLanguage = None,
    as_json: options.Json = False,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
) -> None:
    """Look for what is missing, added or changed in TRANSLATIONS of SOURCES.

    Names, numbers and negations that differ, loops, copies and untranslated
    words are found by themselves. What was left out or added, a model says that
    knows both directions and has a calibration, as the bundled one does.

    Lines with a doubt are written with their number; with --json, every line.
    """
    from heedful.tasks.translation.load import load_translator

    texts, others = _lines(sources), _lines(translations)
    if len(texts) != len(others):
        counts = f"{count_of(len(texts), 'line')} and {len(others):,}"
        raise UserError(f"{sources} and {translations} must have as many lines, but have {counts}.")
    translator = load_translator(model, device=device, quantize=quantize, say=note)
    found = translator.review(texts, others, from_=source_language, to=target_language)
    num_doubtful = 0
    for number, (text, other, warnings) in enumerate(zip(texts, others, found, strict=True), start=1):
        num_doubtful += bool(warnings)
        if as_json:
            fields = {
                "source": text,
                "translation": other,
                "warnings": [warning.message for warning in warnings],
                "warning_codes": [warning.code for warning in warnings],
            }
            write_line(json.dumps(fields, ensure_ascii=False))
        elif warnings:
            write_line(f"line {number:,}: {' '.join(map(str, warnings))}")
    flush()
    note(f"{count_of(num_doubtful, 'line')} of {len(texts):,} with a doubt.")


def _lines(path: Path) -> list[str]:
    from heedful.text.lines import read_lines

    try:
        with path.open("rb") as file:
            return list(read_lines(file))
    except OSError as error:
        raise UserError(f"{path} must be a text file that can be read, but: {error.strerror or error}.") from None
