"""How `heedful translate` takes files: which arguments are files, where their translations go, and what is shown.

An argument is a file when it exists and has an ending. What looks like the name of a document and does not exist is
refused rather than translated as a text: nobody means that.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.console import is_terminal, note, warn
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from heedful.documents.files import Summary
    from heedful.tasks.translation.request import TranslationRequest
    from heedful.tasks.translation.translator import Translator

_LONGEST_NAME = 255
_LINE_EVERY_PERCENT = 10
Listener = Callable[[int, int], None]


OutFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where the translation of a file goes; else beside it.")
]
ResumeFile = Annotated[bool, typer.Option("--resume", help="Go on with a file where a killed run ended.")]


@dataclass(frozen=True)
class FileOptions:
    """What can be said of files alone."""

    out: Path | None = None
    resume: bool = False


def named_files(words: Sequence[str], options: FileOptions, *, as_json: bool) -> list[Path]:
    """Return the files that the arguments name: all of them do, or none."""
    files = [Path(word) for word in words if _is_file(word)]
    if files and len(files) < len(words):
        text = next(word for word in words if not _is_file(word))
        remedy = "Translate them one after the other."
        raise UserError(
            f'The arguments must be files or texts, but {files[0]} is a file and "{text}" is none. {remedy}'
        )
    if not files and (options.out is not None or options.resume):
        option = "--out" if options.out is not None else "--resume"
        raise UserError(f"`{option}` must be used with a file, but none is named.")
    if files and as_json:
        raise UserError("`--json` must be used with texts, but files are named. Leave it out.")
    if len(files) > 1 and options.out is not None:
        raise UserError(f"`--out` must be used with one file, but {len(files)} are named. Leave it out.")
    return files


def translate_files(
    files: Sequence[Path],
    translator: "Translator",
    request: "TranslationRequest",
    options: FileOptions,
    model_name: str,
) -> None:
    """Translate files one after the other, each beside its source; one that cannot be read stops none of the others."""
    from heedful.documents.files import output_path, settle_target, translate_file

    target = settle_target(translator.directions, request)
    outputs = {path: options.out or output_path(path, target) for path in files}
    made = {output.absolute(): path for path, output in outputs.items()}
    refused: list[Path] = []
    for path, output in outputs.items():
        if made.get(path.absolute(), path) != path:
            note(f"{path} is left out: it is a translation of another of these files.")
        elif options.resume and output.exists():
            note(f"{output} is there already.")
        else:
            try:
                with _showing(path.name) as listener:
                    summary = translate_file(
                        path,
                        output,
                        translator,
                        request,
                        model_name=model_name,
                        resume=options.resume,
                        on_progress=listener,
                    )
            except UserError as error:
                if len(files) == 1:
                    raise
                warn(str(error))
                refused.append(path)
            else:
                _tell(summary)
    if refused:
        raise UserError(f"Not translated: {', '.join(map(str, refused))}. The other files are done.")


def _tell(summary: "Summary") -> None:
    before = f", {summary.num_resumed:,} of them before" if summary.num_resumed else ""
    note(f"{summary.output}: {count_of(summary.num_passages, 'passage')}{before}.")
    if summary.num_doubtful:
        verb = "is" if summary.num_doubtful == 1 else "are"
        found = f"{count_of(summary.num_doubtful, 'passage')} of {summary.output} {verb} doubtful"
        warn(f"{found}. Read it before you use it.")


def _is_file(word: str) -> bool:
    """Say whether an argument names a file; one that seems to, but is not there, or is of no known kind, is refused."""
    from heedful.documents.formats import format_of, has_known_ending

    path = Path(word)
    if "\n" in word or len(path.name) > _LONGEST_NAME or "\0" in word or not path.suffix:
        return False
    if path.is_file():
        format_of(word)
        return True
    if has_known_ending(word) and not any(character.isspace() for character in word):
        remedy = "To translate its name as a text, give it on stdin."
        raise UserError(f"The file {word} must exist, but does not. {remedy}")
    return False


@contextmanager
def _showing(name: str) -> Iterator[Listener]:
    """Show how far a file has come: a bar on a terminal, a line now and then everywhere else."""
    if not is_terminal(sys.stderr):
        yield _lines(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


def _lines(name: str) -> Listener:
    told = 0

    def listen(done: int, total: int) -> None:
        nonlocal told
        percent = 100 * done // max(total, 1)
        if told + _LINE_EVERY_PERCENT <= percent < 100:
            told = percent
            note(f"{name}  {percent} %")

    return listen
