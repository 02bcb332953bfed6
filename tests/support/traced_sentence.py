"""The sentence that tests of the views look into, and what the server says about it when no page is between."""

import json
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.load import ServerProcess

SENTENCE = "Where is the nearest station, please?"


def asked(server: ServerProcess, **fields: object) -> dict[str, Any]:
    """Ask for a trace of the sentence, or of what `fields` say instead."""
    body = json.dumps({"q": SENTENCE, "source": "auto", "target": "de", **fields}).encode()
    request = Request(f"{server.url}/api/trace", body, {"content-type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        payload: dict[str, Any] = json.load(answer)
    return payload


def layers_of(payload: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The packed layers of the attention of that name."""
    (layers,) = (use["layers"] for use in payload["attention"] if use["name"] == name)
    found: list[dict[str, Any]] = layers
    return found
