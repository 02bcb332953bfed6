"""Models that do other things than translating, behind the same server: labels on texts, and texts written on."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.load import ServerProcess

from heedful.insight.classification_trace import trace_classification
from heedful.insight.text_trace import trace_text
from heedful.insight.wire import from_array
from heedful.models.attention_weights import reach
from heedful.storage.model_folder import save_model_folder
from heedful.tasks.classification.classifier import load_classifier
from heedful.tasks.language_modeling.model import load_text_model
from heedful.text.symbols import ByteSymbols
from tests.support.classifier_folders import make_folder
from tests.support.forked_server import ForkedServer
from tests.support.language_model_folders import write_language_model

REVIEWS = ["a truly good film", "a truly bad film", ""]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("models")
    save_model_folder(base / "labels", make_folder())
    write_language_model(base / "bytes")
    return {"labels": base / "labels", "bytes": base / "bytes"}


@pytest.fixture(scope="module")
def server(folders: dict[str, Path]) -> Iterator[ServerProcess]:
    with ForkedServer("--model", folders["labels"], "--model", folders["bytes"]) as process:
        yield process


def post(server: ServerProcess, path: str, content: Any) -> tuple[int, str]:
    request = urllib.request.Request(
        server.url + path, json.dumps(content).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as failure:
        return failure.code, failure.read().decode()


def test_labels_are_those_of_the_command(server: ServerProcess, folders: dict[str, Path]) -> None:
    expected = load_classifier(folders["labels"], device="cpu").classify_detailed(REVIEWS, explain=True)
    status, body = post(server, "/api/classify", {"q": REVIEWS, "explain": True})
    answers = json.loads(body)
    assert status == 200
    assert [answer["label"] for answer in answers] == [one.label for one in expected]
    assert answers[0]["probabilities"] == pytest.approx(expected[0].probabilities)
    assert [word["word"] for word in answers[0]["words"]] == ["a", "truly", "good", "film"]
    single = json.loads(post(server, "/api/classify", {"q": REVIEWS[0]})[1])
    assert single["label"] == expected[0].label
    assert "words" not in single


def test_a_text_is_written_on_as_in_python(server: ServerProcess, folders: dict[str, Path]) -> None:
    wish = {"prompt": "the old", "maxTokens": 40, "temperature": 0.8, "topK": 20, "seed": 3}
    status, body = post(server, "/api/generate", wish)
    assert status == 200
    events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", body)
    pieces = [json.loads(data)["text"] for name, data in events if name == "text"]
    writer = load_text_model(folders["bytes"], device="cpu")
    expected = b"".join(writer.generate("the old", max_tokens=40, temperature=0.8, top_k=20, seed=3))
    assert "".join(pieces) == expected.decode(errors="replace")
    assert events[-1] == ("done", json.dumps({"text": "".join(pieces)}))
    assert len(pieces) > 1


def test_what_no_model_can_do_is_said_in_a_sentence(server: ServerProcess) -> None:
    status, body = post(server, "/translate", {"q": "a", "source": "en", "target": "de"})
    assert (status, json.loads(body)["error"]) == (
        400,
        "This server has no model for translation. Add one with --model.",
    )
    status, body = post(server, "/api/classify", {"q": "a", "model": "bytes"})
    assert (status, json.loads(body)["error"]) == (400, "`model` must be one of labels.")
    assert post(server, "/api/generate", {"maxTokens": 2001})[0] == 400
    with urllib.request.urlopen(f"{server.url}/languages") as answer:
        assert json.loads(answer.read()) == []
    with urllib.request.urlopen(f"{server.url}/api/models") as answer:
        served = {model["id"]: model for model in json.loads(answer.read())}
    shape = {"layers": {"encoder": 1, "decoder": 0}, "heads": 2, "dim": 16, "positions": "sinusoidal"}
    described = {
        "id": "labels",
        "task": "classification",
        "directions": [],
        "labels": ["neg", "pos", "unsure"],
        **shape,
        "engine": "float",
        "run": None,
    }
    assert {name: served["labels"][name] for name in described} == described
    assert served["bytes"]["task"] == "language_modeling"
    assert served["bytes"]["layers"] == {"encoder": 0, "decoder": 1}
    assert served["bytes"]["vocabulary"] == ByteSymbols().vocab_size


def test_a_decision_is_looked_into_as_in_python(server: ServerProcess, folders: dict[str, Path]) -> None:
    status, body = post(server, "/api/classify/trace", {"q": REVIEWS[0]})
    answer = json.loads(body)
    assert status == 200
    expected = trace_classification(load_classifier(folders["labels"], device="cpu"), REVIEWS[0])
    assert answer["label"] == expected.decision.label
    assert [token["text"] for token in answer["tokens"]] == [token.text for token in expected.tokens]
    assert [word["word"] for word in answer["words"]] == ["a", "truly", "good", "film"]
    weights = np.stack([from_array(layer) for layer in answer["attention"]])
    np.testing.assert_allclose(weights, expected.weights, atol=1 / 255)
    status, body = post(server, "/api/classify/trace", {"q": " "})
    assert (status, json.loads(body)["error"]) == (400, "The text to look into must not be empty, but is.")


def test_reading_is_looked_into_as_in_python(server: ServerProcess, folders: dict[str, Path]) -> None:
    text = "the old whale and the sea, the sea"
    status, body = post(server, "/api/text/trace", {"q": text, "numRead": 8})
    answer = json.loads(body)
    assert status == 200
    expected = trace_text(load_text_model(folders["bytes"], device="cpu"), text, num_read=8)
    assert (answer["remembered"], answer["read"]) == (list(expected.remembered), list(expected.read))
    assert answer["logProbs"] == pytest.approx(list(expected.log_probs), abs=1e-5)
    assert [row[0]["id"] for row in answer["expected"]] == [row[0].id for row in expected.expected]
    assert [len(layer) for layer in answer["reach"]] == [2]
    assert answer["reach"][0][1]["distance"] == pytest.approx(float(reach(expected.weights)[0, 1]), abs=1e-5)
    assert post(server, "/api/text/trace", {"q": "x" * 8001})[0] == 413


def test_what_else_could_have_been_written_is_told_on_request(server: ServerProcess, folders: dict[str, Path]) -> None:
    wish = {"prompt": "the old", "maxTokens": 12, "temperature": 0, "top": 3}
    _, body = post(server, "/api/generate", wish)
    events = [json.loads(data) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n\n", body) if name == "text"]
    told = [event for event in events if "choices" in event]
    assert len(told) == 12
    for event in told:
        assert [choice["probability"] for choice in event["choices"]] == sorted(
            (choice["probability"] for choice in event["choices"]), reverse=True
        )
        assert event["probability"] == event["choices"][0]["probability"]  # temperature 0 takes the likeliest
        assert len(event["choices"]) == 3
    writer = load_text_model(folders["bytes"], device="cpu")
    expected = b"".join(writer.generate("the old", max_tokens=12, temperature=0))
    assert "".join(event["text"] for event in events) == expected.decode(errors="replace")
    assert post(server, "/api/generate", {**wish, "top": 21})[0] == 400
