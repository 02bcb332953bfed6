"""Hostile multipart forms and queries: answered with 4xx, soon, in a sentence, and nothing of them is left behind."""

import json
from collections.abc import Iterator

import pytest
from benchmarks.load import ServerProcess

from tests.support.forked_server import ForkedServer
from tests.support.hostile_requests import CANARY, GOOD, JSON_HEADER, KEY, assert_refused, send
from tests.support.tiny_models import save_model

MULTIPART = "Content-Type: multipart/form-data; boundary=x"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    tiny = save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en"))
    with ForkedServer("--model", tiny, HEEDFUL_API_KEY=KEY) as process:
        yield process
        assert "Traceback" not in "".join(process.log)
        assert CANARY not in "".join(process.log)


def part(name: bytes, value: bytes = b"where") -> bytes:
    return b'--x\r\nContent-Disposition: form-data; name="' + name + b'"\r\n\r\n' + value + b"\r\n"


@pytest.mark.parametrize(
    ("body", "header", "status"),
    [
        (b"--x\r\n", MULTIPART, 400),
        (b"", MULTIPART, 400),
        (GOOD, "Content-Type: multipart/form-data", 400),
        (part(b"q") + part(b"target", b"de") + b"--x--", MULTIPART + ";" * 50_000, 400),
        (part(b"q") * 15_000 + b"--x--", MULTIPART, 400),
        (part(b"q;" + b";" * 7_000) * 120 + b"--x--", MULTIPART, 400),
        (part(b"q" * 1_000_000) + b"--x--", MULTIPART, 400),
        (b"--x\r\n" + b"A: b\r\n" * 150_000, MULTIPART, 400),
        (b"--x\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" * 18_000, MULTIPART, 400),
        (part(b"q", b"\x80xyzzy-canary") + part(b"target", b"de") + b"--x--", MULTIPART, 400),
        (part(b"q") + part(b"target", b"de") * 2 + b"--x--", MULTIPART, 400),
        (part(b'xyzzy-canary"; filename="a') * 250 + b"--x--", MULTIPART, 400),
        (part(b"q", b"where " * 5_000) + part(b"target", b"de") + b"--x--", MULTIPART, 413),
        (part(b"q", b"where " * 200_000) + part(b"target", b"de") + b"--x--", MULTIPART, 413),
    ],
    ids=[
        "without an end",
        "of nothing",
        "without a boundary",
        "with 50,000 semicolons for its type",
        "of 15,000 parts",
        "with semicolons for names",
        "with a name of a megabyte",
        "with endless headers",
        "in multipart",
        "not UTF-8",
        "with a field twice",
        "of files",
        "with too many characters",
        "of more than a megabyte",
    ],
)
def test_a_bad_form_is_answered_with_4xx_within_a_second(
    server: ServerProcess, body: bytes, header: str, status: int
) -> None:
    answer = send(server, body, header)
    assert_refused(answer, status)
    assert list(json.loads(answer.body)) == ["error"]
    assert send(server, GOOD, JSON_HEADER).status == 200


def test_a_good_form_is_answered(server: ServerProcess) -> None:
    body = part(b"q") + part(b"source", b"en") + part(b"target", b"de") + b"--x--"
    assert send(server, body, MULTIPART).body == send(server, GOOD, JSON_HEADER).body


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("q=" + CANARY * 10_000, 400),
        ("q=" + "a" * 30_000 + "&target=de", 413),
        ("q=" + "%61" * 20_001 + "&target=de", 413),
        ("q=%ff%fe&target=de", 400),
        ("q=\ufffd&target=de", 400),
        ("q=a&target=de&target=de", 400),
        ("&".join(["q=a"] * 250) + "&target=de", 400),
        ("&" * 60_000, 400),
        ("q=a&" * 15_000 + "target=de", 400),
        ("q=a&target=de&beam=NaN", 400),
        ("q=a&target=de&beam=" + "9" * 60_000, 400),
        ("q=a&target=de&api_key=wrong&api_key=" + CANARY, 400),
        ("q%5B%5D=a&target=de", 400),
        ("q=a&target=" + "x" * 17, 400),
        ("target=de", 400),
        ("?", 400),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bad_query_is_answered_with_4xx_within_a_second(server: ServerProcess, query: str, status: int) -> None:
    answer = send(server, b"", path=f"/translate?{query}")
    assert_refused(answer, status)
    assert list(json.loads(answer.body)) == ["error"]
    assert_refused(send(server, b"", path=f"/suggest?{query}"))
    detected = send(server, b"", path=f"/detect?{query}")
    assert detected.status < 500
    assert detected.seconds < 1


def test_hostile_forms_leave_nothing_behind(server: ServerProcess) -> None:
    bodies = [
        part(b"q" * 1_900) * 290,
        part(b"q;" + b";" * 1_900) * 290,
        part(b"q", b"a" * 900_000),
        part(b"q") * 9_000,
    ]
    for body in bodies:
        send(server, body + b"--x--", MULTIPART)
    before = server.memory_mb()
    for _ in range(10):
        for body in bodies:
            assert_refused(send(server, body + b"--x--", MULTIPART))
    assert server.memory_mb() - before < 20
