"""One trainer for one run folder. The lock belongs to the process: a kill frees it, nothing needs to be cleaned up."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from heedful.errors import UserError
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
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 20).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise UserError(
                f"{self._folder} must be used by one training process at a time, but process {owner} is at it. "
                "Wait for it, stop it, or choose another `name`."
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def is_locked(folder: Path) -> bool:
    """Tell whether a process is training in `folder`, and write nothing there.

    The question is a shared lock for some microseconds: whoever asks all the time leaves the trainer its chance.
    """
    try:
        descriptor = os.open(folder / ".lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
