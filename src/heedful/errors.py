"""Errors a person can cause, and the one grammar they are written in.

A message is a sentence: what must hold, and what was found ("`decoding.beam_size` must be at least 1, but is 0."),
then, where there is one, the remedy. The command line prints the sentence without a traceback and exits with
`exit_code`; everything that is not a `HeedfulError` is a fault of ours and keeps its traceback.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path


class HeedfulError(Exception):
    """A failure at run time that has a sentence: a full disk, a diverged training run."""

    exit_code = 1


class FullDiskError(HeedfulError):
    """A disk without room; `lead` says so without a remedy: who knows a better one puts it behind."""

    def __init__(self, lead: str, remedy: str = "Free some space and run the command again.") -> None:
        self.lead = lead
        super().__init__(f"{lead} {remedy}")


class UserError(HeedfulError, ValueError):
    """Something the user gave is wrong and the user can mend it."""

    exit_code = 2


class ConfigError(UserError):
    """Every problem of one configuration, reported together so that it is mended in one go."""

    def __init__(self, origin: str, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(
            "\n".join([f"{origin} has {count_of(len(problems), 'problem')}:", *(f"  - {p}" for p in problems)])
        )


class DataError(UserError):
    """A corpus that cannot be used as it is; the message names the file and the line."""


class MissingFileError(DataError):
    """A file of a corpus that is not there; `path` is where it was looked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{self.lead} Check the path, and HEEDFUL_DATA if it is set.")

    @property
    def lead(self) -> str:
        """What must hold and does not, without a remedy: who knows a better one puts it behind."""
        return f"The file {self.path} must exist, but does not."


class ModelFolderError(UserError):
    """A model folder or checkpoint with a part that is missing, altered or of another model."""


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether memory was refused: by Python, by the int8 engine, or by PyTorch on a CPU or a GPU."""
    if isinstance(error, MemoryError):
        return True
    # PyTorch has a class of its own for GPUs alone, and nothing here imports PyTorch: its words have to do.
    told = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in told or "can't allocate memory" in told)


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that `word` was probably meant to be, or None when nothing is close."""
    return next(iter(get_close_matches(word, list(candidates), n=1, cutoff=0.6)), None)


def count_of(number: int, noun: str) -> str:
    """Say "1 line" or "1,234 lines": messages that count must not stumble over the plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
