"""`heedful serve` as a fork: a tenth of the processor time of a server that has torch still to load."""

import subprocess
from typing import cast

from benchmarks.load import ServerProcess

from tests.support.command_server import command_server


class ForkedServer(ServerProcess):
    """A server like any other, but for its start; a test about that takes `ServerProcess`."""

    def _start(self) -> "subprocess.Popen[bytes]":
        command = command_server().start(*self._arguments, **self._environment)
        return cast("subprocess.Popen[bytes]", command)  # what is used of it is there
