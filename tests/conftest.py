"""What holds for every test: one thread a process, no clock in the properties, GPU tests only where there is a GPU.

And the real command, as a process.
"""

import os

# Before torch is imported: the suite runs in several processes, and commands started by a test inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import signal
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from tests.support.command_server import command_server
from tests.support.commands import Command, environment_of

# A property may take as long as it takes on a busy machine; what it draws is the same in every run of one version.
hypothesis.settings.register_profile("heedful", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("heedful")


# A run in the background of a shell ignores Ctrl-C, and so would every command that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `gpu` on a machine without one; torch is imported only when such a test was collected."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(scope="session")
def heedful() -> Command:
    """The command as a process of its own, forked from one that has torch already."""

    def run(
        *arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[bytes]":
        if any(name.startswith("PYTHON") for name in environment):  # read at the start, which a fork has behind it
            command, settled = [sys.executable, "-m", "heedful", *map(str, arguments)], environment_of(**environment)
            return subprocess.run(
                command, input=stdin, capture_output=True, cwd=cwd, env=settled, timeout=300, check=False
            )
        return command_server().run(*arguments, stdin=stdin, cwd=cwd, **environment)

    return run
