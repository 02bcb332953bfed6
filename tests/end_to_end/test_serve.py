"""`heedful serve` as clients meet it: another project's client, curl's forms, JSON, streams, and the page of /docs."""

import json
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.load import ServerProcess
from libretranslatepy import LibreTranslateAPI

from heedful.insight.payload import to_payload
from heedful.insight.trace import trace_translation
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from tests.support.commands import Command
from tests.support.forked_server import ForkedServer
from tests.support.http_client import exchange, get, post
from tests.support.tiny_models import save_model

LANGUAGES = ("de", "en", "fr", "zh")
SENTENCES = ["where is the station", "the station is where", "is the station", "where"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("models")
    return [save_model(base / "Many Languages", languages=LANGUAGES), save_model(base / "pair", seed=1)]


@pytest.fixture(scope="module")
def translator(folders: list[Path]) -> Translator:
    return load_translator(folders[0], device="cpu")


@pytest.fixture(scope="module")
def server(folders: list[Path]) -> Iterator[ServerProcess]:
    with ForkedServer("--model", folders[0], "--model", folders[1]) as process:
        yield process


def events(server: ServerProcess, content: dict[str, Any]) -> list[tuple[str, Any]]:
    request = urllib.request.Request(
        server.url + "/api/translate/stream", json.dumps(content).encode(), {"Content-Type": "application/json"}
    )
    status, body, headers = exchange(request)
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    found = re.findall(r"event: (\w+)\ndata: (.*)\n\n", body.decode())
    return [(name, json.loads(data)) for name, data in found]


def test_a_client_that_is_not_ours_works(server: ServerProcess, translator: Translator) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate(SENTENCES[0], "en", "de") == translator.translate(SENTENCES[0], from_="en", to="de")
    assert client.translate(SENTENCES[0], "auto", "zh") == translator.translate(SENTENCES[0], from_="en", to="zh")
    assert {language["code"]: language["name"] for language in client.languages()} == {
        "en": "English",
        "de": "German",
        "fr": "French",
        "zh": "Chinese",
    }
    best = client.detect("Wo ist der Bahnhof, bitte?")[0]
    assert best["language"] == "de"
    assert best["confidence"] > 90


def test_a_language_no_model_knows_is_named_and_left_as_it_is(server: ServerProcess, translator: Translator) -> None:
    spanish, arabic = "Hola.\n\n¿Dónde está la estación?", "أين المحطة؟"
    status, found = post(server, "/detect", {"q": spanish})
    assert (status, found[0]["language"]) == (200, "es")
    assert found[0]["confidence"] > 90
    assert all(one["confidence"] > 0 for one in found)
    assert post(server, "/detect", {"q": "12,345"})[1] == [{"language": "und", "confidence": 100.0}]
    request = {"q": [spanish, SENTENCES[0], arabic, "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"], "target": "de", "details": True, "alternatives": 1}
    status, answer = post(server, "/translate", {**request, "source": "auto"})
    assert status == 200
    english = translator.translate(SENTENCES[0], from_="en", to="de", beam_size=None)
    assert answer["translatedText"] == [spanish, english, arabic, "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"]
    assert [one["language"] for one in answer["detectedLanguage"]] == ["es", "en", "ar", "und"]
    codes = [[warning["code"] for warning in warnings] for warnings in answer["warnings"]]
    assert [codes[0], *codes[2:]] == [["unknown_language"]] * 3
    assert "unknown_language" not in codes[1]
    for beam in (1, 2):
        told = events(server, {"q": spanish, "source": "auto", "target": "de", "beam": beam})
        ((_, whole),) = [event for event in told if event[0] == "sentence"]
        assert whole["text"] == spanish
        assert [warning["code"] for warning in whole["warnings"]] == ["unknown_language"]
    status, refused = post(server, "/api/trace", {"q": spanish, "source": "auto", "target": "de"})
    assert status == 400
    assert "seems to be in Spanish" in refused["error"]


def test_a_list_gives_lists_and_alternatives_are_the_others(server: ServerProcess, translator: Translator) -> None:
    status, answer = post(server, "/translate", {"q": SENTENCES, "source": "auto", "target": "fr", "alternatives": 1})
    expected = translator.translate_detailed(SENTENCES, to="fr", n_best=2)
    assert status == 200
    assert answer["translatedText"] == [translation.text for translation in expected]
    assert answer["alternatives"] == [[translation.alternatives[1].text] for translation in expected]
    assert [one["language"] for one in answer["detectedLanguage"]] == ["en"] * 4
    assert "details" not in answer


def test_lines_are_kept_and_nothing_stays_nothing(server: ServerProcess) -> None:
    _, answer = post(server, "/translate", {"q": "where is\n\nthe station\n", "source": "en", "target": "de"})
    lines = answer["translatedText"].split("\n")
    assert [bool(line) for line in lines] == [True, False, True, False]
    assert post(server, "/translate", {"q": ["", " "], "source": "auto", "target": "de"})[1]["translatedText"] == [
        "",
        "\n"[:0],
    ]
    assert post(server, "/translate", {"q": [], "source": "en", "target": "de"})[1] == {"translatedText": []}


def test_details_have_tokens_whose_log_probabilities_sum_to_the_score_of_the_search(
    server: ServerProcess, translator: Translator
) -> None:
    request = {"q": SENTENCES[0], "source": "en", "target": "de", "details": True, "beam": 3}
    (details,) = post(server, "/translate", request)[1]["details"]
    (expected,) = translator.translate_detailed([SENTENCES[0]], from_="en", to="de", beam_size=3)
    assert details["tokens"] == list(expected.alternatives[0].tokens)
    assert sum(details["tokenLogProbs"]) == pytest.approx(expected.alternatives[0].log_prob)
    assert details["wordConfidences"] is None, "nobody has calibrated this model"
    (checked,) = post(server, "/translate", {**request, "check": True})[1]["details"]
    assert checked == details


def test_models_are_named_by_id_and_never_by_path(server: ServerProcess, folders: list[Path]) -> None:
    _, body, _ = get(server, "/api/models")
    assert [model["id"] for model in json.loads(body)] == ["many-languages", "pair"]
    pair = load_translator(folders[1], device="cpu")
    request = {"q": SENTENCES[0], "source": "en", "target": "de"}
    assert post(server, "/translate", {**request, "model": "pair"})[1]["translatedText"] == pair.translate(SENTENCES[0])
    for name in ("../pair", str(folders[1])[:64], "pair/", "PAIR", "%2e%2e/pair", "pair\0"):
        status, answer = post(server, "/translate", {**request, "model": name})
        assert (status, answer) == (400, {"error": "`model` must be one of many-languages, pair."})


def test_greedy_search_tells_its_tokens_and_a_beam_its_sentences(server: ServerProcess, translator: Translator) -> None:
    text = "where is the station. is the station. where."
    sentences = ["where is the station.", "is the station.", "where."]
    found = translator.translate_detailed(sentences, from_="en", to="de", beam_size=1)
    expected = [translation.text for translation in found]
    told = events(server, {"q": text, "source": "en", "target": "de", "beam": 1})
    assert [event["text"] for name, event in told if name == "sentence"] == expected
    warned = [[{"code": it.code, "message": it.message} for it in translation.warnings] for translation in found]
    assert any(warned), "what an untrained model writes is doubtful"
    assert [event["warnings"] for name, event in told if name == "sentence"] == warned
    whole = translator.translate(text, from_="en", to="de", beam_size=1)
    assert told[-1] == ("done", {"translatedText": whole, "warnings": []}), "one text, one translation"
    assert "".join(event["before"] + event["text"] for name, event in told if name == "sentence") == whole
    written = [event["text"] for name, event in told if name == "token" and event["sentence"] == 0]
    assert len(written) > 1
    assert all(later.startswith(earlier.rstrip("\ufffd")) for earlier, later in pairwise(written))
    beam = events(server, {"q": text, "source": "en", "target": "de"})
    assert [name for name, _ in beam] == ["sentence"] * 3 + ["done"]


def test_a_trace_is_what_python_shows(server: ServerProcess, translator: Translator) -> None:
    status, answer = post(server, "/api/trace", {"q": SENTENCES[0], "source": "en", "target": "de"})
    assert status == 200
    trace = trace_translation(translator, *translator.plan(SENTENCES[:1], TranslationRequest("en", "de")))
    asked_of = {"model": "many-languages", "run": None, "checkpoint": None}
    assert answer == json.loads(json.dumps({**to_payload(trace), **asked_of}))
    wanted = {
        "q": SENTENCES[0],
        "source": "en",
        "target": "de",
        "beam": 1,
        "glossary": [[SENTENCES[0].split()[0], "Haus"]],
    }
    status, answer = post(server, "/api/trace", wanted)
    assert (status, "Haus" in answer["target"]["text"]) == (200, True)
    assert any(node["isForced"] for node in answer["beam"]["nodes"])
    status, answer = post(server, "/api/trace", {**wanted, "hypothesis": "Haus"})
    assert (status, answer["error"]) == (400, "`glossary` must not be given with `hypothesis` or `prefixIds`.")
    status, answer = post(server, "/api/trace", {"q": "x" * 1001, "target": "de"})
    assert (status, answer) == (413, {"error": "A trace must have at most 1,000 characters."})


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"q": "a", "source": "en", "target": "xx"}, 'into "de", "fr", "zh", "en", but was asked for "xx".'),
        ({"q": "a", "source": "xx", "target": "de"}, 'but was asked to from "xx".'),
        ({"q": "a", "source": "de", "target": "zh", "model": "pair"}, "asked"),
        ({"q": "a", "target": "de", "format": "pdf"}, "`format` must be 'text' or 'html'."),
    ],
    ids=["target", "source", "direction", "format"],
)
def test_a_mistake_is_answered_with_a_sentence(server: ServerProcess, request_: dict[str, Any], sentence: str) -> None:
    status, answer = post(server, "/translate", request_)
    assert status == 400
    assert list(answer) == ["error"]
    assert sentence in answer["error"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost.evil.example:8000"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Host": "localhost:9", "Origin": "http://localhost:9"}, 200),
        ({"Host": "localhost:9", "Origin": "http://localhost:8"}, 403),
    ],
    ids=str,
)
def test_other_origins_and_other_names_are_refused(server: ServerProcess, headers: dict[str, str], status: int) -> None:
    found, _, answered = get(server, "/languages", headers)
    assert found == status
    assert not [name for name in answered if name.startswith("access-control")]


