"""LibreTranslate's API as its clients use it, against the real server.

libretranslatepy 2.1 is here itself. What others send is spelled as they were seen to send it: deep-translator 1.11.4
(everything in the query, no body), curl -F (a multipart form), and translate 3.1.0 and libretranslate 1.0.1 from npm
(JSON). All of them were tried by hand as well.
"""

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from benchmarks.load import ServerProcess
from libretranslatepy import LibreTranslateAPI

from heedful.tasks.translation.load import load_translator
from tests.support.forked_server import ForkedServer
from tests.support.http_client import exchange, get, post
from tests.support.tiny_models import save_model

KEY = "a-key-of-this-test"
TEXT = "where is the station"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en"))


@pytest.fixture(scope="module")
def expected(model: Path) -> str:
    return load_translator(model, device="cpu").translate(TEXT, from_="en", to="de")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stored") / "suggestions"


@pytest.fixture(scope="module")
def server(model: Path, folder: Path) -> Iterator[ServerProcess]:
    with ForkedServer("--model", model, "--suggestions", folder, HEEDFUL_API_KEY=KEY) as process:
        yield process
        assert "Traceback" not in "".join(process.log)


@pytest.fixture(scope="module")
def open_server(model: Path) -> Iterator[ServerProcess]:
    with ForkedServer("--model", model) as process:
        yield process


def send(
    server: ServerProcess, path: str, fields: dict[str, Any], body: bytes = b"", kind: str | None = None
) -> tuple[int, Any]:
    """Post with parameters in the query, as `requests.post(url, params=…)` does."""
    address = f"{server.url}{path}?{urlencode(fields, doseq=True)}"
    headers = {} if kind is None else {"Content-Type": kind}
    connection = urllib.request.Request(address, body, headers)
    if kind is None:
        connection.add_unredirected_header("Content-type", "")  # urllib would say that it is a form
    status, answer, _ = exchange(connection)
    return status, json.loads(answer)


def curl(server: ServerProcess, path: str, *arguments: str) -> tuple[int, Any]:
    program = shutil.which("curl")
    if program is None:
        pytest.skip("needs curl")
    command = [program, "-s", "-w", "\n%{http_code}", server.url + path, *arguments]
    answer, _, status = subprocess.run(command, capture_output=True, check=True, text=True).stdout.rpartition("\n")
    return int(status), json.loads(answer)


def test_libretranslatepy_works_with_its_key(server: ServerProcess, expected: str) -> None:
    client = LibreTranslateAPI(server.url, KEY)
    assert client.translate(TEXT, "en", "de") == expected
    assert client.detect("Wo ist der Bahnhof, bitte?")[0]["language"] == "de"
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": ["en"]},
    ]


def test_parameters_in_the_query_are_those_of_a_form(server: ServerProcess, expected: str) -> None:
    asked = {"q": TEXT, "source": "en", "target": "de", "format": "text", "api_key": KEY}
    assert send(server, "/translate", asked) == (200, {"translatedText": expected})
    status, answer = send(server, "/translate", {**asked, "q": [TEXT, ""], "source": "auto", "alternatives": 1})
    assert (status, answer["translatedText"]) == (200, [expected, ""])
    status, found = send(server, "/detect", {"q": "Wo ist der Bahnhof, bitte?", "api_key": KEY})
    assert (status, found[0]["language"]) == (200, "de")


def test_what_is_not_in_the_body_may_be_in_the_query(server: ServerProcess, expected: str) -> None:
    form = "application/x-www-form-urlencoded"
    body = urlencode({"q": TEXT, "source": "en"}).encode()
    asked = {"target": "de", "api_key": KEY}
    assert send(server, "/translate", asked, body, form) == (200, {"translatedText": expected})
    assert send(server, "/translate", {**asked, "q": TEXT}, body, form) == (
        400,
        {"error": "`q` must be given once, in the body or in the query of the address."},
    )
    content = json.dumps({"q": TEXT, "source": "en", "target": "de"}).encode()
    assert send(server, "/translate", {"target": "xx", "api_key": KEY}, content, "application/json") == (
        200,
        {"translatedText": expected},
    ), "as with LibreTranslate, JSON says everything"


def test_curl_sends_multipart_forms(server: ServerProcess, expected: str) -> None:
    fields = ["-F", f"q={TEXT}", "-F", "source=en", "-F", "target=de", "-F", f"api_key={KEY}"]
    assert curl(server, "/translate", *fields) == (200, {"translatedText": expected})
    assert curl(server, "/translate", *fields, "-F", f"q={TEXT}")[1] == {"translatedText": [expected] * 2}
    assert curl(server, "/detect", "-F", "q=Wo ist der Bahnhof?", "-F", f"api_key={KEY}")[1][0]["language"] == "de"
    assert curl(server, "/translate", *fields[:-2]) == (
        401,
        {"error": "A valid API key must be given, as `Authorization: Bearer KEY`."},
    )


def test_a_file_where_text_must_be_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(TEXT)
    fields = ["-F", f"q=@{tmp_path}/q.txt", "-F", "target=de", "-F", f"api_key={KEY}"]
    assert curl(server, "/translate", *fields) == (400, {"error": "`q` must be a text or a list of texts."})
    key = ["-F", "q=a", "-F", "target=de", "-F", f"api_key=@{tmp_path}/q.txt"]
    assert curl(server, "/translate", *key)[0] == 401


