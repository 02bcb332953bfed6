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
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_GPU_ONLY = ("heedful.nn.kernels", "heedful.training.losses.fused")
_MOST_BYTES = 1 << 20
_NUM_STREAMS = 3


class CommandServer:
    """Runs `heedful` in forks of one process."""

    def __init__(self, folder: str, environment: dict[str, str]) -> None:
        self._address = f"{folder}/socket"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._address)
        listener.listen(64)
        command = [sys.executable, "-m", __name__, str(listener.fileno())]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, cwd=root, env=environment, pass_fds=[listener.fileno()])
        listener.close()

    def run(
        self, arguments: list[str], *, stdin: bytes, cwd: Path | None, environment: dict[str, str], timeout: float
    ) -> "subprocess.CompletedProcess[bytes]":
        """Do what subprocess.run would."""
        asked = json.dumps({"arguments": arguments, "cwd": str(cwd or Path.cwd()), "environment": environment}).encode()
        assert len(asked) < _MOST_BYTES
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        ours_err, theirs_err = os.pipe()
        with socket.socket(socket.AF_UNIX) as connection, ThreadPoolExecutor(3) as readers:
            connection.connect(self._address)
            socket.send_fds(connection, [len(asked).to_bytes(4, "big")], [theirs_in, theirs_out, theirs_err])
            connection.sendall(asked)
            for descriptor in (theirs_in, theirs_out, theirs_err):
                os.close(descriptor)
            readers.submit(_write, ours_in, stdin)
            output, errors = (readers.submit(_read, descriptor) for descriptor in (ours_out, ours_err))
            pid = int.from_bytes(_exactly(connection, 4), "big")
            clock = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
            clock.start()
            code = int.from_bytes(_exactly(connection, 4), "big", signed=True)
            clock.cancel()
            return subprocess.CompletedProcess(["heedful", *arguments], code, output.result(), errors.result())

    def stop(self) -> None:
        """End the process; commands that still run go on without it."""
        self._process.terminate()
        self._process.wait()


@contextlib.contextmanager
def command_server(environment: dict[str, str]) -> Iterator[CommandServer]:
    """Have a server for the time of a block."""
    with tempfile.TemporaryDirectory() as folder:
        server = CommandServer(folder, environment)
        try:
            yield server
        finally:
            server.stop()


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as stream:
        stream.write(data)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as stream:
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
        if not module.name.startswith(_GPU_ONLY) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _become_a_command(listener: socket.socket) -> list[str]:
    """Wait for commands; return the arguments of one, in a process of its own that has its streams."""
    while True:
        connection, _ = listener.accept()
        if os.fork():  # this one waits for the next command
            connection.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        header, descriptors, _, _ = socket.recv_fds(connection, 4, _NUM_STREAMS)
        asked = json.loads(_exactly(connection, int.from_bytes(header, "big")))
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
    waiting = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system takes note of ended processes, nobody else asks
    _import_all()
    gc.collect()
    gc.freeze()  # no fork looks through what was there before it, neither at work nor at its end
    sys.argv = ["heedful", *_become_a_command(waiting)]
    _run()
