"""What routes have in common: how they read what they are asked, say so in /docs, and send events.

Routes read bodies and queries themselves, to be as strict as they must. Knows no route and no model.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from heedful.serving.bodies import FORM, JSON, parse_body, parse_query
from heedful.serving.checkpoint_models import CheckpointModels
from heedful.serving.engines import Engines
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.preparation import Preparation
from heedful.serving.refusals import describe
from heedful.serving.rendering import server_sent
from heedful.serving.runs import Runs

Schema = TypeVar("Schema", bound=BaseModel)

EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events, each with a name and an object as JSON.",
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
                    "required": ["event", "data"],
                }
            }
        },
    }
}
"""What a route that sends events gives, for /docs."""


@dataclass(frozen=True)
class Server:
    """What the routes share."""

    engines: Engines
    runs: Runs
    checkpoints: CheckpointModels
    preparation: Preparation
    limits: Limits
    measures: Measures


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


async def body_of(schema: type[Schema], request: Request, server: Server) -> Schema:
    """Read the body of a request as `schema`."""
    body = await request.body()
    return await server.preparation.read(
        lambda: parse_body(schema, body, request.headers.get("content-type", "")), len(body)
    )


def query_of(schema: type[Schema], request: Request) -> Schema:
    """Read the query of a request as `schema`."""
    return parse_query(schema, dict(request.query_params))


def takes(schema: type[BaseModel]) -> dict[str, Any]:
    """Describe a body for /docs."""
    content = {kind: {"schema": schema.model_json_schema()} for kind in (JSON, FORM)}
    return {"requestBody": {"required": True, "content": content}}


def asks(schema: type[BaseModel]) -> dict[str, Any]:
    """Describe a query for /docs."""
    described = schema.model_json_schema()
    return {
        "parameters": [
            {"name": name, "in": "query", "required": name in described.get("required", ()), "schema": field}
            for name, field in described["properties"].items()
        ]
    }


async def ending_with_error(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass events on; a failure in the middle is the last one."""
    try:
        async for event in events:
            yield event
    except Exception as failure:
        yield server_sent("error", json.loads(describe(failure).body))
