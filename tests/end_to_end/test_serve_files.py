"""`POST /translate_file` of a real server: as LibreTranslate's clients know it, and within bounds."""

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from tests.support.documents import SAMPLES
from tests.support.forked_server import ForkedServer
from tests.support.http_client import exchange, get

KEY = "a-key-of-this-test"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with ForkedServer(HEEDFUL_API_KEY=KEY) as process:
        yield process
        assert "Traceback" not in "".join(process.log)


def send(server: ServerProcess, name: str, data: bytes, **fields: str) -> tuple[int, Any]:
    head = 'Content-Disposition: form-data; name="{}"{}'
    parts = [(head.format("file", f'; filename="{name}"'), data)]
    parts += [(head.format(key, ""), value.encode()) for key, value in fields.items()]
    body = b"".join(b"--=-=\r\n" + about.encode() + b"\r\n\r\n" + content + b"\r\n" for about, content in parts)
    kind = {"Content-Type": 'multipart/form-data; boundary="=-="'}
    request = urllib.request.Request(server.url + "/translate_file", body + b"--=-=--\r\n", kind)
    status, answer, _ = exchange(request)
    return status, json.loads(answer)


@pytest.mark.parametrize("name", ["letter.docx", "page.html", "messages.po", "letter.epub"])
def test_a_file_is_translated_and_can_be_fetched(name: str, server: ServerProcess) -> None:
    status, answer = send(server, name, SAMPLES[name], source="en", target="de", api_key=KEY)
    assert status == 200, answer
    assert answer["translatedFileUrl"].startswith(f"{server.url}/download_file/")
    status, content, headers = get(server, answer["translatedFileUrl"].removeprefix(server.url))  # without the key
    assert status == 200
    assert content not in (b"", SAMPLES[name])
    stem, ending = name.split(".")
    assert headers["content-disposition"] == f"attachment; filename*=UTF-8''{stem}.de.{ending}"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_sends_files_and_texts(server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Where is the station?\n")

    def curl(path: str, *fields: str) -> Any:
        words = [word for field in (*fields, "source=en", "target=de", f"api_key={KEY}") for word in ("-F", field)]
        return json.loads(subprocess.check_output(["curl", "-s", *words, server.url + path], cwd=tmp_path))

    address = curl("/translate_file", "file=@letter.txt")["translatedFileUrl"]
    assert subprocess.check_output(["curl", "-s", address]) == b"Wo ist der Bahnhof?\n"
    assert curl("/translate", "q=Where is the station?")["translatedText"] == "Wo ist der Bahnhof?"


@pytest.mark.parametrize(
    ("name", "data", "fields", "status"),
    [
        ("letter.txt", b"Hello", {"target": "de"}, 401),
        ("letter.pdf", b"Hello", {"target": "de", "api_key": KEY}, 400),
        ("letter.txt", b"Hello", {"api_key": KEY}, 400),
        ("letter.txt", b"Hello", {"target": "xx", "api_key": KEY}, 400),
        ("../../etc/passwd", b"Hello", {"target": "de", "api_key": KEY}, 400),
        ("letter.docx", b"PK\x03\x04 damaged", {"target": "de", "api_key": KEY}, 400),
        ("letter.txt", b"word " * 10_000, {"source": "en", "target": "de", "api_key": KEY}, 413),
        ("letter.txt", bytes(9 << 20), {"target": "de", "api_key": KEY}, 413),
    ],
)
def test_what_cannot_be_translated_is_refused_in_a_sentence(
    name: str, data: bytes, fields: dict[str, str], status: int, server: ServerProcess
) -> None:
    found, answer = send(server, name, data, **fields)
    assert found == status
    assert set(answer) == {"error"}
    assert answer["error"].endswith(".")
    assert "passwd" not in answer["error"]


def test_an_address_that_was_not_given_leads_nowhere(server: ServerProcess) -> None:
    for path in ("/download_file/x.txt", "/download_file/..%2f..%2fetc%2fpasswd", "/download_file/"):
        assert get(server, path)[0] in (401, 404)
