"""What looking into a sentence costs: on a real server, with a generator that counts its searches."""

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import cast

import pytest
import torch
import uvicorn
from benchmarks.load import ServerProcess
from torch import Tensor

from heedful.decoding import Generator, Hypothesis, SearchRequest
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
from heedful.tasks.translation.load import translator_of
from heedful.tasks.translation.translator import Translator
from tests.support.http_client import post
from tests.support.tiny_models import make_model
from tests.support.traced_sentence import named

LANGUAGES = ("de", "en", "fr")


@dataclass
class CountingGenerator:
    """A generator that counts its searches."""

    generator: Generator
    num_searches: int = 0

    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        self.num_searches += 1
        return self.generator.generate(source_ids, source_mask, request)


@pytest.fixture
def plain() -> Translator:
    return translator_of([make_model(languages=LANGUAGES)], torch.device("cpu"))


@pytest.fixture
def counting(plain: Translator) -> CountingGenerator:
    return CountingGenerator(plain.generator)


@pytest.fixture
def server(plain: Translator, counting: CountingGenerator) -> Iterator[ServerProcess]:
    translator = replace(plain, generator=counting, reference=lambda: plain.readable_model)
    limits, measures = Limits(), Measures()
    checkpoints = CheckpointModels(limits, measures.of_model("checkpoints"), torch.device("cpu"))
    preparation = Preparation(limits, measures.of_model("preparation"))
    engines = Engines([TranslationEngine("counting", translator, limits, measures.of_model("counting"))])
    api = make_api(Server(engines, Runs([], None, limits), checkpoints, preparation, limits, measures))
    app = make_app(api, Access())
    listener = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(app, ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield cast(ServerProcess, SimpleNamespace(url=f"http://127.0.0.1:{listener.getsockname()[1]}"))
    running.should_exit = True
    thread.join()


@pytest.mark.parametrize(("source", "num_steps"), [("en", 1), ("fr", 2)])
def test_one_look_at_a_sentence_costs_one_search(
    server: ServerProcess, counting: CountingGenerator, source: str, num_steps: int
) -> None:
    """By way of a third language it costs one for each step of the way, as translating does."""
    asked = {"q": "where is the station. wo ist der bahnhof", "sentence": 1, "source": source, "target": "de"}
    status, trace = post(server, "/api/trace", asked)
    assert status == 200
    assert trace["sentence"] == 1
    assert counting.num_searches == num_steps
    place = {"kind": "cross", "layer": 0, "head": 1, "row": 0, "column": 1}
    for path, more in (("attribution", {}), ("heads", {}), ("cell", place)):
        status, _ = post(server, f"/api/trace/{path}", {**named(trace), **more})
        assert status == 200
        assert counting.num_searches == num_steps, f"{path} has searched"
