"""The sentence that tests of the views look into, and what the server says about it when no page is between."""

import json
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.load import ServerProcess

SENTENCE = "Where is the nearest station, please?"


def asked(server: ServerProcess, **fields: Any) -> dict[str, Any]:
    """Ask for a trace of the sentence, or of what `fields` say instead."""
    return answer(server, "/api/trace", {"q": SENTENCE, "source": "auto", "target": "de", **fields})


def asked_about(server: ServerProcess, trace: dict[str, Any], name: str, **fields: object) -> dict[str, Any]:
    """Ask for something that can be known about a trace beside itself."""
    return answer(server, f"/api/trace/{name}", {**named(trace), **fields})


def named(trace: dict[str, Any]) -> dict[str, Any]:
    """By what the server knows a trace that it has made."""
    return {
        "q": trace["source"]["text"],
        "target": trace["target"]["language"],
        "targetIds": [token["id"] for token in trace["target"]["tokens"]],
        "model": trace["model"],
    }


def answer(server: ServerProcess, path: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Post `fields` to a path of the server, and return what it says."""
    request = Request(server.url + path, json.dumps(fields).encode(), {"content-type": "application/json"})
    with urlopen(request, timeout=60) as reply:
        payload: dict[str, Any] = json.load(reply)
    return payload


def layers_of(payload: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The packed layers of the attention of that name."""
    (layers,) = (use["layers"] for use in payload["attention"] if use["name"] == name)
    found: list[dict[str, Any]] = layers
    return found
