"""A publisher's web server for tests of downloads: real sockets on this machine, and every fault a server can have.

A `File` says what is served under a path and how: with or without Range, cut off after some bytes, after some other
answers first. Every request is kept for the test to look at.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class File:
    content: bytes
    etag: str | None = '"1"'
    supports_range: bool = True
    ignores_if_range: bool = False
    says_length: bool = True
    cut_after: list[int] = field(default_factory=list)  # bytes sent before the connection is cut, one an answer
    first_answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)  # status and headers


@dataclass
class Publisher:
    url: str
    files: dict[str, File] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def ranges(self) -> list[str | None]:
        """What the requests asked for, in order."""
        return [headers.get("Range") for _, headers in self.requests]


@contextmanager
def publishing(files: dict[str, File] | None = None) -> Iterator[Publisher]:
    """Serve the files until the end of the block; a path is as it stands after the server's address and a slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    publisher = Publisher(f"http://127.0.0.1:{server.server_port}", files or {})
    server.publisher = publisher  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield publisher
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        publisher: Publisher = self.server.publisher  # type: ignore[attr-defined]
        publisher.requests.append((self.path, dict(self.headers)))
        file = publisher.files.get(self.path.lstrip("/"))
        if file is None:
            self.send_error(404)
        elif file.first_answers:
            status, headers = file.first_answers.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
        else:
            self._send(file)

    def _send(self, file: File) -> None:
        size = len(file.content)
        start = self._start(file)
        if start is not None and start >= size:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{size}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200 if start is None else 206)
        body = file.content[start or 0 :]
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        if file.says_length:
            self.send_header("Content-Length", str(len(body)))
        if file.etag is not None:
            self.send_header("ETag", file.etag)
        self.end_headers()
        self.wfile.write(body[: file.cut_after.pop(0)] if file.cut_after else body)
        self.close_connection = True

    def _start(self, file: File) -> int | None:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        if asked is None or not file.supports_range:
            return None
        if condition not in (None, file.etag) and not file.ignores_if_range:
            return None
        return int(asked[1])

    def log_message(self, *arguments: object) -> None:
        """Say nothing: the test looks at the requests."""
