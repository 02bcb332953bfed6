"""What a browser is given: the page with its modules, the views it shares with explained traces, and the API's page.

Everything is read into memory when the server starts. A request is looked up among what was read and never touches the
disk, so no path leads out of the package. Browsers keep what they have and ask whether it has changed.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from heedful.serving.routing import Api

_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_DOCUMENTATION = {"/docs": "page.html", "/docs.js": "page.js", "/docs.css": "page.css", "/docs.svg": "page.svg"}


@dataclass(frozen=True)
class File:
    """What is sent for one address."""

    content: bytes
    kind: str
    tag: str
    """Changes when the content does."""


def read_pages(package: Traversable) -> dict[str, File]:
    """Read all files of the page below the folder of the package, by their address; what is not there is left out."""
    files = {f"/web/{name}": file for name, file in _files_in(package / "serving" / "web")}
    files |= {f"/insight/{name}": file for name, file in _files_in(package / "insight" / "page")}
    documentation = dict(_files_in(package / "serving" / "documentation"))
    files |= {address: documentation[name] for address, name in _DOCUMENTATION.items() if name in documentation}
    if (index := files.get("/web/index.html")) is not None:
        files["/"] = index
    return files


def add_pages(api: Api) -> None:
    """Add the routes of everything that is not data."""
    files = read_pages(resources.files("heedful"))

    async def page(request: Request) -> Response:
        file = files.get(request.scope["path"])
        if file is None:
            raise HTTPException(404)
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if _is_known(file.tag, request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.kind, headers=headers)

    for address in ("/", "/web/{name:path}", "/insight/{name:path}", *_DOCUMENTATION):
        api.pages[address] = page


def _files_in(folder: Traversable, above: str = "") -> Iterator[tuple[str, File]]:
    """Yield the files of a folder and of those in it, with their paths from there."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        name = above + entry.name
        if entry.is_dir():
            yield from _files_in(entry, f"{name}/")
        elif not entry.name.startswith("."):
            content = entry.read_bytes()
            kind = _KINDS.get(PurePosixPath(name).suffix, "application/octet-stream")
            yield name, File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _is_known(tag: str, known: str) -> bool:
    """Say whether a browser that names the tags it knows has this one."""
    return tag in (one.strip().removeprefix("W/") for one in known.split(","))
