"""One file over HTTP: whole under its name, or not there at all.

What has arrived is kept in `NAME.part`, and `NAME.json` beside it says which version of the file it belongs to. A
later try asks for the rest only, under the condition (If-Range) that the server still has that version; a server
that cannot resume, or has a newer version, sends the whole file and the download begins again. A passing failure is
tried again, each time after a longer wait, for as long as it takes while bytes still arrive.
This file knows URLs and bytes. What is in a file, and whether it is the right one, is for others to say.
"""

import http.client
import json
import math
import os
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Protocol

from heedful import __version__
from heedful.errors import HeedfulError
from heedful.files import write_atomic, writing

# Some publishers turn away whatever does not introduce itself like a browser.
USER_AGENT = f"Mozilla/5.0 (compatible; heedful/{__version__})"

NO_ROOM = "Free some space or choose another `--out`, then run the same command again: what has arrived is kept."
"""What to do when a download cannot be written."""

_AUTHORIZATION = "Authorization"
_BLOCK = 1 << 16
_LONGEST_WAIT = 60.0
_PASSING_STATUSES = {408, 425, 429, 500, 502, 503, 504}
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Listener(Protocol):
    """Hears how a download goes on."""

    def begin(self, name: str, done: int, total: int | None) -> None:
        """Hear that a file of `total` bytes (None: unknown) is coming, `done` of which are here."""

    def advance(self, done: int) -> None:
        """Hear how many bytes of it are here now."""

    def say(self, sentence: str) -> None:
        """Hear what a person should know."""


@dataclass(frozen=True)
class BackOff:
    """Retry with exponential back-off: how often what may pass is tried again; each wait is twice the one before."""

    num_retries: int = 5
    first_wait: float = 1.0
    timeout: float = 30.0


@dataclass(frozen=True)
class Version:
    """Which version of a file this is: `validator` is the server's ETag or date, None when it gives neither."""

    url: str
    validator: str | None
    num_bytes: int | None


class RefusedError(HeedfulError):
    """The server answers, and will go on answering, that there is no such file for us."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _PassingFailureError(Exception):
    """Another try may succeed; `wait` is what the server asked for."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def download(
    url: str, path: Path, *, max_bytes: int, listener: Listener, back_off: BackOff, token: str | None = None
) -> Version:
    """Fetch `url` to `path`, going on where an earlier try has stopped; a file that is there is not fetched again.

    A `token` is shown to the server of `url` and to no other, wherever that one redirects to.
    """
    partial = _Partial(path)
    if path.exists() and (version := partial.version()) is not None:
        return version
    furthest, num_failures = partial.num_bytes(), 0
    while True:
        try:
            _transfer(_request(url, token), partial, max_bytes, listener, back_off.timeout)
            return partial.finish()
        except _PassingFailureError as failure:
            # While every try brings the file further, there is no reason to lose patience.
            num_failures = 1 if partial.num_bytes() > furthest else num_failures + 1
            furthest = max(furthest, partial.num_bytes())
            if num_failures > back_off.num_retries:
                raise HeedfulError(
                    f"{url} could not be fetched: {failure}. What has arrived is kept. Look at the connection, then "
                    "run the same command again: it goes on from there."
                ) from failure.__cause__
            wait = min(max(failure.wait, back_off.first_wait * 2 ** (num_failures - 1)), _LONGEST_WAIT)
            listener.say(f"{path.name}: {failure}. Trying again in {math.ceil(wait)} s.")
            time.sleep(wait)


class _Partial:
    """The part of a file that has arrived, and the version it is a part of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._note = path.with_name(path.name + ".json")

    def num_bytes(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def version(self) -> Version | None:
        """Return what the part belongs to, or None when nobody can tell any more."""
        try:
            fields = json.loads(self._note.read_bytes())
            return Version(fields["url"], fields["validator"], fields["num_bytes"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def resumable(self, url: str) -> Version | None:
        """Return the version whose rest can be asked for at `url`, or None when there is nothing to go on from.

        Without a validator nobody could tell whether the rest belongs to this beginning.
        """
        version = self.version()
        if version is None or version.url != url or version.validator is None or not self.num_bytes():
            return None
        return version

    def begin(self, version: Version) -> None:
        """Drop what is here: a part of `version` is to come."""
        with writing(self.path, remedy=NO_ROOM):
            self._part.write_bytes(b"")
            write_atomic(self._note, json.dumps(asdict(version)).encode())

    def discard(self) -> None:
        with suppress(OSError):
            self._part.unlink()

    def append(self, blocks: Iterator[bytes]) -> None:
        with writing(self.path, remedy=NO_ROOM), self._part.open("ab", buffering=0) as stream:
            for block in blocks:
                rest = memoryview(block)
                while rest:
                    rest = rest[stream.write(rest) :]

    def finish(self) -> Version:
        version = self.version()
        if version is None:
            raise HeedfulError(f"{self._note} was removed while the file was fetched. Run the same command again.")
        with writing(self.path, remedy=NO_ROOM), self._part.open("rb+") as stream:
            os.fsync(stream.fileno())
            self._part.replace(self.path)
        return version


def _request(url: str, token: str | None) -> urllib.request.Request:
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - _web() opens nothing but HTTP
    if token is not None:
        request.add_unredirected_header(_AUTHORIZATION, f"Bearer {token}")
    return request


def _transfer(
    request: urllib.request.Request, partial: _Partial, max_bytes: int, listener: Listener, timeout: float
) -> None:
    """Bring the partial file to its end in one request, or raise _PassingFailureError."""
    url = request.full_url
    known = partial.resumable(url)
    start = 0 if known is None else partial.num_bytes()
    if known is not None and start == known.num_bytes:
        return  # it was whole already; only its name was missing
    if known is not None:
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", str(known.validator))
    with _answer(request, partial, timeout) as response:
        if known is not None and response.status == 206:
            _check_continuation(response, partial, start, known)
            version = known
        else:
            version, start = Version(url, _validator(response), _length(response)), 0
            if known is not None:
                changed = version.validator not in (None, known.validator)
                reason = "the file has changed at the server" if changed else "the server cannot resume"
                listener.say(f"{partial.path.name}: {reason}, so the download begins again.")
            _refuse_if_larger(version.num_bytes or 0, max_bytes, url, partial)
            partial.begin(version)
        listener.begin(partial.path.name, start, version.num_bytes)
        partial.append(_blocks(response, start, version, max_bytes, partial, listener))


class _Redirections(urllib.request.HTTPRedirectHandler):
    """Follows redirections; a token goes along to the server it was meant for, never to another."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the request for the new address."""
        further = super().redirect_request(req, fp, code, msg, headers, newurl)
        token = req.unredirected_hdrs.get(_AUTHORIZATION)
        if further is not None and token is not None and _origin(further.full_url) == _origin(req.full_url):
            further.add_unredirected_header(_AUTHORIZATION, token)
        return further


