"""What a person sees while files are fetched: a bar on a terminal, plain lines everywhere else.

Both are listeners of downloads.py and write to the stream they are given (standard error, for the command line).
"""

import math
import sys
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from heedful.corpora.download import Listener

_LINE_EVERY_PERCENT = 20


class DownloadDisplay(Listener, Protocol):
    """A listener that shows what it hears between `with` and its end."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""


def make_download_display(stream: TextIO | None = None) -> DownloadDisplay:
    """Return the display that fits the stream (standard error when None)."""
    stream = sys.stderr if stream is None else stream
    return BarDownloadDisplay(stream) if stream.isatty() else PlainDownloadDisplay(stream)


class PlainDownloadDisplay:
    """A line for each file, and one every fifth of it on the way: for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._name = ""
        self._total: int | None = None
        self._shown_percent = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stream.flush()

    def begin(self, name: str, done: int, total: int | None) -> None:
        """Write the name and the size, and where it goes on."""
        self._name, self._total = name, total
        self._shown_percent = self._percent(done)
        size = "size unknown" if total is None else size_in_words(total)
        self.say(f"{name}  {size}" + (f", going on at {self._shown_percent} %" if done else ""))

    def advance(self, done: int) -> None:
        """Write a line when another fifth of a file worth the words is here."""
        percent = self._percent(done)
        if percent >= self._shown_percent + _LINE_EVERY_PERCENT and percent < 100 and (self._total or 0) > 10_000_000:
            self._shown_percent = percent
            self.say(f"{self._name}  {percent} %")

    def say(self, sentence: str) -> None:
        """Write the sentence as a line, at once."""
        self._stream.write(sentence + "\n")
        self._stream.flush()

    def _percent(self, done: int) -> int:
        return 100 * done // self._total if self._total else 0


class BarDownloadDisplay:
    """A bar for the file that is coming; sentences scroll by above it."""

    def __init__(self, stream: TextIO) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(file=stream),
        )
        self._bar = self._progress.add_task("", total=None, visible=False)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, name: str, done: int, total: int | None) -> None:
        """Start the bar of the next file where that file stands."""
        self._progress.reset(self._bar, description=name, completed=done, total=total, visible=True)

    def advance(self, done: int) -> None:
        """Move the bar."""
        self._progress.update(self._bar, completed=done)

    def say(self, sentence: str) -> None:
        """Write the sentence above the bar."""
        self._progress.console.print(sentence, markup=False, highlight=False)


def size_in_words(num_bytes: int) -> str:
    """Say a size: "23 kB", "84 MB"."""
    return f"{num_bytes / 1e6:.0f} MB" if num_bytes >= 10_000_000 else f"{math.ceil(num_bytes / 1e3):,} kB"
