"""Translated files until they are fetched: in memory, for a while, within bounds, under names nobody can guess.

Nothing is written to disk. When room is short the oldest goes first: of the client that asks, where it has its share
already, else of all. Knows bytes; it knows no HTTP.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from heedful.serving.limits import Limits

_SHARES = 4
"""A client has at most one of so many equal parts of the room."""


@dataclass(frozen=True)
class KeptFile:
    """A file that waits to be fetched."""

    name: str
    """What the client calls it."""

    media_type: str
    content: bytes
    client: str = ""
    expires: float = 0.0


class KeptFiles:
    """Files by their secret names."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._files: dict[str, KeptFile] = {}

    def keep(self, name: str, media_type: str, content: bytes, client: str, suffix: str) -> str:
        """Keep a file; return the secret name by which it can be fetched, which ends in `suffix`."""
        room = self._limits.max_kept_bytes
        self._make_room(room // _SHARES - len(content), client)
        self._make_room(room - len(content), None)
        secret = secrets.token_urlsafe(24) + suffix
        self._files[secret] = KeptFile(name, media_type, content, client, self._clock() + self._limits.kept_seconds)
        return secret

    def find(self, secret: str) -> KeptFile | None:
        """Return a file that is still kept."""
        self._forget_expired()
        return self._files.get(secret)

    def _make_room(self, most: int, client: str | None) -> None:
        """Forget the oldest files, of a client or of all, until the others have at most so many bytes."""
        self._forget_expired()
        own = [secret for secret, file in self._files.items() if client is None or file.client == client]
        total = sum(len(self._files[secret].content) for secret in own)
        for secret in own:
            if total <= most:
                return
            total -= len(self._files.pop(secret).content)

    def _forget_expired(self) -> None:
        now = self._clock()
        for secret in [secret for secret, file in self._files.items() if file.expires <= now]:
            del self._files[secret]
