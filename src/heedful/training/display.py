"""What a person sees while a model trains: a progress bar on a terminal, plain lines everywhere else.

Both are observers of a run and write to the stream they are given (standard error, for the command
line): the loop itself never prints.
"""

import sys
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from heedful.training.durability.journal import Observer, Record, Silent


class Display(Observer, Protocol):
    """Shows records and sentences between `with` and its end."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""


def make_display(max_steps: int, stream: TextIO | None = None) -> Display:
    """Return the display that fits the stream (standard error when None)."""
    stream = sys.stderr if stream is None else stream
    return BarDisplay(max_steps, stream) if stream.isatty() else PlainDisplay(max_steps, stream)


class QuietDisplay(Silent):
    """Shows nothing: of several processes only the first one tells."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class PlainDisplay:
    """One line for each record: for logs and pipes."""

    def __init__(self, max_steps: int, stream: TextIO) -> None:
        self._max_steps = max_steps
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stream.flush()

    def show(self, record: Record) -> None:
        """Write the record as one line."""
        self.say(f"step {record['step']}/{self._max_steps}  {describe(record)}")

    def say(self, sentence: str) -> None:
        """Write the sentence as a line, at once."""
        self._stream.write(sentence + "\n")
        self._stream.flush()


class BarDisplay:
    """A bar with the newest numbers; validations and sentences scroll by above it."""

    def __init__(self, max_steps: int, stream: TextIO) -> None:
        self._progress = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=stream),
        )
        self._bar = self._progress.add_task("", total=max_steps)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, record: Record) -> None:
        """Move the bar, or let a validation scroll by."""
        step = record["step"]
        if record["kind"] == "train" and isinstance(step, int):
            self._progress.update(self._bar, completed=step, description=describe(record))
        else:
            self.say(f"step {step}  {describe(record)}")

    def say(self, sentence: str) -> None:
        """Write the sentence above the bar."""
        self._progress.console.print(sentence, markup=False, highlight=False)


def describe(record: Record) -> str:
    """Say a record in a line: "loss 3.214  nll 2.9  learning_rate 0.000312  tokens/s 51,200  12:05 left"."""
    skip = ("step", "kind", "timing", "skipped") if not record.get("skipped") else ("step", "kind", "timing")
    words = [] if record["kind"] == "train" else [str(record["kind"])]
    words += [
        f"{name} {value:.4g}" for name, value in record.items() if name not in skip and isinstance(value, int | float)
    ]
    timing = record.get("timing")
    if isinstance(timing, dict):
        if isinstance(speed := timing.get("tokens_per_second"), int | float):
            words.append(f"tokens/s {speed:,.0f}")
        if isinstance(left := timing.get("seconds_left"), int | float):
            words.append(f"{int(left) // 60}:{int(left) % 60:02d} left")
    return "  ".join(words)
