"""The server under its page: files, traces, cells, positions and models as a browser asks for them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.load import ServerProcess

from heedful.insight.ablation import Head, ablate, head_changes
from heedful.insight.attribution import attribute
from heedful.insight.payload import to_payload
from heedful.insight.position_table import position_table, similarity
from heedful.insight.trace import trace_translation
from heedful.insight.wire import from_array, to_json
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from tests.support.forked_server import ForkedServer
from tests.support.http_client import get, post
from tests.support.tiny_models import save_model
from tests.support.traced_sentence import named

LANGUAGES = ("de", "en", "fr")
LANGUAGES_ASKED = TranslationRequest("en", "de")
SENTENCE = {"q": "where is the station", "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "tiny", languages=LANGUAGES)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ServerProcess]:
    with ForkedServer("--model", folder) as process:
        yield process


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return load_translator(folder, device="cpu")


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


def test_a_trace_has_what_is_asked_for_and_goes_on_from_a_prefix(server: ServerProcess, translator: Translator) -> None:
    whole = post(server, "/api/trace", SENTENCE)[1]
    assert (whole["model"], whole["run"], whole["checkpoint"], whole["prefix"]) == ("tiny", None, None, 0)
    other = next(choice["id"] for choice in whole["steps"][0]["top"] if not_special(translator, choice["id"]))
    status, answer = post(server, "/api/trace", {**SENTENCE, "prefixIds": [other]})
    assert status == 200
    trace = trace_translation(translator, *translator.plan([SENTENCE["q"]], LANGUAGES_ASKED), prefix_ids=[other])
    expected = to_payload(trace)
    assert {name: answer[name] for name in expected} == json.loads(json.dumps(expected))
    assert answer["prefix"] == 1
    status, found = post(server, "/api/trace/attribution", named(answer))
    assert status == 200
    assert found["attribution"] == to_json(attribute(translator.readable_model, trace).by_token)
    status, found = post(server, "/api/trace/heads", named(answer))
    assert status == 200
    assert found["heads"] == to_json(head_changes(translator, trace))
    status, found = post(server, "/api/trace/ablation", {**named(answer), "prefix": 1, "headsOff": [["cross", 0, 1]]})
    ablation = ablate(translator, trace, [Head("cross", 0, 1)])
    assert status == 200
    assert found["text"] == ablation.text
    assert found["change"] == pytest.approx(ablation.change, abs=1e-5)


def not_special(translator: Translator, token_id: int) -> bool:
    tokenizer = translator.tokenizer
    return token_id not in (tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id, tokenizer.unk_id)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_cell_opens_to_the_weight_of_the_map(server: ServerProcess, translator: Translator, kind: str) -> None:
    trace = trace_translation(translator, *translator.plan([SENTENCE["q"]], LANGUAGES_ASKED))
    place = {"kind": kind, "layer": 0, "head": 1, "row": 1, "column": 0}
    asked = {**SENTENCE, "targetIds": [token.id for token in trace.target_tokens], **place}
    status, cell = post(server, "/api/trace/cell", asked)
    assert status == 200
    assert cell["weight"] == pytest.approx(float(trace.attention(kind, 0, 1)[1, 0]), abs=1e-5)
    assert sum(cell["rowWeights"]) == pytest.approx(1, abs=1e-4)
    assert cell["total"] == pytest.approx(float(np.dot(cell["query"], cell["key"])), abs=2e-3)
    assert (cell["dim"], len(cell["query"]), len(cell["key"])) == (16, 16, 16)
    hidden = [score is None for score in cell["rowScores"]]
    assert hidden == [kind == "decoder" and column > 1 for column in range(len(hidden))]


@pytest.mark.parametrize(
    ("path", "wrong", "sentence"),
    [
        ("/api/trace", {"prefixIds": [2**30]}, "`prefix_ids` must have ids between 0 and"),
        ("/api/trace", {"prefixIds": [2]}, "must not contain the end symbol"),
        ("/api/trace", {"prefixIds": [9], "hypothesis": "x"}, "Either `hypothesis` or `prefix_ids` may be given"),
        ("/api/trace", {"prefixIds": [9] * 200}, "`prefix_ids` must fit"),
        (
            "/api/trace/ablation",
            {"targetIds": [5], "headsOff": [["cross", 0, 9]]},
            "`head` must be between 0 and 1, but is 9.",
        ),
        (
            "/api/trace/ablation",
            {"targetIds": [5], "headsOff": [["cross", 9, 0]]},
            "`layer` must be between 0 and 0, but is 9.",
        ),
        ("/api/trace/ablation", {"targetIds": [5], "headsOff": []}, "`headsOff` must have at least 1 item"),
        ("/api/trace/attribution", {"targetIds": [5], "target": "zh"}, "`target` must be one of de, en, fr."),
        ("/api/trace/heads", {"targetIds": [5], "q": " "}, "The text to look into must not be empty, but is."),
        ("/api/trace/heads", {"targetIds": [5], "q": "a " * 128}, "The sentence must have at most 128 tokens"),
        ("/api/trace/attribution", {}, "`targetIds` must be given."),
        ("/api/trace", {"run": "example"}, "`run` and `checkpoint` must be given together"),
        ("/api/trace/cell", {"targetIds": [5], "kind": "cross", "layer": 0, "head": 0, "row": 1, "column": 0}, "`row`"),
        (
            "/api/trace/cell",
            {"targetIds": [2**30], "kind": "cross", "layer": 0, "head": 0, "row": 0, "column": 0},
            "ids",
        ),
    ],
)
def test_what_a_model_has_not_is_said_in_a_sentence(
    server: ServerProcess, path: str, wrong: dict[str, Any], sentence: str
) -> None:
    status, answer = post(server, path, {**SENTENCE, **wrong})
    assert status == 400
    assert sentence in answer["error"]


@pytest.mark.parametrize("side", ["source", "target"])
def test_positions_are_those_of_the_model(server: ServerProcess, translator: Translator, side: str) -> None:
    status, body, _ = get(server, f"/api/positions?model=tiny&length=20&side={side}")
    answer = json.loads(body)
    assert status == 200
    assert (answer["kind"], answer["length"], answer["dim"]) == ("sinusoidal", 20, 32)
    table = position_table(translator.readable_model, 20, "source")
    np.testing.assert_allclose(from_array(answer["table"]), table, atol=1e-3)
    np.testing.assert_allclose(from_array(answer["similarity"]), similarity(table), atol=1e-3)
    for wrong in ("length=0", "length=257", "length=x", "side=middle", "model=nobody", "length=" + "9" * 5000):
        assert get(server, f"/api/positions?{wrong}")[0] == 400


def test_models_say_what_they_are_made_of(server: ServerProcess, folder: Path) -> None:
    (model,) = json.loads(get(server, "/api/models")[1])
    expected = sum(tensor.numel() for tensor in load_model_folder(folder, TranslatorDescription).weights.values())
    assert model["parameters"] == expected
    assert model["layers"] == {"encoder": 1, "decoder": 1}
    assert (model["heads"], model["dim"], model["positions"], model["run"]) == (2, 32, "sinusoidal", None)
    assert model["beam"] == load_translator(folder, device="cpu").decoding.beam_size
