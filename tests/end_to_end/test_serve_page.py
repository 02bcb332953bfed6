"""The server under its page: files, traces, cells, positions and models as a browser asks for them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.load import ServerProcess

from ..unit.tasks.tiny_models import save_model
from .test_serve import get

LANGUAGES = ("de", "en", "fr")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "tiny", languages=LANGUAGES)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ServerProcess]:
    with ServerProcess("--model", folder) as process:
        yield process


def test_files_of_the_page_come_from_memory_and_are_kept_until_they_change(server: ServerProcess) -> None:
    status, body, headers = get(server, "/insight/drawing.js")
    assert status == 200
    assert b"canvas" in body
    assert headers["content-type"] == "text/javascript; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    tag = headers["etag"]
    for known in (tag, f'"other", W/{tag}'):
        status, body, headers = get(server, "/insight/drawing.js", {"If-None-Match": known})
        assert (status, body, headers["etag"]) == (304, b"", tag)
    assert get(server, "/insight/drawing.js", {"If-None-Match": '"other"'})[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/web/nothing.js",
        "/insight/../trace.py",
        "/insight/%2e%2e/trace.py",
        "/insight/..%2ftrace.py",
        "/insight//etc/passwd",
        "/web/%00",
        "/insight/",
    ],
)
def test_no_path_leads_out_of_the_page(server: ServerProcess, path: str) -> None:
    status, body, _ = get(server, path)
    assert (status, json.loads(body)) == (404, {"error": "There is nothing at this address."})
