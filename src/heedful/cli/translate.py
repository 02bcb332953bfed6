"""`heedful translate`: one line in, one line out, in order, while the input is still coming; or whole files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import flush, note, open_stdin, warn, write_line
from heedful.cli.translate_files import FileOptions, named_files, translate_files
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from heedful.tasks.translation.translated import Translation
    from heedful.text.lines import LineReader


def translate(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT | FILE", help="What to translate; without it, lines from stdin.")
    ] = None,
    model: options.Models = None,
    source_language: Annotated[
        str | None,
        typer.Option("--from", metavar="LANG", help="Language of the text; by default detected, line by line."),
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--to", metavar="LANG", help="Language wanted; need not be said if there is one.")
    ] = None,
    beam: options.Beam = None,
    n_best: Annotated[
        int, typer.Option("--n-best", metavar="N", min=1, help="Translations per line; more than 1 needs --json.")
    ] = 1,
    as_json: options.Json = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the translation of a file goes; else beside it.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a file where a killed run ended.")] = False,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
) -> None:
    """Translate TEXT, stdin line by line, or a FILE: letter.docx becomes letter.de.docx.

    Every input line gives exactly one output line, an empty line an empty one.
    Output is flushed while input is still coming. With --json, each line is an
    object with the translation, its score, its alternatives, the languages and
    warnings: what is doubtful about it.

    A FILE may be txt, md, html, srt, vtt, po, xlf, tmx, json, docx, odt or epub.
    What is not text stays as it is, and nothing is overwritten.
    """
    if n_best > 1 and not as_json:
        raise UserError("`--n-best` must be 1 without --json, because one line in is one line out. Add --json.")
    file_options = FileOptions(out, resume)
    files = named_files(text or (), file_options, as_json=as_json)
    from heedful.tasks.translation.load import load_translator
    from heedful.tasks.translation.request import TranslationRequest
    from heedful.text.lines import read_lines

    translator = load_translator(model, device=device, quantize=quantize, say=note)
    request = TranslationRequest(source_language, target_language, beam, n_best)
    if files:
        model_name = ", ".join(map(str, model or ("bundled",)))
        translate_files(files, translator, request, file_options, model_name=model_name)
        return
    reader = None if text else read_lines(open_stdin())
    translations = translator.translate_lines(text or reader or (), request)
    num_doubtful = 0
    for number, translation in enumerate(translations, start=1):
        write_line(_as_json(translation) if as_json else translation.text)
        flush()
        num_doubtful += bool(translation.warnings)
        for warning in translation.warnings if num_doubtful <= _MOST_WARNED else ():
            warn(f"line {number:,}: {warning}")
    if num_doubtful > _MOST_WARNED:
        warn(f"{count_of(num_doubtful - _MOST_WARNED, 'further line')} with warnings; --json has them all.")
    if reader is not None and reader.num_bad:
        warn(_about_bad_lines(reader))


_MOST_WARNED = 20  # lines whose warnings are said one by one; of a large file that is out of domain all would have some
_OTHER_LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def _as_json(translation: "Translation") -> str:
    """Write one translation as one line; floats that are no numbers have no JSON and become null."""
    fields = {
        "source": translation.source,
        "translation": translation.text,
        "score": _number(translation.score),
        "from": translation.source_language,
        "from_confidence": translation.source_confidence,
        "to": translation.target_language,
        "alternatives": [
            {
                "text": alternative.text,
                "score": _number(alternative.score),
                "log_prob": _number(alternative.log_prob),
                "finish_reason": alternative.finish_reason,
                "tokens": alternative.tokens,
                "token_log_probs": [_number(log_prob) for log_prob in alternative.token_log_probs],
            }
            for alternative in translation.alternatives
        ],
        "warnings": [warning.message for warning in translation.warnings],
        "warning_codes": [warning.code for warning in translation.warnings],
    }
    # Readable text, and one line also for those who break lines at more than "\n".
    return json.dumps(fields, ensure_ascii=False).translate(_OTHER_LINE_BREAKS)


def _number(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _about_bad_lines(reader: "LineReader") -> str:
    numbers = ", ".join(f"{number:,}" for number in reader.bad_lines)
    more = ", ..." if reader.num_bad > len(reader.bad_lines) else ""
    verb = "was" if reader.num_bad == 1 else "were"
    return f"{count_of(reader.num_bad, 'line')} {verb} not valid UTF-8; bad bytes became U+FFFD (line {numbers}{more})."
