"""A generator that needs no steps goes the way of every other: Python, lines, the server's engine, streams, traces.

It copies, so that what comes out is known. The server is a real one, on a port of its own.
"""

import json
import re
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest
import torch
import uvicorn

from heedful.errors import UserError
from heedful.insight.trace import trace_translation
from heedful.serving.app import make_api, make_app
from heedful.serving.checkpoint_models import CheckpointModels
from heedful.serving.engines import Engines
from heedful.serving.guard import Access
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.preparation import Preparation
from heedful.serving.routing import Server
from heedful.serving.runs import Runs
from heedful.serving.translating import TranslationEngine
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from tests.support.generators import CopyingGenerator
from tests.support.http_client import exchange, post
from tests.support.small_models import SENTENCE, small_translator

NO_STEPS = "Only a model with attention can be looked into, but this one writes without steps to show."
COPIED = {"code": "copied", "message": "the translation is largely copied from the input."}


@pytest.fixture(scope="module")
def copier() -> Translator:
    return replace(small_translator(), generator=CopyingGenerator())


@dataclass(frozen=True)
class Address:
    """Where a server answers."""

    url: str


@pytest.fixture(scope="module")
def server(copier: Translator) -> Iterator[Address]:
    limits, measures = Limits(), Measures()
    shared = Server(
        engines=Engines([TranslationEngine("copier", copier, limits, measures.of_model("copier"))], {"copier": {}}),
        runs=Runs([], None, limits),
        checkpoints=CheckpointModels(limits, measures.of_model("checkpoints"), torch.device("cpu")),
        preparation=Preparation(limits, measures.of_model("preparation")),
        limits=limits,
        measures=measures,
    )
    config = uvicorn.Config(make_app(make_api(shared), Access()), lifespan="off", log_config=None)
    process = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=process.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not process.started:
            time.sleep(0.01)
        yield Address(f"http://127.0.0.1:{listener.getsockname()[1]}")
        process.should_exit = True
        thread.join()


def test_it_translates_texts_lines_and_alternatives_with_warnings(copier: Translator) -> None:
    assert copier.translate(SENTENCE) == SENTENCE
    lines = copier.translate_lines([SENTENCE, "", "wo"], TranslationRequest())
    assert [line.text for line in lines] == [SENTENCE, "", "wo"]
    [found] = copier.translate_detailed([SENTENCE], n_best=2)
    assert SENTENCE.startswith(found.alternatives[1].text)
    assert len(found.alternatives[1].text) < len(SENTENCE)
    assert [{"code": it.code, "message": it.message} for it in found.warnings] == [COPIED]


def test_it_is_asked_by_the_rules_of_the_translator(copier: Translator) -> None:
    generator = CopyingGenerator()
    replace(copier, generator=generator).translate(["where", SENTENCE], beam_size=3)
    [request] = generator.requests
    tokenizer, decoding = copier.tokenizer, copier.decoding
    assert (request.bos_id, request.eos_id) == (tokenizer.bos_id, tokenizer.eos_id)
    assert (request.beam_size, request.n_best, request.length_penalty) == (3, 1, decoding.length_penalty)
    lengths = sorted((len(ids) for ids in tokenizer.encode_source_batch(["where", SENTENCE])), reverse=True)
    assert list(request.max_lengths) == [length + decoding.extra_tokens for length in lengths]


def test_the_server_answers_with_it(server: Address) -> None:
    request = {"q": [SENTENCE, "wo"], "source": "en", "target": "de", "alternatives": 1, "details": True}
    status, answer = post(server, "/translate", request)  # type: ignore[arg-type]
    assert (status, answer["translatedText"]) == (200, [SENTENCE, "wo"])
    assert answer["warnings"] == [[COPIED], []]
    assert [len(others) for others in answer["alternatives"]] == [1, 0]


@pytest.mark.parametrize("beam", [1, 2])
def test_a_stream_tells_whole_sentences_for_it_has_no_tokens_before(server: Address, beam: int) -> None:
    content = {"q": f"{SENTENCE}. wo.", "source": "en", "target": "de", "beam": beam}
    body = json.dumps(content).encode()
    status, told, _ = exchange(
        urllib.request.Request(f"{server.url}/api/translate/stream", body, {"Content-Type": "application/json"})
    )
    assert status == 200
    assert re.findall(r"event: (\w+)", told.decode()) == ["sentence", "sentence", "done"]
    assert json.loads(told.decode().split("data: ")[-1]) == {"translatedText": f"{SENTENCE}. wo.", "warnings": []}


def test_a_trace_says_that_there_is_nothing_to_show(copier: Translator, server: Address) -> None:
    with pytest.raises(UserError) as refusal:
        trace_translation(copier, *copier.plan([SENTENCE], TranslationRequest()))
    assert str(refusal.value) == NO_STEPS
    status, answer = post(server, "/api/trace", {"q": SENTENCE, "source": "en", "target": "de"})  # type: ignore[arg-type]
    assert (status, answer) == (400, {"error": NO_STEPS})


def test_with_modules_to_look_into_its_trace_has_attention_and_no_beam(copier: Translator) -> None:
    model = small_translator().readable_model
    shown = replace(copier, reference=lambda: model)
    trace = trace_translation(shown, *shown.plan([SENTENCE], TranslationRequest()))
    assert (trace.text, trace.beam) == (SENTENCE, None)
    assert trace.attention("cross", 0, 0).shape == (len(trace.target_tokens), len(trace.source_tokens))


def test_a_translator_does_not_change(copier: Translator) -> None:
    with pytest.raises(FrozenInstanceError):
        copier.generator = CopyingGenerator()  # type: ignore[misc]
    assert small_translator().generator is not copier.generator
