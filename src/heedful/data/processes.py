"""Work done by several processes, its results in the order in which it was given: the same whatever their number.

A worker is a Python process that reads messages from its standard input and answers each on its standard output. It is
started afresh rather than forked from here: whoever prepares data may hold threads and a GPU, and neither survives a
fork. A worker holds neither, so others can be forked from the first one, with all that it has loaded and learned. A
worker ends when its input does, so none outlives who started it, even if that was killed; in the place of one that
dies another is started, and does its item again. This file knows nothing of what is worked on.
"""

import gc
import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import BinaryIO, cast

from heedful.errors import DataError, HeedfulError, UserError
from heedful.files import JsonValue

_LENGTH_BYTES = 8
_ERRORS = {kind.__name__: kind for kind in (HeedfulError, UserError, DataError)}
_ERROR, _FORK = "error", "fork"
_AHEAD = 2
"""Items given to each worker before its first result is taken: it never waits, and memory stays bounded."""

_TRIES = 3
"""Workers that an item may cost: one that ends the third, too, is what ends them."""

_SECONDS_TO_END = 5.0


@dataclass(frozen=True)
class Message:
    """What goes from one process to another: facts, and beside them long rows of bytes."""

    facts: dict[str, JsonValue]
    parts: tuple[bytes, ...] = ()


