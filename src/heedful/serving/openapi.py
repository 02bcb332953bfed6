"""The routes in the words of OpenAPI, which the page at /docs draws: made of the schemas that requests are checked by.

Knows what a route takes and gives; nothing of how it does it.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from heedful import __version__
from heedful.serving.answers import Failure, WithFile
from heedful.serving.bodies import FORM, JSON, MULTIPART

EVENTS = "text/event-stream"
TEXT = "text/plain"
BINARY = "application/octet-stream"
_IN_THE_QUERY = "Fields may also come in the query of the address: all of them without a body, or some beside a form."
_FAILURES = {
    400: "Something in the request must be mended; the sentence says what.",
    401: "The API key is missing or wrong.",
    403: "A wrong `api_key`; asked under another name, or by a page of another origin; or not done by this server.",
    404: "There is nothing of that name.",
    413: "Too much in one request.",
    415: "A body that is neither JSON nor a form, or that is compressed.",
    429: "Too many requests are waiting; `Retry-After` says when to come again.",
    503: "The answer would come too late, or the server is ending; `Retry-After` says when to come again.",
}


@dataclass(frozen=True)
class Description:
    """One route: what it takes, what it gives, and who does it."""

    method: Literal["GET", "POST"]
    path: str
    answer: Callable[..., Awaitable[Response]]
    """Its first paragraph says in a sentence what the route is for."""

    takes: type[BaseModel] | None = None
    """Of a POST the body, of a GET the query."""

    gives: Any = None
    """The type of the answer, `EVENTS`, `TEXT` or `BINARY`; None is any JSON."""

    tag: str = "heedful"


def describe_routes(routes: Sequence[Description]) -> dict[str, Any]:
    """Describe all routes as openapi.json does."""
    types = [type_ for route in routes for type_ in (route.takes, route.gives) if not isinstance(type_, str | None)]
    adapters = {id(type_): TypeAdapter(type_) for type_ in [*types, Failure]}
    schemas, shared = TypeAdapter.json_schemas(
        [(key, "validation", adapter) for key, adapter in adapters.items()], ref_template="#/components/schemas/{model}"
    )

    def schema_of(type_: Any) -> dict[str, Any]:
        return {} if type_ is None else schemas[id(type_), "validation"]

    failures = {
        str(status): {"description": meaning, "content": {JSON: {"schema": schema_of(Failure)}}}
        for status, meaning in _FAILURES.items()
    }
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        about: dict[str, Any] = {
            "tags": [route.tag],
            "operationId": f"{route.answer.__name__}_{route.method.lower()}",
            "description": inspect.getdoc(route.answer),
            "responses": {"200": _success(route, schema_of), **failures},
        }
        if parameters := _parameters(route, shared.get("$defs", {})):
            about["parameters"] = parameters
        if route.method == "POST":
            is_file = route.takes is not None and issubclass(route.takes, WithFile)
            kinds = (MULTIPART,) if is_file else (JSON, FORM, MULTIPART)
            content = {kind: {"schema": schema_of(route.takes)} for kind in kinds}
            about["requestBody"] = {"required": True, "content": content}
            if not is_file:
                about["description"] += f"\n\n{_IN_THE_QUERY}"
        paths.setdefault(route.path, {})[route.method.lower()] = about
    description = "Translation by your own models. The routes outside of /api/ speak LibreTranslate's language."
    return {
        "openapi": "3.1.0",
        "info": {"title": "Heedful", "version": __version__, "description": description},
        "paths": paths,
        "components": {"schemas": shared.get("$defs", {})},
    }


def _success(route: Description, schema_of: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    if route.gives == TEXT:
        return {"description": "As text.", "content": {TEXT: {"schema": {"type": "string"}}}}
    if route.gives == BINARY:
        return {"description": "The file.", "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
    if route.gives == EVENTS:
        fields = {name: {"type": "string"} for name in ("event", "data")}
        schema = {"type": "object", "properties": fields, "required": list(fields)}
        meaning = "Server-sent events, each with a name and an object as JSON."
        return {"description": meaning, "content": {EVENTS: {"schema": schema}}}
    return {"description": "What was asked for.", "content": {JSON: {"schema": schema_of(route.gives)}}}


def _parameters(route: Description, shared: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the parts of the path and the fields of the query."""
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.method == "GET" and route.takes is not None:
        query = shared[route.takes.__name__]
        for name, field in query["properties"].items():
            required = name in query.get("required", ())
            found.append({"name": name, "in": "query", "required": required, "schema": field})
    return found
