"""Asking a server that runs: the status, the content, the headers, also of a refusal."""

import json
import urllib.error
import urllib.request
from typing import Any

from benchmarks.load import ServerProcess


def get(server: ServerProcess, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes, dict[str, str]]:
    return exchange(urllib.request.Request(server.url + path, headers=headers or {}))


def post(server: ServerProcess, path: str, content: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    request = urllib.request.Request(
        server.url + path, json.dumps(content).encode(), {"Content-Type": "application/json", **(headers or {})}
    )
    status, body, _ = exchange(request)
    return status, json.loads(body)


def exchange(request: urllib.request.Request) -> tuple[int, bytes, dict[str, str]]:
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read(), {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as failure:
        return failure.code, failure.read(), {name.lower(): value for name, value in failure.headers.items()}