def num_cores() -> int:
    """Count the cores this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class _Worker:
    """The two ends of a process; `process` is None for one that was forked from another."""

    requests: BinaryIO
    answers: BinaryIO
    pid: int
    process: "subprocess.Popen[bytes] | None" = None

    def ask(self, item: Message) -> Message:
        send(self.requests, item)
        return receive(self.answers)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def let_end(self) -> None:
        for stream in (self.requests, self.answers):
            with suppress(OSError):
                stream.close()

    def wait(self) -> None:
        if self.process is not None:
            try:
                self.process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@dataclass(frozen=True)
class Start:
    """How a worker is started: a module that hands `serve` what makes the work of `setup`."""

    module: str
    setup: Message
    environment: Mapping[str, str] = field(default_factory=dict)

    def worker(self, pass_fds: tuple[int, ...] = ()) -> _Worker:
        """Start one; it is given its setup."""
        # -P: what lies in the current folder must not be imported in the place of a library.
        command = [sys.executable, "-P", "-m", self.module]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "TOKENIZERS_PARALLELISM": "false",
            **self.environment,
        }
        process = subprocess.Popen(  # noqa: S603 - Python itself, with a module of ours
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, pass_fds=pass_fds
        )
        worker = _Worker(cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout), process.pid, process)
        with suppress(OSError):  # one that has ended already is found out when it is asked
            send(worker.requests, self.setup)
        return worker


class Workers:
    """Processes that all do the same work. They are started by `start_workers`."""

    def __init__(self, start: Start, workers: list[_Worker]) -> None:
        self._start, self._count, self._most = start, len(workers), _AHEAD * len(workers)
        self._threads = ThreadPoolExecutor(len(workers))
        self._all = workers
        self._is_ending = False
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in workers:
            self._idle.put(worker)
        self.num_lost = 0
        """Workers that died and were replaced."""

    def map(self, items: Iterable[Message]) -> Iterator[Message]:
        """Yield the results in the order of the items, of which only a few are under way at any time."""
        waiting: deque[Future[Message]] = deque()
        try:
            for item in items:
                waiting.append(self._threads.submit(self._ask, item))
                if len(waiting) >= self._most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for unwanted in waiting:
                unwanted.cancel()

    def as_done(self, items: Iterable[tuple[int, Message]]) -> Iterator[tuple[int, Message]]:
        """Yield numbered results as they come: nobody who is done waits for one that takes long."""
        waiting: dict[Future[Message], int] = {}
        try:
            for number, item in items:
                waiting[self._threads.submit(self._ask, item)] = number
                while len(waiting) >= self._most:
                    yield from _taken(waiting)
            while waiting:
                yield from _taken(waiting)
        finally:
            for unwanted in waiting:
                unwanted.cancel()

    def _ask(self, item: Message) -> Message:
        worker = self._idle.get()
        try:
            for num_tries in range(1, _TRIES + 1):
                try:
                    answer = worker.ask(item)
                    break
                except (OSError, EOFError) as error:
                    if num_tries == _TRIES or self._is_ending:
                        raise HeedfulError(
                            "A process that prepares data must live until it is done, but has ended. "
                            "It may have been stopped for want of memory; run the command again."
                        ) from error
                    worker = self._another(worker)
        finally:
            self._idle.put(worker)
        return raised(answer)

    def _another(self, dead: _Worker) -> _Worker:
        dead.kill()  # it may have ended its output alone
        dead.let_end()
        self.num_lost += 1
        self._all.append(self._start.worker())
        return self._all[-1]

    def end(self) -> None:
        """End all of them, whatever they are doing."""
        self._is_ending = True
        if self._idle.qsize() < self._count:  # somebody is in the middle of something nobody wants any more
            for worker in self._all:
                worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._all:
            worker.let_end()
        for worker in self._all:
            worker.wait()


def _taken(waiting: "dict[Future[Message], int]") -> Iterator[tuple[int, Message]]:
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        yield waiting.pop(future), future.result()


@contextmanager
def start_workers(start: Start, count: int, *, warm_up: Message | None = None) -> Iterator[Workers]:
    """Start processes, and end them afterwards.

    With `warm_up` one is started and does that first, for nothing; the others are forked from it, at no cost to speak
    of, and know what it has learned by it.
    """
    started = [start.worker() for _ in range(count)] if warm_up is None else _forked_from_one(start, count, warm_up)
    workers = Workers(start, started)
    try:
        yield workers
    finally:
        workers.end()


def _forked_from_one(start: Start, count: int, warm_up: Message) -> list[_Worker]:
    pipes = [(os.pipe(), os.pipe()) for _ in range(count - 1)]
    theirs = [(requests[0], answers[1]) for requests, answers in pipes]
    first = start.worker(tuple(end for both in theirs for end in both))
    for end in (end for both in theirs for end in both):
        os.close(end)
    pids: list[int] = []
    with suppress(OSError, EOFError):  # what it dies of is found out when it is asked
        first.ask(warm_up)
        pids = cast(list[int], first.ask(Message({_FORK: [list(both) for both in theirs]})).facts[_FORK])
    others = [
        _Worker(os.fdopen(one[1], "wb"), os.fdopen(other[0], "rb"), pid)
        for (one, other), pid in zip(pipes, pids or [first.pid] * len(pipes), strict=True)
    ]
    return [first, *others]


def serve(make: Callable[[Message], Callable[[Message], Message]]) -> None:
    """Be a worker: make the work of the first thing that comes, do it with each of the others, until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for whoever started this process, who then ends it
    requests, answers = sys.stdin.buffer, cast(BinaryIO, os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not stand among the answers
    try:
        work = _made(make, receive(requests))
        while True:
            item = receive(requests)
            if _FORK in item.facts:
                requests, answers = _fork(cast(list[list[int]], item.facts[_FORK]), requests, answers)
                continue
            send(answers, answer_of(work, item))
    except (EOFError, BrokenPipeError):
        with suppress(ChildProcessError):
            while os.wait():  # those that were forked from here: their input has ended, too
                pass
        os._exit(0)  # nobody is left to write to, not even what is still in a buffer


def _made(make: Callable[[Message], Callable[[Message], Message]], setup: Message) -> Callable[[Message], Message]:
    """Make the work; what the user can mend about it is the answer to everything that is asked."""
    try:
        return make(setup)
    except HeedfulError as error:
        failure = error

    def fail(_: Message) -> Message:
        raise failure

    return fail


def answer_of(work: Callable[[Message], Message], item: Message) -> Message:
    """Do some work; what the user can mend about it is an answer, too."""
    try:
        return work(item)
    except HeedfulError as error:
        kind = next(name for name, one in reversed(_ERRORS.items()) if isinstance(error, one))
        return Message({_ERROR: kind, "sentence": str(error)})


def raised(answer: Message) -> Message:
    """Return an answer; one that says what the user can mend is raised."""
    if _ERROR in answer.facts:
        raise _ERRORS[str(answer.facts[_ERROR])](answer.facts["sentence"])
    return answer


def _fork(ends: list[list[int]], requests: BinaryIO, answers: BinaryIO) -> tuple[BinaryIO, BinaryIO]:
    """Become several processes, each with its own two ends, which are returned."""
    gc.freeze()  # what is there by now stays shared: the collector must not write into it
    pids: list[JsonValue] = []
    for number, (theirs_in, theirs_out) in enumerate(ends):
        pid = os.fork()
        if pid == 0:
            for end in (end for others in ends[number + 1 :] for end in others):
                os.close(end)
            requests.close()
            answers.close()
            return cast(BinaryIO, os.fdopen(theirs_in, "rb")), cast(BinaryIO, os.fdopen(theirs_out, "wb"))
        os.close(theirs_in)
        os.close(theirs_out)
        pids.append(pid)
    send(answers, Message({_FORK: pids}))
    return requests, answers


def send(stream: BinaryIO, message: Message) -> None:
    """Write a message."""
    facts = json.dumps([message.facts, [len(part) for part in message.parts]]).encode()
    stream.write(len(facts).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(facts)
    for part in message.parts:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> Message:
    """Read a message."""
    length = int.from_bytes(_read(stream, _LENGTH_BYTES), "little")
    facts, lengths = json.loads(_read(stream, length))
    return Message(facts, tuple(_read(stream, length) for length in lengths))


def _read(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
