"""Work done by several processes, its results in the order in which it was given: the same whatever their number.

A worker is a Python process that reads messages from its standard input and answers each on its standard output. It is
started afresh rather than forked: whoever prepares data may hold threads and a GPU, and neither survives a fork. A
worker ends when its input does, so none outlives who started it, even if that was killed. This file knows nothing of
what is worked on.
"""

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import BinaryIO, cast

from heedful.errors import DataError, HeedfulError, UserError
from heedful.files import JsonValue

_LENGTH_BYTES = 8
_ERRORS = {kind.__name__: kind for kind in (HeedfulError, UserError, DataError)}
_ERROR = "error"
_AHEAD = 2
"""Items given to each worker before its first result is taken: it never waits, and memory stays bounded."""


@dataclass(frozen=True)
class Message:
    """What goes from one process to another: facts, and beside them long rows of bytes."""

    facts: dict[str, JsonValue]
    parts: tuple[bytes, ...] = ()


def num_cores() -> int:
    """Count the cores this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """Processes that all do the same work. They are started by `start_workers`."""

    def __init__(self, processes: "list[subprocess.Popen[bytes]]", threads: ThreadPoolExecutor) -> None:
        self._threads, self._most = threads, _AHEAD * len(processes)
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in processes:
            self._idle.put(process)

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

    def _ask(self, item: Message) -> Message:
        process = self._idle.get()
        try:
            _send(cast(BinaryIO, process.stdin), item)
            answer = _receive(cast(BinaryIO, process.stdout))
        except (OSError, EOFError) as error:
            raise HeedfulError(
                "A process that prepares data must live until it is done, but has ended. "
                "It may have been stopped for want of memory; run the command again."
            ) from error
        finally:
            self._idle.put(process)
        if _ERROR in answer.facts:
            raise _ERRORS[str(answer.facts[_ERROR])](answer.facts["sentence"])
        return answer


@contextmanager
def start_workers(module: str, setup: Message, count: int) -> Iterator[Workers]:
    """Start processes that run `module`, which hands `serve` what makes the work of `setup`; end them afterwards."""
    # -P: what lies in the current folder must not be imported in the place of a library.
    command = [sys.executable, "-P", "-m", module]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TOKENIZERS_PARALLELISM": "false",
    }
    with ExitStack() as stack:
        processes = []
        for _ in range(count):
            process = subprocess.Popen(  # noqa: S603 - Python itself, with a module of ours
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
            stack.callback(_end, process)
            processes.append(process)
            _send(cast(BinaryIO, process.stdin), setup)
        threads = stack.enter_context(ThreadPoolExecutor(count))
        yield Workers(processes, threads)


def serve(make: Callable[[Message], Callable[[Message], Message]]) -> None:
    """Be a worker: make the work of the first thing that comes, do it with each of the others, until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for whoever started this process, who then ends it
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        work = make(_receive(requests))
        while True:
            item = _receive(requests)
            try:
                answer = work(item)
            except HeedfulError as error:  # the user's to mend: it goes to the user
                kind = next(name for name, one in reversed(_ERRORS.items()) if isinstance(error, one))
                answer = Message({_ERROR: kind, "sentence": str(error)})
            _send(answers, answer)
    except (EOFError, BrokenPipeError):
        os._exit(0)  # nobody is left to write to, not even what is still in a buffer


def _send(stream: BinaryIO, message: Message) -> None:
    facts = json.dumps([message.facts, [len(part) for part in message.parts]]).encode()
    stream.write(len(facts).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(facts)
    for part in message.parts:
        stream.write(part)
    stream.flush()


def _receive(stream: BinaryIO) -> Message:
    length = int.from_bytes(_read(stream, _LENGTH_BYTES), "little")
    facts, lengths = json.loads(_read(stream, length))
    return Message(facts, tuple(_read(stream, length) for length in lengths))


def _read(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    process.wait()
