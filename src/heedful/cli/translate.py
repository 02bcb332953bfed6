"""`heedful translate`: one line in, one line out, in order, while the input is still coming; or whole files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import job_options, options, search_options
from heedful.cli.console import flush, note, open_stdin, warn, write_line
from heedful.cli.translate_files import FileOptions, OutFile, ResumeFile, named_files, translate_files
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heedful.tasks.translation.request import TranslationRequest
    from heedful.tasks.translation.translated import Translation
    from heedful.tasks.translation.translator import Translator
    from heedful.text.lines import LineReader


def translate(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT | FILE", help="What to translate; without it, lines from stdin.")
    ] = None,
    model: options.Models = None,
    source_language: search_options.SourceLanguage = None,
    target_language: search_options.TargetLanguage = None,
    beam: options.Beam = None,
    n_best: search_options.NBest = 1,
    length_penalty: search_options.LengthPenalty = None,
    prefix: search_options.Prefix = "",
    sample: search_options.Sample = False,
    temperature: search_options.Temperature = None,
    top_k: search_options.TopK = None,
    top_p: search_options.TopP = None,
    seed: search_options.Seed = None,
    diverse: search_options.Diverse = None,
    mbr: search_options.LeastRisk = None,
    glossary: search_options.GlossaryFile = None,
    register: search_options.Register = None,
    alignment: search_options.WordLinks = None,
    check: search_options.Check = False,
    as_json: options.Json = False,
    out: OutFile = None,
    resume: ResumeFile = False,
    inputs: job_options.Inputs = None,
    workers: job_options.Workers = None,
    ray: job_options.Ray = None,
    column: job_options.Column = None,
    rows: job_options.Rows = None,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
    fast: options.Fast = False,
    rescore_with: search_options.RescoreWith = None,
    samples: search_options.Samples = None,
) -> None:
    """Translate TEXT, stdin line by line, or a FILE: letter.docx becomes letter.de.docx.

    Every input line gives exactly one output line, an empty line an empty one,
    while input is still coming. With --json it is an object with translation,
    score, alternatives, languages, words with how sure they are, and warnings.

    With --alignment pharaoh, a line ends in ||| and pairs such as 0-0 1-2: which
    word became which. Words stand between spaces; a Chinese character is one.

    A FILE may be txt, md, html, srt, vtt, po, xlf, tmx, json, docx, odt or epub.
    What is not text stays as it is, and nothing is overwritten.

    With --input it is a job over many shards, by several processes; when it is
    stopped, the same command goes on.
    """
    given = dict(locals())
    if inputs:
        _run_job(given)
        return
    job_options.refuse_without_input(workers=workers, ray=ray, column=column, rows=rows)
    as_json = as_json or alignment == "json"
    _check_for_lines(1 if as_json else n_best, None if as_json else diverse)
    files = named_files(text or (), file_options := FileOptions(out, resume), as_json=as_json)
    _check_for_files(files, prefix, alignment)
    from heedful.tasks.translation.load import load_translator, rescoring_of

    request = _request(given)
    chooser = rescoring_of(rescore_with, samples)
    translator = load_translator(model, device=device, quantize=quantize, fast=fast, rescoring=chooser, say=note)
    if files:
        translate_files(files, translator, request, file_options, ", ".join(map(str, model or ("bundled",))))
        return
    _translate_lines(translator, request, text, alignment, as_json=as_json)


def _translate_lines(
    translator: "Translator",
    request: "TranslationRequest",
    text: list[str] | None,
    alignment: str | None,
    *,
    as_json: bool,
) -> None:
    """Write the translations of arguments or, without them, of lines from stdin as they come."""
    from heedful.text.lines import read_lines

    reader = None if text else read_lines(open_stdin())
    _write_all(translator.translate_lines(text or reader or (), request), alignment, as_json=as_json)
    if reader is not None and reader.num_bad:
        warn(_about_bad_lines(reader))


def _request(given: dict[str, Any]) -> "TranslationRequest":
    """Return what the options ask of a translator."""
    from heedful.tasks.translation.glossary import NO_TERMS, load_glossary
    from heedful.tasks.translation.request import SearchOptions, TranslationRequest

    glossary, sample, seed = given["glossary"], given["sample"], given["seed"]
    asked = TranslationRequest(
        given["source_language"],
        given["target_language"],
        given["beam"],
        given["n_best"],
        length_penalty=given["length_penalty"],
        prefix=given["prefix"],
        glossary=NO_TERMS if glossary is None else load_glossary(glossary),
        alignment=given["alignment"] is not None,
        register=given["register"],
        check=given["check"],
    )
    drawn = options.any_seed() if sample and seed is None else seed
    others = {name: given[name] for name in ("sample", "temperature", "top_k", "top_p", "diverse", "mbr")}
    return SearchOptions(**others, seed=drawn).request(asked, lambda name: "--" + name.replace("_", "-"))


def _run_job(given: dict[str, Any]) -> None:
    """Translate shards; what gives more than a line for each row is refused."""
    refused = {
        "TEXT": given["text"],
        "--prefix": given["prefix"],
        "--alignment": given["alignment"],
        "--n-best": given["n_best"] > 1,
        "--diverse": given["diverse"],
        "--json": given["as_json"],
        "--resume": given["resume"],  # a job always goes on
        "--rescore-with": given["rescore_with"],
        "--samples": given["samples"],
    }
    for name, is_given in refused.items():
        if is_given:
            raise UserError(f"`{name}` must be left out with --input, which gives a line for each row.")
    _request(given)  # what is wrong with it is said before any process is started
    same = ("beam", "n_best", "length_penalty", "register", "check", "device", "quantize", "fast")
    way = ("sample", "temperature", "top_k", "top_p", "seed", "mbr")
    glossary: Path | None = given["glossary"]
    settings = {
        "source": given["source_language"],
        "target": given["target_language"],
        **{name: given[name] for name in same},
        "glossary": [] if glossary is None else glossary.read_text(encoding="utf-8").split("\n"),
        "models": list(map(str, given["model"] or ())),
        "way": {name: given[name] for name in way},
    }
    where = given["workers"], given["ray"]
    job_options.run_translating(
        "translate", settings, given["inputs"], given["out"], where, given["column"], given["rows"]
    )


def _check_for_lines(n_best: int, diverse: int | None) -> None:
    """Refuse what gives more than a line."""
    if n_best > 1:
        raise UserError("`--n-best` must be 1 without --json, because one line in is one line out. Add --json.")
    if diverse is not None:
        raise UserError("`--diverse` must go with --json, because one line in is one line out. Add --json.")


def _check_for_files(files: "Sequence[Path]", prefix: str, alignment: str | None) -> None:
    """Refuse what is only for texts, where there are files."""
    if files and prefix:
        raise UserError("`--prefix` must be left out with files, which have many sentences to begin.")
    if files and alignment is not None:
        raise UserError("`--alignment` must be left out with files, which have no place for it.")


def _write_all(translations: "Iterable[Translation]", alignment: str | None, *, as_json: bool) -> None:
    """Write translations as they come, and what is doubtful about them."""
    num_doubtful = 0
    for number, translation in enumerate(translations, start=1):
        if as_json:
            write_line(_as_json(translation, alignment))
        else:
            write_line(translation.text if alignment is None else _with_links(translation))
        flush()
        num_doubtful += bool(translation.warnings)
        for warning in translation.warnings if num_doubtful <= _MOST_WARNED else ():
            warn(f"line {number:,}: {warning}")
    if num_doubtful > _MOST_WARNED:
        warn(f"{count_of(num_doubtful - _MOST_WARNED, 'further line')} with warnings; --json has them all.")


_MOST_WARNED = 20  # lines whose warnings are said one by one; of a large file that is out of domain all would have some
_OTHER_LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def _with_links(translation: "Translation") -> str:
    """Write each line of a translation with the numbers of the words that belong together."""
    from heedful.tasks.translation.word_alignment import alignment_of

    return "\n".join(f"{line.target} ||| {line.pharaoh()}".rstrip() for line in alignment_of(translation).lines())


def _as_json(translation: "Translation", alignment: str | None) -> str:
    """Write one translation as one line; floats that are no numbers have no JSON and become null."""
    fields: dict[str, Any] = {
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
        "words": [
            {"text": word.text, "probability": word.probability, "confidence": word.confidence}
            for unit in translation.units
            for word in unit.words()
        ],
        "warnings": [warning.message for warning in translation.warnings],
        "warning_codes": [warning.code for warning in translation.warnings],
    }
    if alignment is not None:
        from heedful.tasks.translation.word_alignment import alignment_of

        links = alignment_of(translation)
        fields["alignment"] = links.pharaoh() if alignment == "pharaoh" else links.as_dict()
    # Readable text, and one line also for those who break lines at more than "\n".
    return json.dumps(fields, ensure_ascii=False).translate(_OTHER_LINE_BREAKS)


def _number(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _about_bad_lines(reader: "LineReader") -> str:
    numbers = ", ".join(f"{number:,}" for number in reader.bad_lines)
    more = ", ..." if reader.num_bad > len(reader.bad_lines) else ""
    verb = "was" if reader.num_bad == 1 else "were"
    return f"{count_of(reader.num_bad, 'line')} {verb} not valid UTF-8; bad bytes became U+FFFD (line {numbers}{more})."
