"""One process for each contestant: threads that one library leaves spinning must not slow down another's."""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class Contestant:
    """A function that lives in a process of its own; `make` builds it there."""

    def __init__(self, make: Callable[..., Callable[..., Any]], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        assert self._connection.recv() == "ready", "the contestant is ready when it says so"

    def __call__(self, *arguments: Any) -> tuple[Any, float]:
        """Run the function there; returns its result and the seconds it took, measured there."""
        self._connection.send(arguments)
        result, seconds = self._connection.recv()
        return result, float(seconds)

    def leave(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def _serve(connection: Connection, make: Callable[..., Callable[..., Any]], arguments: tuple[Any, ...]) -> None:
    function = make(*arguments)
    connection.send("ready")
    while True:
        try:
            task = connection.recv()
        except EOFError:  # the race is over
            return
        began = time.perf_counter()
        result = function(*task)
        connection.send((result, time.perf_counter() - began))
