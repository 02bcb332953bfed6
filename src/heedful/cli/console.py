"""Where the command line writes, and how it ends.

stdout carries what was asked for and nothing else, as exact UTF-8 bytes, so that it can be piped; everything said
besides goes to stderr. `exits` turns whatever ends a verb into its exit code: 0 done, 1 failed at run time, 2 the
user's mistake, 130 interrupted. A reader that has closed the pipe has what it wanted: that is no failure.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

import typer

from heedful.errors import HeedfulError, UserError, is_out_of_memory


def write_line(text: str) -> None:
    """Write one line to stdout; the caller has made sure that it is one line."""
    write_bytes(text.encode("utf-8", errors="replace") + b"\n")


def write_bytes(data: bytes) -> None:
    """Write to stdout as it is."""
    if not is_open(sys.stdout):
        raise UserError("The output must be open, but is closed. Let it go to a file, a pipe or /dev/null.")
    sys.stdout.buffer.write(data)


def flush() -> None:
    """Hand what was written to the reader now."""
    if is_open(sys.stdout):
        sys.stdout.buffer.flush()


def open_stdin() -> BinaryIO:
    """Open stdin once more: Python closes `sys.stdin` at its end, and must not find the reading thread inside it."""
    if not is_open(sys.stdin):
        raise UserError(
            "The input must be open, but is closed. Give the text as an argument, from a file or through a pipe."
        )
    return os.fdopen(sys.stdin.fileno(), "rb", closefd=False)


def note(message: str) -> None:
    """Say something on stderr."""
    typer.echo(message, err=True)


def warn(message: str) -> None:
    """Say on stderr what the user should know although the work goes on."""
    typer.echo(f"{_coloured('warning:', 'yellow')} {message}", err=True)


@contextmanager
def exits() -> Iterator[None]:
    """Run a verb; print the sentence of an expected failure and leave with its exit code."""
    try:
        yield
        flush()
    except HeedfulError as error:
        from heedful.corpora.fetch import in_words

        _fail(in_words(error), error.exit_code)
    except BrokenPipeError:
        _abandon_stdout()
        raise typer.Exit(0) from None
    except OSError as error:
        place = error.filename or "The output"
        _fail(f"{place} cannot be read or written: {error.strerror or error}.", 1)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _fail("The memory of this machine is too small for this, or others have it. Ask for less at once.", 1)


def _fail(message: str, exit_code: int) -> None:
    # Above 128 a signal ended it: that was somebody's wish and is no error.
    typer.echo(message if exit_code > 128 else f"{_coloured('error:', 'red')} {message}", err=True)
    _abandon_stdout()
    raise typer.Exit(exit_code) from None


def _abandon_stdout() -> None:
    """Point stdout at nothing when it cannot be flushed, or Python would complain about it once more at its end."""
    try:
        flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether somebody watches a standard stream, which may be closed."""
    return stream is not None and stream.isatty()


def is_open(stream: TextIO | None) -> bool:
    """Tell whether a standard stream can be used: Python has None for one that was closed before the start."""
    return stream is not None


def _coloured(word: str, colour: str) -> str:
    plain = os.environ.get("NO_COLOR") or not is_terminal(sys.stderr)
    return word if plain else typer.style(word, fg=colour, bold=True)
