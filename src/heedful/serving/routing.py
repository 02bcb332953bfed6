"""What routes have in common: how they are told apart, read what they are asked, are described in /docs, send events.

A route is a function from what was asked, as a schema, to an answer. Bodies are read here and not by the router, to be
as strict as they must, and beside the event loop. Knows no route and no model.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, Router

from heedful.serving.bodies import parse_query, read_request
from heedful.serving.checkpoint_models import CheckpointModels
from heedful.serving.engines import Engines
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.openapi import EVENTS, Description, describe_routes
from heedful.serving.preparation import Preparation
from heedful.serving.refusals import describe
from heedful.serving.rendering import server_sent
from heedful.serving.runs import Runs
from heedful.serving.suggestions import Suggestions
from heedful.serving.workplace import Workplace

Answer = Callable[..., Awaitable[Response]]
Add = Callable[[Answer], Answer]
Scope = MutableMapping[str, Any]


@dataclass(frozen=True)
class Server:
    """What the routes share."""

    engines: Engines
    runs: Runs
    checkpoints: CheckpointModels
    preparation: Preparation
    limits: Limits
    measures: Measures
    suggestions: Suggestions | None = None
    needs_key: bool = False


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = EVENTS


@dataclass(frozen=True)
class Api:
    """The routes of a server, and for which kind of model each has work."""

    server: Server
    routes: list[Description] = field(default_factory=list)
    work: dict[str, type[Workplace]] = field(default_factory=dict)
    """By path: routes that are refused at once when all models of the kind are busy."""

    pages: dict[str, Answer] = field(default_factory=dict)
    """By path: what is not described in /docs."""

    def post(
        self,
        path: str,
        takes: type[BaseModel],
        *,
        gives: Any = None,
        tag: str = "heedful",
        work: type[Workplace] | None = None,
    ) -> Add:
        """Add a route whose answer is a function of its body, or of its query, read as `takes`."""

        def add(answer: Answer) -> Answer:
            self.routes.append(Description("POST", path, answer, takes, gives, tag))
            if work is not None:
                self.work[path] = work
            return answer

        return add

    def get(self, path: str, takes: type[BaseModel] | None = None, *, gives: Any = None, tag: str = "heedful") -> Add:
        """Add a route whose answer is a function of its query, where it takes one, and of the parts of its path."""

        def add(answer: Answer) -> Answer:
            self.routes.append(Description("GET", path, answer, takes, gives, tag))
            return answer

        return add

    @property
    def paths(self) -> frozenset[str]:
        """The addresses of all routes."""
        return frozenset(route.path for route in self.routes)

    def router(self) -> Callable[[Scope, Any, Any], Awaitable[None]]:
        """Make what finds the route of a request; what there is not, and every failure of a route, it raises."""
        described = JSONResponse(describe_routes(self.routes))

        async def openapi(_: Request) -> Response:
            return described

        pages = {"/openapi.json": openapi, "/spec": openapi, **self.pages}  # the second is LibreTranslate's name for it
        routes = [_route(path, answer, "GET") for path, answer in pages.items()]
        routes += [_route(route.path, self._endpoint(route), route.method) for route in self.routes]
        router = Router(routes, default=_find_nothing)

        async def run(scope: Scope, receive: Any, send: Any) -> None:
            scope["app"] = router  # where there is none, the router answers for itself, in its own words
            await router(scope, receive, send)

        return run

    def _endpoint(self, route: Description) -> Answer:
        """Make of a route what answers requests."""

        async def answer(request: Request) -> Response:
            asked = [] if route.takes is None else [await self._read(route, route.takes, request)]
            return await route.answer(*asked, **request.path_params)

        return answer

    async def _read(self, route: Description, schema: type[BaseModel], request: Request) -> BaseModel:
        if route.method == "GET":
            return parse_query(schema, dict(request.query_params))
        body, kind = await request.body(), request.headers.get("content-type", "")
        query: bytes = request.scope["query_string"]
        limit = self.server.limits.max_characters
        return await self.server.preparation.read(
            lambda: read_request(schema, body, kind, query, max_characters=limit), len(body) + len(query)
        )


def _route(path: str, answer: Answer, method: str) -> Route:
    route = Route(path, answer, methods=[method])
    route.methods = {method}  # the router would answer HEAD as well, also where a GET never ends
    return route


async def _find_nothing(*_: Any) -> None:
    raise HTTPException(404)


async def ending_with_error(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass events on; a failure in the middle is the last one."""
    try:
        async for event in events:
            yield event
    except Exception as failure:
        yield server_sent("error", json.loads(describe(failure).body))
