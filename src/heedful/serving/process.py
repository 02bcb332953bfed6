"""The server as a process: load the models, take the port, answer until told to end, finish what was admitted.

A first signal lets the server drain: it still answers, but admits nothing more, and ends when the last admitted request
is answered. A second signal ends it at once. Knows uvicorn; routes and models are made elsewhere.
"""

import asyncio
import errno
import gc
import ipaddress
import logging
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from heedful.errors import HeedfulError, UserError
from heedful.serving.admission import make_admission
from heedful.serving.app import make_api, make_app
from heedful.serving.checkpoint_models import CheckpointModels
from heedful.serving.connections import protocol_with
from heedful.serving.engines import Engines, load_engines
from heedful.serving.guard import Access
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.preparation import Preparation
from heedful.serving.routing import Server
from heedful.serving.runs import Runs
from heedful.serving.suggestions import Suggestions
from heedful.tasks.device import choose_device

_BACKLOG = 1024
_ACCEPTED_AT_ONCE = 32
_SECONDS_BETWEEN_COMPLAINTS = 60.0
_BEHIND = 5
_ROUNDS_BETWEEN_FULL_COLLECTIONS = 250  # garbage of 30 MB at most: some 3 KB of each request that had to wait

_log = logging.getLogger("heedful.serving")


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    models: Sequence[Path] = ()
    """Model folders; none means the bundled models."""

    host: str = "127.0.0.1"
    port: int = 8000
    access: Access = field(default_factory=Access)
    device: str | None = None
    quantize: str = "auto"
    limits: Limits = field(default_factory=Limits)
    runs: Path | None = None
    """A folder whose run folders can be watched."""

    suggestions: Path | None = None
    """Where what clients suggest is kept; None keeps nothing."""

    fast: bool = False
    """Whether translators guess ahead."""


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it."""
    listener = listen(settings.host, settings.port)  # before the models, so that a taken port is known at once
    serve_at(listener, settings, say)


def serve_at(
    listener: socket.socket,
    settings: Settings,
    say: Callable[[str], None],
    *,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Serve at a port that was taken already; with `on_ready`, which is called then, others listen there as well."""
    limit = settings.limits.max_suggestions_bytes
    suggestions = None if settings.suggestions is None else Suggestions(settings.suggestions, limit)
    measures = Measures()
    runs = Runs(settings.models, settings.runs, settings.limits)
    checkpoints = CheckpointModels(settings.limits, measures.of_model("checkpoints"), choose_device(settings.device))
    preparation = Preparation(settings.limits, measures.of_model("preparation"))
    engines = load_engines(
        settings.models,
        settings.limits,
        measures.of_model,
        device=settings.device,
        quantize=settings.quantize,
        fast=settings.fast,
        say=say,
        beside=[checkpoints, preparation],
    )
    name, port = name_of(listener)
    host = name.strip("[]")
    if not ipaddress.ip_address(host).is_loopback and settings.access.api_key is None:
        say(f"warning: everybody who reaches {name}:{port} can use this server. Ask for a key with --api-key.")
    needs_key = settings.access.api_key is not None
    api = make_api(Server(engines, runs, checkpoints, preparation, settings.limits, measures, suggestions, needs_key))
    config = uvicorn.Config(
        make_app(api, settings.access),
        http=protocol_with(settings.limits, make_admission(engines, api.work, measures)),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=settings.limits.keep_alive_seconds,
        timeout_graceful_shutdown=5,
        backlog=_ACCEPTED_AT_ONCE,
    )
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    # Python hands over between threads every 5 ms by default; a refusal takes several turns and is to be quick.
    sys.setswitchinterval(0.0002)
    _yield_to_this_thread()
    # What is loaded by now stays: looking through all of it again for garbage would stop everybody for 300 ms. So would
    # looking through a full queue, for 70 ms: it is done once a minute of full load, not every other second.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _ROUNDS_BETWEEN_FULL_COLLECTIONS)
    address = f"http://{name}:{port}/"
    said = f"Serving {', '.join(engines.ids)} at {address} (open it in a browser; API: /docs). Ctrl-C ends it."
    server = _DrainingServer(config, engines, settings.limits, on_ready or partial(say, said))
    server.is_among_others = on_ready is not None
    server.run(sockets=[listener])


def name_of(listener: socket.socket) -> tuple[str, int]:
    """Return host and port as they stand in an address."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]" if ":" in host else host, port


def _yield_to_this_thread() -> None:
    """Let the threads that compute go behind this one, which answers: a refusal must not wait for a translation."""
    if sys.platform == "linux":
        for thread in Path("/proc/self/task").iterdir():
            if int(thread.name) != threading.get_native_id():
                os.setpriority(os.PRIO_PROCESS, int(thread.name), min(os.nice(0) + _BEHIND, 19))


class _DrainingServer(uvicorn.Server):
    """Uvicorn's server, which goes on listening while it drains: who comes then is told to come again.

    One that `is_among_others` leaves the port to them instead, and parts from clients that ask nothing at the moment.
    """

    is_among_others = False

    def __init__(self, config: uvicorn.Config, engines: Engines, limits: Limits, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._engines = engines
        self._limits = limits
        self._on_ready = on_ready
        self._drain_until: float | None = None
        self._complained = -math.inf

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and only then say so: who reads it may connect, or send a signal, at once."""
        await super().startup(sockets)
        # asyncio accepts as many at once as may wait to be accepted: too many before the first of them is counted.
        for listener in sockets or ():
            listener.listen(_BACKLOG)
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._tell_of_failure)
        self._on_ready()

    def _tell_of_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what failed in the event loop; that no more files can be opened, not at each of many tries."""
        failure = context.get("exception")
        if not isinstance(failure, OSError) or failure.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif time.monotonic() - self._complained >= _SECONDS_BETWEEN_COMPLAINTS:
            self._complained = time.monotonic()
            _log.warning("too many files are open, and connections have to wait: raise the limit with ulimit -n")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signals call it
        """Begin to drain, or, told a second time, end at once."""
        if self._drain_until is None:
            self._drain_until = time.monotonic() + self._limits.drain_seconds
            if self.is_among_others:
                self._loop.call_soon_threadsafe(self._leave_to_others)
            else:
                self._engines.drain()
            self._captured_signals.append(sig)
        else:
            self._drain_until = 0.0
            self.force_exit = True

    def _leave_to_others(self) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()  # at once where nothing is asked, else after the answer

    async def on_tick(self, counter: int) -> bool:
        """Say whether the server may end now."""
        if self._drain_until is not None:
            is_idle = not self.server_state.connections if self.is_among_others else self._engines.is_idle
            self.should_exit = is_idle or time.monotonic() >= self._drain_until
        return await super().on_tick(counter)


def listen(host: str, port: int) -> socket.socket:
    """Take a port."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except socket.gaierror:
        raise UserError(f"`--host` must be an address of this machine, but is {host}.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UserError(f"Port {port} of {host} is taken. Choose another with --port; 0 takes any.") from None
        raise HeedfulError(f"The server cannot listen at {host}:{port}: {error.strerror}.") from None
    return listener
