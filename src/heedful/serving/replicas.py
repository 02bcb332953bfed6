"""Several processes that serve one port: a supervisor that starts them, replaces those that die, and renews them.

All of them accept from one listening socket, which the supervisor has taken: one that is killed loses what it was
answering and nothing else. SIGHUP renews them one after the other, a new one answering before an old one leaves;
SIGTERM and SIGINT let all of them finish, a second one ends them at once. The supervisor computes nothing; its
processes are forked from it before any model is loaded, and end when it does.
"""

import ctypes
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client.multiprocess import mark_process_dead

from heedful.errors import HeedfulError
from heedful.serving.measures import FOLDER
from heedful.serving.process import Settings, listen, name_of, serve_at

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl
_MOST_FAILURES = 3
"""Processes in a row that end before they answer: what hinders them will not go away."""

_SECONDS_BETWEEN_LOOKS = 0.2
Say = Callable[[str], None]


def serve_replicas(settings: Settings, count: int, say: Say) -> None:
    """Serve with several processes until a signal ends them."""
    listener = listen(settings.host, settings.port)
    listener.set_inheritable(True)
    supervisor = _Supervisor(settings, count, listener, say)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        ended_by = supervisor.run()
    finally:
        supervisor.end_at_once()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        shutil.rmtree(os.environ.get(FOLDER, ""), ignore_errors=True)
    signal.raise_signal(ended_by)  # as one process alone would end


@dataclass
class _Replica:
    """One process, and the pipe by which it says that it answers."""

    pid: int
    told: int
    is_ready: bool = False
    is_leaving: bool = False


class _Supervisor:
    def __init__(self, settings: Settings, count: int, listener: socket.socket, say: Say) -> None:
        self._settings, self._count, self._listener, self._say = settings, count, listener, say
        self._replicas: dict[int, _Replica] = {}
        self._old: list[int] = []
        """Processes that are to be replaced by new ones."""

        self._num_failures = 0
        self._has_begun = False

    def run(self) -> int:
        """Look after the processes; return the signal that ended them."""
        ended_by = 0
        while not ended_by or self._replicas:
            if not ended_by:
                self._fill_up()
            received = signal.sigtimedwait(_SIGNALS, _SECONDS_BETWEEN_LOOKS)
            match received.si_signo if received else 0:
                case signal.SIGTERM | signal.SIGINT:
                    assert received is not None
                    ended_by = ended_by or received.si_signo
                    for replica in self._replicas.values():
                        self._let_leave(replica)
                case signal.SIGHUP if not ended_by:
                    self._old = [replica.pid for replica in self._replicas.values() if not replica.is_leaving]
                    self._say("Starting all processes anew, one after the other.")
            self._look(is_ending=bool(ended_by))
        return ended_by

    def end_at_once(self) -> None:
        """Leave nobody behind."""
        for replica in self._replicas.values():
            os.kill(replica.pid, signal.SIGKILL)
            os.waitpid(replica.pid, 0)
        self._replicas.clear()

    def _fill_up(self) -> None:
        staying = [replica for replica in self._replicas.values() if not replica.is_leaving]
        num_wanted = self._count + bool(self._old)
        while len(staying) < num_wanted:
            staying.append(self._start())
        if self._old and all(replica.is_ready for replica in staying):  # the new one, too: an old one may go
            oldest = self._replicas.get(self._old.pop(0))
            if oldest is not None:
                self._let_leave(oldest)

    def _let_leave(self, replica: _Replica) -> None:
        replica.is_leaving = True
        os.kill(replica.pid, signal.SIGTERM)

    def _look(self, *, is_ending: bool) -> None:
        """Note who answers now and who has ended."""
        waiting = {replica.told: replica for replica in self._replicas.values() if not replica.is_ready}
        for told in select.select(list(waiting), [], [], 0)[0]:
            if os.read(told, 1):
                waiting[told].is_ready, self._num_failures = True, 0
        for replica in list(self._replicas.values()):
            if os.waitpid(replica.pid, os.WNOHANG)[0]:
                self._forget(replica, is_ending=is_ending)
        if not self._has_begun and all(replica.is_ready for replica in self._replicas.values()) and self._replicas:
            self._has_begun = True
            host, port = name_of(self._listener)
            said = f"Serving with {self._count} processes at http://{host}:{port}/ (open it in a browser; API: /docs)."
            self._say(f"{said} Ctrl-C ends it, SIGHUP starts them anew.")

    def _forget(self, replica: _Replica, *, is_ending: bool) -> None:
        os.close(replica.told)
        del self._replicas[replica.pid]
        if FOLDER in os.environ:
            mark_process_dead(replica.pid)  # type: ignore[no-untyped-call]
        if replica.is_leaving or is_ending:
            return
        if not replica.is_ready:
            self._num_failures += 1
            if self._num_failures >= _MOST_FAILURES or not self._has_begun:
                raise HeedfulError("A process of the server must begin to answer, but ended before that. It says why.")
            time.sleep(self._num_failures)
        self._say(f"warning: process {replica.pid} of the server has ended. Another one is started.")

    def _start(self) -> _Replica:
        told, tell = os.pipe()
        is_first = not self._replicas and not self._has_begun
        pid = os.fork()
        if pid == 0:
            os.close(told)
            self._be_replica(tell, self._say if is_first else lambda _: None)
        os.close(tell)
        self._replicas[pid] = _Replica(pid, told)
        return self._replicas[pid]

    def _be_replica(self, tell: int, say: Say) -> None:
        """Serve, in a process of its own, which never returns from here."""
        os.setpgid(0, 0)  # Ctrl-C is for the supervisor, who lets everybody finish
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

        def on_ready() -> None:
            os.write(tell, b"+")

        status = 1
        try:
            serve_at(self._listener, self._settings, say, on_ready=on_ready)
            status = 0
        except HeedfulError as error:
            os.write(sys.stderr.fileno(), f"error: {error}\n".encode())
            status = error.exit_code
        finally:
            os._exit(status)
