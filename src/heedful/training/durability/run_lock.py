"""One trainer for one run folder. The lock belongs to the process: a kill frees it, nothing needs to be cleaned up."""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from heedful.errors import HeedfulError, UserError
from heedful.files import writing


class RunLock:
    """While entered, no other process can enter the lock of the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> Self:
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            is_taken = _take(descriptor)
        except OSError as error:  # a network disk whose server keeps no locks
            os.close(descriptor)
            raise HeedfulError(
                f"{self._folder} could not be locked: {error.strerror}. "
                "Choose a `runs_folder` on a disk whose files can be locked."
            ) from error
        if not is_taken:
            owner = os.read(descriptor, 20).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise UserError(
                f"{self._folder} must be used by one training process at a time, but process {owner} is at it. "
                "Wait for it, stop it, or choose another `name`."
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def _take(descriptor: int) -> bool:
    """Lock for writing; tried a few times, because somebody may just be asking `is_locked`."""
    for pause in (0.02, 0.05, 0.1, None):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if pause is None:
                return False
            time.sleep(pause)
        else:
            return True
    raise AssertionError("the last try decides")


def is_locked(folder: Path) -> bool:
    """Tell whether a process is training in `folder`, and write nothing there.

    The question is a shared lock for some microseconds, which a trainer that starts in this moment waits for.
    """
    try:
        descriptor = os.open(folder / ".lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # where nothing can be locked, nobody trains
        return False
    finally:
        os.close(descriptor)
    return False