def test_every_answer_has_the_headers_of_a_careful_server(server: ServerProcess) -> None:
    for path in ("/languages", "/nothing", "/docs", "/openapi.json", "/metrics"):
        _, _, headers = get(server, path)
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_the_documentation_loads_nothing_from_elsewhere(server: ServerProcess) -> None:
    page = get(server, "/docs")[1].decode()
    parts = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert {"/docs.js", "/docs.css", "/docs.svg", "/openapi.json"} == set(parts)
    for part in parts:
        status, body, _ = get(server, part)
        assert status == 200
        assert b"://" not in body.replace(b"http://www.w3.org/2000/svg", b"")  # a name, which is never fetched
    assert "innerHTML" not in get(server, "/docs.js")[1].decode()
    assert "/translate" in json.loads(get(server, "/openapi.json")[1])["paths"]


def test_what_is_counted_has_few_labels(server: ServerProcess) -> None:
    for number in range(5):
        get(server, f"/nowhere-{number}")
    _, body, headers = get(server, "/metrics")
    page = body.decode()
    assert headers["content-type"].startswith("text/plain")
    assert 'heedful_requests_total{route="other",status="404"}' in page
    assert "nowhere" not in page
    assert re.search(r'heedful_batch_items_count\{model="many-languages"\} [1-9]', page)
    assert 'heedful_queued_items{model="pair"} 0.0' in page


