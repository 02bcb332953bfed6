"""Bounds given to a real server are the bounds of its answers."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.commands import environment_of

SERVE = """
from heedful.serving.limits import Limits
from heedful.serving.process import Settings, serve
limits = Limits(max_characters=30, max_trace_characters=20, max_text_trace_characters=25)
serve(Settings(port=0, device="cpu", limits=limits), lambda sentence: print(sentence, flush=True))
"""


def ask(port: int, path: str, content: dict[str, str]) -> tuple[int, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, json.dumps(content), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = answer.read().decode()
    found = answer.status, json.loads(body) if answer.headers.get_content_type() == "application/json" else body
    connection.close()
    return found


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True, env=environment_of()
    ) as process:
        assert process.stdout is not None
        said = next(line for line in process.stdout if line.startswith("Serving"))
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", said)
        assert found is not None
        yield int(found[1])
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/translate", "q"), ("/detect", "q"), ("/api/translate/stream", "q"), ("/api/generate", "prompt")],
)
def test_a_text_has_as_many_characters_as_the_server_was_told(port: int, path: str, name: str) -> None:
    sentence = f"`{name}` must have at most 30 characters, but has 31."
    assert ask(port, path, {name: "a" * 31, "target": "de"}) == (413, {"error": sentence})
    assert ask(port, path, {name: "a" * 30, "target": "xx"})[0] != 413


@pytest.mark.parametrize(("path", "limit"), [("/api/trace", 20), ("/api/classify/trace", 20), ("/api/text/trace", 25)])
def test_a_trace_has_as_many_characters_as_the_server_was_told(port: int, path: str, limit: int) -> None:
    sentence = f"A trace must have at most {limit} characters."
    assert ask(port, path, {"q": "a" * (limit + 1), "target": "de"}) == (413, {"error": sentence})
    assert ask(port, path, {"q": "a" * limit, "target": "xx"})[0] != 413
