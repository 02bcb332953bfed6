"""Work done here or by several processes: each is given one piece after the other, all are stopped together.

The processes are in sessions of their own, so that a Ctrl-C reaches only this process, which then asks them to stop:
they save what they have and leave. Work is JSON; what it means is known by worker.py and by those who ask.
"""

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from heedful.comparisons.worker import answer_one
from heedful.errors import HeedfulError
from heedful.training.durability.interruption import Interruption

Request = dict[str, Any]
Tell = Callable[[int, str], None]
_LOOK_SECONDS = 0.2


class InterruptedWorkError(HeedfulError):
    """Somebody asked to stop, and what was under way is saved."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        super().__init__(f"Stopped by {name}; what was trained is saved. The same command goes on.")


@dataclass(frozen=True)
class Answer:
    """How a piece of work ended."""

    exit_code: int
    message: str = ""


class _Worker:
    """One process, and the number of the work it is at."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "heedful.comparisons.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self.stdout = self._process.stdin, self._process.stdout
        self._unread = b""
        self.number: int | None = None

    def give(self, number: int, request: Request) -> None:
        """Begin a piece of work."""
        self.number = number
        self._stdin.write(json.dumps(request).encode() + b"\n")
        self._stdin.flush()

    def read(self) -> list[dict[str, Any]]:
        """Return the answers that have come; when the process is gone, one that says so."""
        block = os.read(self.stdout.fileno(), 1 << 16)
        if not block:
            code = self._process.wait()
            ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            return [{"exit_code": 1, "message": f"The process that did it ended with {ended}.", "is_gone": True}]
        *lines, self._unread = (self._unread + block).split(b"\n")
        return [json.loads(line) for line in lines]

    def stop(self) -> None:
        """Ask to save and leave."""
        self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Let it end: at once when it has nothing to do, else when it has saved."""
        self._stdin.close()
        self._process.wait()
        self.stdout.close()


def do_all(
    requests: Sequence[Request],
    num_workers: int,
    *,
    tell: Tell,
    done: Callable[[int, Answer], None],
    minutes: float | None = None,
) -> None:
    """Have all work done by so many processes; `tell` hears of each piece of work as it goes on, `done` how it ended.

    Pieces are numbered as they come in `requests`. What has not begun after so many minutes is not begun, and `done`
    does not hear of it. An interruption is an `InterruptedWorkError`, after all have saved.
    """
    if not requests or minutes == 0:
        return
    ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
    if num_workers == 1:
        _do_here(requests, tell, done, ends)
        return
    waiting = list(enumerate(requests))[::-1]
    with Interruption() as interruption, _started(min(num_workers, len(requests))) as workers:
        for worker in workers:
            worker.give(*waiting.pop())
        is_stopping = False
        while any(worker.number is not None for worker in workers):
            if interruption.received is not None and not is_stopping:
                is_stopping = True
                for worker in workers:
                    worker.stop()
            for place in _ready(workers):
                is_over = is_stopping or time.monotonic() > ends
                _hear(workers, place, [] if is_over else waiting, tell, done)
        if interruption.received is not None:
            raise InterruptedWorkError(interruption.received)


def _do_here(requests: Sequence[Request], tell: Tell, done: Callable[[int, Answer], None], ends: float) -> None:
    """Do all work in this process, which need not load everything a second time."""
    for number, request in enumerate(requests):
        if time.monotonic() > ends:
            return
        answers: list[Answer] = []

        def hear(number: int = number, answers: list[Answer] = answers, **fields: Any) -> None:
            if "told" in fields:
                tell(number, fields["told"])
            else:
                answers.append(Answer(**fields))

        try:
            answer_one(request, hear)
        except KeyboardInterrupt:  # while data is read or a model is scored: nothing has to be saved
            raise InterruptedWorkError(signal.SIGINT) from None
        if answers[0].exit_code > 128:  # a training was asked to stop, and has saved
            raise InterruptedWorkError(answers[0].exit_code - 128)
        done(number, answers[0])


def _hear(
    workers: list[_Worker],
    place: int,
    waiting: list[tuple[int, Request]],
    tell: Tell,
    done: Callable[[int, Answer], None],
) -> None:
    """Take the answers of one worker, and give it what waits; a worker that is gone is replaced where more waits."""
    worker = workers[place]
    for answer in worker.read():
        assert worker.number is not None
        if "told" in answer:
            tell(worker.number, answer["told"])
            continue
        number, worker.number = worker.number, None
        done(number, Answer(answer["exit_code"], answer.get("message", "")))
        if answer.get("is_gone"):
            worker.close()
            if waiting:
                workers[place] = worker = _Worker()
        if waiting:
            worker.give(*waiting.pop())


def _ready(workers: Sequence[_Worker]) -> list[int]:
    """Return the places of busy workers that have something to say, after a moment at most."""
    with selectors.DefaultSelector() as selector:
        for place, worker in enumerate(workers):
            if worker.number is not None:
                selector.register(worker.stdout, selectors.EVENT_READ, place)
        return [key.data for key, _ in selector.select(_LOOK_SECONDS)]


@contextmanager
def _started(count: int) -> Iterator[list[_Worker]]:
    workers = [_Worker() for _ in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()
