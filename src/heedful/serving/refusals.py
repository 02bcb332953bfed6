"""How a failure is told to a client: a status, one sentence as `{"error": …}`, and when to come again.

What is not a sentence of ours stays in the log: no answer has a traceback, a path, or the text that was sent.
"""

import json
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from heedful.errors import UserError
from heedful.serving.bodies import BadRequestError
from heedful.serving.request_queue import RefusedError

_NOT_FOUND = {404: "There is nothing at this address.", 405: "This address does not take that method."}


class UnauthorizedError(BadRequestError):
    """The key is missing or wrong."""


@dataclass(frozen=True)
class Refusal:
    """An answer that is not the one asked for."""

    status: int
    body: bytes
    headers: dict[str, str]


def describe(failure: Exception) -> Refusal:
    """Return what the client is told about a failure."""
    if isinstance(failure, RefusedError):
        # 429: others ask too much; 503: this server cannot, whoever asks.
        status = 429 if failure.reason == "full" else 503
        return refuse(status, str(failure), {"retry-after": str(failure.retry_after)})
    if isinstance(failure, UnauthorizedError):
        # A browser asks its user for a name and a password; the key is the password.
        return refuse(401, str(failure), {"www-authenticate": 'Basic realm="heedful"'})
    if isinstance(failure, BadRequestError):
        return refuse(failure.status, str(failure))
    if isinstance(failure, UserError):
        return refuse(400, str(failure))
    if isinstance(failure, HTTPException) and failure.status_code in _NOT_FOUND:
        return refuse(failure.status_code, _NOT_FOUND[failure.status_code], dict(failure.headers or {}))
    return refuse(500, "Something went wrong in the server. Its log has the details.")


def refuse(status: int, sentence: str, headers: dict[str, str] | None = None) -> Refusal:
    """Make a refusal of a sentence."""
    body = json.dumps({"error": sentence}).encode()
    more = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    return Refusal(status, body, more)
