"""A process that has imported everything once, and forks for each command: a test need not wait for torch to load.

What is forked is a process like any other: own memory, own streams, own exit code; its threads are awaited, its exit
handlers run. Missing are the time before `main()` and the time in which the interpreter takes itself apart, and with
them what tests of start and end look at; these start Python, and so do tests that compare what two processes compute,
since forks share the seed of Python's hashes.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import IO

from tests.support.commands import environment_of


class ForkedCommand:
    """A command that runs: what tests use of `subprocess.Popen`."""

    def __init__(self, connection: socket.socket, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self._connection = connection
        self._code: int | None = None
        self.stdout, self.stderr = stdout, stderr
        self.pid = int.from_bytes(_exactly(connection, 4), "big")

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; that of a command ended by a signal is minus its number."""
        if self._code is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("heedful", timeout or 0)
            self._code = int.from_bytes(_exactly(self._connection, 4), "big", signed=True)
            self._connection.close()
        return self._code

    def poll(self) -> int | None:
        """Return the exit code, or nothing while the command runs."""
        try:
            return self.wait(timeout=0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Send a signal to a command that still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the command at once."""
        self.send_signal(signal.SIGKILL)


class CommandServer:
    """Runs `heedful` in forks of one process, which ends with this one: then its line is closed."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, cwd=root, env=environment_of(), pass_fds=[theirs.fileno()])
        theirs.close()

    def start(
        self,
        *arguments: str | Path,
        stdin: int | None = None,
        cwd: Path | None = None,
        limits: Mapping[int, int] | None = None,
        **environment: str,
    ) -> ForkedCommand:
        """Do what `subprocess.Popen` would, with pipes for what is said; `stdin` is a descriptor that is given away.

        `limits` are those of the module `resource`, as `setrlimit` takes them.
        """
        asked = {
            "arguments": [*map(str, arguments)],
            "cwd": str(cwd or Path.cwd()),
            "environment": environment_of(**environment),
            "limits": [*(limits or {}).items()],
        }
        written = json.dumps(asked).encode()
        ours, theirs = socket.socketpair()
        theirs_in = os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin
        ours_out, theirs_out = os.pipe()
        ours_err, theirs_err = os.pipe()
        given = [theirs.detach(), theirs_in, theirs_out, theirs_err]
        socket.send_fds(self._line, [b"+"], given)
        for descriptor in given:
            os.close(descriptor)
        ours.sendall(len(written).to_bytes(4, "big") + written)
        return ForkedCommand(ours, os.fdopen(ours_out, "rb"), os.fdopen(ours_err, "rb"))

    def run(
        self,
        *arguments: str | Path,
        stdin: bytes = b"",
        cwd: Path | None = None,
        limits: Mapping[int, int] | None = None,
        timeout: float = 300,
        **environment: str,
    ) -> "subprocess.CompletedProcess[bytes]":
        """Do what `subprocess.run` would."""
        theirs_in, ours_in = os.pipe()
        with ThreadPoolExecutor(3) as others:
            command = self.start(*arguments, stdin=theirs_in, cwd=cwd, limits=limits, **environment)
            others.submit(_write, ours_in, stdin)
            output, errors = (others.submit(_read, stream) for stream in (command.stdout, command.stderr))
            clock = threading.Timer(timeout, os.kill, (command.pid, signal.SIGKILL))
            clock.start()
            code = command.wait()
            clock.cancel()
            return subprocess.CompletedProcess(
                ["heedful", *map(str, arguments)], code, output.result(), errors.result()
            )


@cache
def command_server() -> CommandServer:
    """The one of this test process, from the first command on."""
    return CommandServer()


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as stream:
        stream.write(data)


def _read(stream: IO[bytes]) -> bytes:
    with stream:
        return stream.read()


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError("The process that starts commands is gone.")
        data += part
    return data


def _import_all() -> None:
    package = importlib.import_module("heedful")
    for module in pkgutil.walk_packages(package.__path__, "heedful."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as absent:
            if absent.name != "triton":  # which only a GPU needs
                raise
    importlib.import_module("torch._dynamo")  # 1.5 s, which PyTorch takes when the first optimizer is made


def _become_a_command(line: socket.socket) -> list[str]:
    """Wait for commands; return the arguments of one, in a process of its own that has its streams."""
    while True:
        received, descriptors, _, _ = socket.recv_fds(line, 1, 4)
        if not received:  # nobody is left who could ask
            sys.exit()
        if os.fork():  # this one waits for the next command
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        line.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connection = socket.socket(fileno=descriptors.pop(0))
        asked = json.loads(_exactly(connection, int.from_bytes(_exactly(connection, 4), "big")))
        if pid := os.fork():  # and this one for the command's end
            connection.sendall(pid.to_bytes(4, "big"))
            for descriptor in descriptors:
                os.close(descriptor)
            _, status = os.waitpid(pid, 0)
            connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
            os._exit(0)
        connection.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        for kind, limit in asked["limits"]:
            resource.setrlimit(kind, (limit, limit))
        return list(asked["arguments"])


def _run() -> None:
    """Run the command and end as multiprocessing ends its children; what ends otherwise is left to the interpreter."""
    try:
        runpy.run_module("heedful", run_name="__main__")
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code or 0)


if __name__ == "__main__":
    line = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system takes note of ended processes, nobody else asks
    _import_all()
    gc.collect()
    gc.freeze()  # no fork looks through what was there before it, neither at work nor at its end
    sys.argv = ["heedful", *_become_a_command(line)]
    _run()
