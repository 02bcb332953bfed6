"""File operations that meet a fault: the process is killed in the middle of one, or the disk is full."""

import errno
import os
import signal
from collections.abc import Callable
from typing import Any

OPERATIONS = ("open", "write", "fsync", "close", "replace", "rename", "mkdir", "unlink", "rmdir")


def count_operations(due: int, fault: str) -> Callable[[], bool]:
    """Count from now on, and return a function that says whether the fault has struck."""
    count = 0

    def watched(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: Any) -> object:
            nonlocal count
            count += 1
            if count != due:
                # What a killed process has written stays with the kernel; only a power cut would need the real fsync.
                return None if name == "fsync" else real(*arguments, **options)
            if fault == "full disk":
                if name == "close":
                    real(*arguments)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if name == "write":
                real(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError("unreachable")

        return call

    for name in OPERATIONS:
        setattr(os, name, watched(name, getattr(os, name)))
    return lambda: count >= due
