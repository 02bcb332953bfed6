"""SIGTERM and Ctrl-C: finish the step, save, leave. A second signal leaves at once."""

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from heedful.errors import HeedfulError


class TrainingInterruptedError(HeedfulError):
    """Training was asked to stop and has saved what it had. Exits as shells expect, with 130 or 143."""

    def __init__(self, number: int, step: int) -> None:
        self.exit_code = 128 + number
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        super().__init__(f"Stopped by {name} after step {step}, which is saved. Go on with --resume.")


class Interruption:
    """While entered, turns the first signal into a wish (`received`) and lets the second have its ordinary effect."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        # Python delivers signals to the main thread only; a loop in another one is its owner's to stop.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.received = number
