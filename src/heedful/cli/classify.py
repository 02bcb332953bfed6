"""`heedful classify`: one line in, one label out, in order, while the input is still coming."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import flush, open_stdin, warn, write_line
from heedful.errors import count_of

if TYPE_CHECKING:
    from heedful.tasks.classification.classifier import Classification

_OTHER_LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def classify(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="What to classify; without it, lines from stdin.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            metavar="DIR",
            help="A model folder, or a run folder, of a classifier; or bundled, the default.",
        ),
    ] = None,
    as_json: options.Json = False,
    with_words: Annotated[
        bool, typer.Option("--words/--no-words", help="With --json, also the words that moved it: a pass for each.")
    ] = True,
    device: options.Device = None,
) -> None:
    """Put a label on TEXT, or on stdin line by line.

    The model that ships says whether a film review is positive or negative.

    Every input line gives exactly one output line: the label, a tab and its
    probability; an empty line gives an empty one. With --json, each line is an
    object with the probabilities of all labels and, for every word, its place
    and what the decision loses when it is hidden.
    """
    from heedful.tasks.classification.classifier import load_classifier
    from heedful.text.lines import read_lines

    classifier = load_classifier(model, device=device)
    reader = None if text else read_lines(open_stdin())
    num_shortened = 0
    for found in classifier.classify_lines(text or reader or (), explain=as_json and with_words):
        write_line(_as_json(found) if as_json else _as_text(found))
        flush()
        num_shortened += found.num_unread > 0
    if num_shortened:
        warn(f"{count_of(num_shortened, 'text')} longer than the model reads: only head and tail were read.")
    if reader is not None and reader.num_bad:
        warn(f"{count_of(reader.num_bad, 'line')} not valid UTF-8; bad bytes became U+FFFD.")


def _as_text(found: "Classification") -> str:
    if found.label is None:
        return ""
    label = " ".join(found.label.split())  # a label with a tab or a line end in it must not break the line
    return f"{label}\t{found.probability:.4f}"


def _as_json(found: "Classification") -> str:
    fields = {
        "text": found.text,
        "label": found.label,
        "probability": found.probability,
        "probabilities": found.probabilities,
        "tokens": found.num_tokens,
        "unread_tokens": found.num_unread,
        "words": [
            {"word": it.word, "start": it.start, "end": it.end, "influence": round(it.influence, 6)}
            for it in found.words
        ],
    }
    # Readable text, and one line also for those who break lines at more than "\n".
    return json.dumps(fields, ensure_ascii=False).translate(_OTHER_LINE_BREAKS)