def test_health_and_readiness_are_apart(server: ServerProcess) -> None:
    assert json.loads(get(server, "/health")[1]) == {"status": "ok"}
    assert json.loads(get(server, "/ready")[1]) == {"status": "ready"}
    assert get(server, "/nothing")[:2] == (404, b'{"error": "There is nothing at this address."}')
    assert get(server, "/translate")[:2] == (405, b'{"error": "This address does not take that method."}')


def test_a_taken_port_is_said_in_a_sentence(server: ServerProcess, heedful: Command) -> None:
    result = heedful("serve", "--port", str(server.port))
    assert result.returncode == 2
    taken = f"error: Port {server.port} of 127.0.0.1 is taken. Choose another with --port; 0 takes any.\n"
    assert result.stderr.decode() == taken


def test_the_server_listens_on_the_loopback_only(server: ServerProcess) -> None:
    # Lines of the kernel's table: number, local address and port in hexadecimal, remote address, state (0A: listening).
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [address for _, address, _, state, *_ in rows if state == "0A"]
    assert [address for address in listening if address.endswith(f":{server.port:04X}")] == [
        f"0100007F:{server.port:04X}"
    ]


def test_ctrl_c_ends_an_idle_server_at_once_and_quietly(folders: list[Path]) -> None:
    with ServerProcess("--model", folders[1]) as process:
        started = time.monotonic()
        process.process.send_signal(signal.SIGINT)
        assert process.process.wait(10) == 130
        assert time.monotonic() - started < 3
    assert len(process.log) == 1