def test_clients_in_javascript_send_json_with_more_than_we_know(server: ServerProcess, expected: str) -> None:
    asked = {"q": TEXT, "source": "en", "target": "de"}
    assert post(server, "/translate", {**asked, "api_key": KEY}) == (200, {"translatedText": expected})
    for more in ({"format": "text", "apiKey": KEY}, {"format": "text", "apiKey": "", "api_key": KEY, "secret": ""}):
        assert post(server, "/translate", {**asked, **more}) == (200, {"translatedText": expected})


def test_a_wrong_key_is_403_as_the_clients_expect_and_a_missing_one_401(server: ServerProcess) -> None:
    asked = {"q": TEXT, "source": "en", "target": "de"}
    wrong = (403, {"error": "The API key must be one of this server's, but is not."})
    assert send(server, "/translate", {**asked, "api_key": "wrong"}) == wrong
    assert post(server, "/translate", {**asked, "api_key": "wrong"}) == wrong
    assert curl(server, "/translate", "-F", "q=a", "-F", "api_key=wrong") == wrong
    assert get(server, "/spec?api_key=wrong")[0] == 403
    assert send(server, "/translate", asked)[0] == 401
    assert send(server, "/translate", {**asked, "api_key": ""})[0] == 401
    assert send(server, "/translate", {**asked, "api_key": [KEY, KEY]})[0] == 401


def test_what_a_client_asks_before_its_user_has_given_a_key_needs_none(server: ServerProcess) -> None:
    assert get(server, "/languages")[0] == 200
    status, body, _ = get(server, "/frontend/settings")
    settings = json.loads(body)
    assert status == 200
    assert {".txt", ".docx"} <= set(settings.pop("supportedFilesFormat"))
    assert settings == {
        "charLimit": 20_000,
        "frontendTimeout": 500,
        "apiKeys": True,
        "keyRequired": True,
        "suggestions": True,
        "filesTranslation": True,
        "language": {"source": {"code": "auto", "name": "Auto Detect"}, "target": {"code": "de", "name": "German"}},
    }


def test_settings_say_where_there_is_no_key_and_no_folder(open_server: ServerProcess) -> None:
    settings = json.loads(get(open_server, "/frontend/settings")[1])
    assert [settings[name] for name in ("apiKeys", "keyRequired", "suggestions")] == [False] * 3


def test_languages_that_are_only_translated_into_are_listed(tmp_path: Path) -> None:
    with ForkedServer("--model", save_model(tmp_path / "pair", seed=1)) as process:
        assert json.loads(get(process, "/languages")[1]) == [
            {"code": "en", "name": "English", "targets": ["de"]},
            {"code": "de", "name": "German", "targets": []},
        ]


def test_the_description_is_where_libretranslate_has_it(open_server: ServerProcess) -> None:
    status, body, _ = get(open_server, "/spec")
    assert (status, body) == (200, get(open_server, "/openapi.json")[1])
    described = json.loads(body)["paths"]
    for path in ("/translate", "/detect", "/languages", "/frontend/settings", "/suggest", "/translate_file"):
        assert path in described
    assert set(described["/translate"]["post"]["requestBody"]["content"]) == {
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    }
    assert "query" in described["/translate"]["post"]["description"]


def test_suggestions_are_kept_in_the_folder(server: ServerProcess, folder: Path) -> None:
    asked = {"q": "Thank you.", "s": "Vielen\nDank „so“.", "source": "en", "target": "de"}
    assert post(server, "/suggest", {**asked, "api_key": KEY}) == (200, {"success": True})
    assert send(server, "/suggest", {**asked, "s": "Danke", "api_key": KEY}) == (200, {"success": True})
    fields = [part for name, value in asked.items() for part in ("-F", f"{name}={value}")]
    assert curl(server, "/suggest", *fields, "-F", f"api_key={KEY}") == (200, {"success": True})
    lines = [json.loads(line) for line in (folder / "suggestions.jsonl").read_text().splitlines()]
    assert lines == [asked, {**asked, "s": "Danke"}, asked]
    assert folder.stat().st_mode & 0o77 == 0, "what people write is for the operator alone"
    for name in asked:
        missing = {other: value for other, value in asked.items() if other != name}
        assert post(server, "/suggest", {**missing, "api_key": KEY}) == (400, {"error": f"`{name}` must be given."})
    assert post(server, "/suggest", {**asked, "s": "", "api_key": KEY})[0] == 400
    assert post(server, "/suggest", {**asked, "s": "x" * 20_000, "api_key": KEY})[0] == 413
    assert post(server, "/suggest", asked)[0] == 401
    assert len((folder / "suggestions.jsonl").read_text().splitlines()) == 3


def test_without_a_folder_suggestions_are_403(open_server: ServerProcess) -> None:
    asked = {"q": "Thank you.", "s": "Danke.", "source": "en", "target": "de"}
    assert post(open_server, "/suggest", asked) == (
        403,
        {"error": "This server keeps no suggestions. Start it with --suggestions DIR."},
    )


def test_a_folder_for_suggestions_that_cannot_be_is_said_at_once(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match=r"error: .*file/suggestions\.jsonl could not be written: Not a directory\."):
        ForkedServer("--model", model, "--suggestions", tmp_path / "file").__enter__()