def _origin(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _web() -> urllib.request.OpenerDirector:
    """Return what opens HTTP and nothing else, also after a redirection: no file of this machine, no FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        _Redirections(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


@contextmanager
def _answer(request: urllib.request.Request, partial: _Partial, timeout: float) -> Iterator[http.client.HTTPResponse]:
    """Send a request and hand out the answer if it is one with a file; every other answer is a sentence."""
    url = request.full_url
    try:
        response = _web().open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        status = f"the server answers {error.code} {error.reason}".rstrip()
        error.close()
        if error.code == 416:
            partial.discard()
            raise _PassingFailureError("the server's file is shorter than what is here, so it has changed") from error
        if error.code in _PASSING_STATUSES:
            raise _PassingFailureError(status, _retry_after(error.headers.get("Retry-After"))) from error
        raise RefusedError(
            f"{url} could not be fetched: {status}. The publisher may have moved the file; "
            "`--from URL` fetches it from a mirror.",
            error.code,
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise HeedfulError(
                f"{url} could not be fetched: the server cannot prove who it is ({reason.verify_message}). "
                "Look at the clock and at the proxy of this machine."
            ) from error
        raise _PassingFailureError(f"the server does not answer ({_words_of(reason)})") from error
    with response:
        yield response


def _check_continuation(response: http.client.HTTPResponse, partial: _Partial, start: int, known: Version) -> None:
    """Make sure that the rest the server sends is the rest of what is here; some servers ignore If-Range."""
    found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    same_place = found is not None and int(found[1]) == start
    same_length = found is not None and (found[2] == "*" or int(found[2]) == known.num_bytes)
    if not (same_place and same_length and _validator(response) in (None, known.validator)):
        partial.discard()
        raise _PassingFailureError("the server sent a part of another version of the file")


def _blocks(
    response: http.client.HTTPResponse,
    start: int,
    version: Version,
    max_bytes: int,
    partial: _Partial,
    listener: Listener,
) -> Iterator[bytes]:
    """Yield what arrives until the file is whole."""
    done = start
    cut = f"of {version.num_bytes:,} bytes" if version.num_bytes is not None else "bytes"
    while True:
        try:
            block = response.read1(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise _PassingFailureError(f"the connection was cut after {done:,} {cut}") from error
        if not block:
            break
        done += len(block)
        _refuse_if_larger(done, max_bytes, version.url, partial)
        yield block
        listener.advance(done)
    if version.num_bytes is not None and done < version.num_bytes:
        raise _PassingFailureError(f"the connection was cut after {done:,} {cut}")


def _refuse_if_larger(num_bytes: int, max_bytes: int, url: str, partial: _Partial) -> None:
    if num_bytes > max_bytes:
        partial.discard()
        raise HeedfulError(
            f"{url} must have at most {max_bytes:,} bytes, but has more: it is not the file that was meant. "
            "Look at the address in a browser, or name a mirror with `--from URL`."
        )


def _validator(response: http.client.HTTPResponse) -> str | None:
    """Return a strong ETag, else the date of the last change: what If-Range accepts."""
    tag = response.headers.get("ETag")
    if tag is not None and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified")


def _length(response: http.client.HTTPResponse) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _retry_after(value: str | None) -> float:
    """Return the seconds a server asks to wait; a date instead of seconds is too rare to be read."""
    return float(value) if value is not None and value.isdecimal() else 0.0


def _words_of(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "it took too long"
    return str((isinstance(reason, OSError) and reason.strerror) or reason)
