"""The routes of runs: which there are, their journals, and their journals as they are written.

Files are read off the event loop. A client that follows a run costs a look at its files twice a second, so there is a
bound on how many do.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from starlette.responses import JSONResponse, Response

from heedful.serving.openapi import EVENTS
from heedful.serving.rendering import server_sent
from heedful.serving.request_queue import RefusedError
from heedful.serving.routing import Api, EventStream, Server, ending_with_error
from heedful.serving.runs import JournalReader
from heedful.serving.trace_requests import JournalQuery, RunFacts

_PAUSE = 0.5  # seconds between two looks
_SIGN_OF_LIFE = 15.0  # seconds after which a comment is sent, which finds out about clients that are gone


def add_runs(api: Api) -> None:
    """Add the routes of runs."""
    server = api.server
    listeners = Listeners(server.limits.max_listeners)

    @api.get("/api/runs", gives=list[RunFacts], tag="runs")
    async def runs() -> Response:
        """List the runs that can be watched: of models, of the folder of runs, and the example."""
        found = await asyncio.to_thread(lambda: [run.facts() for run in server.runs.all()])
        return JSONResponse(found)

    @api.get("/api/runs/{run_id}/journal", JournalQuery, tag="runs")
    async def journal(asked: JournalQuery, run_id: str) -> Response:
        """Give the journal of a run from some line on, at most 5,000 lines at once; `next` says where to go on."""
        reader = await _reader(server, run_id, asked)
        return JSONResponse(await asyncio.to_thread(reader.read))

    @api.get("/api/runs/{run_id}/events", JournalQuery, gives=EVENTS, tag="runs")
    async def events(asked: JournalQuery, run_id: str) -> Response:
        """Give the journal of a run, and then what is added to it, as server-sent events named `journal`."""
        reader = await _reader(server, run_id, asked)
        listeners.check_room()
        return EventStream(ending_with_error(_follow(server, reader, listeners)))


class Listeners:
    """Counts those who follow a run."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0

    def check_room(self) -> None:
        """Raise `RefusedError` when there are as many as may be."""
        if self._count >= self._limit:
            raise RefusedError("full", "Too many clients follow runs at the moment. Try again in 5 s.", 5)

    def __enter__(self) -> None:
        self.check_room()
        self._count += 1

    def __exit__(self, *_: object) -> None:
        self._count -= 1


async def _reader(server: Server, run_id: str, query: JournalQuery) -> JournalReader:
    run = await asyncio.to_thread(server.runs.find, run_id)
    return JournalReader(run, query.after, query.after_samples, server.limits)


async def _follow(server: Server, reader: JournalReader, listeners: Listeners) -> AsyncIterator[bytes]:
    """Tell what is new until the server ends; a client that goes away cancels it."""
    with listeners:
        told = time.monotonic()
        while not server.engines.is_draining:
            news = await asyncio.to_thread(reader.read_news)
            if news is not None:
                yield server_sent("journal", news)
            elif time.monotonic() - told < _SIGN_OF_LIFE:
                await asyncio.sleep(_PAUSE)
                continue
            else:
                yield b": still here\n\n"
            told = time.monotonic()
