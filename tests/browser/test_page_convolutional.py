"""A convolutional model on the page: the one head of every decoder layer is drawn, and so are its positions."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from heedful.config.models import ConvolutionalConfig
from heedful.insight.wire import from_array
from tests.support.family_run import served
from tests.support.traced_sentence import asked, layers_of

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]
TEXT = "where is the station"
QUERY = "text=where+is+the+station&source=en&target=de"


@pytest.fixture(scope="module")
def server(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """`heedful serve` with a convolutional model of drawn weights."""
    config = ConvolutionalConfig(kind="convolutional", dim=32, num_encoder_layers=1, num_decoder_layers=3)
    with served(config, tmp_path_factory.mktemp("convolutional") / "model") as process:
        yield process


def test_the_head_of_every_layer_is_drawn_and_explained(server: ServerProcess, visited: Visit) -> None:
    payload = asked(server, q=TEXT, source="en")
    weights = [from_array(layer)[0] for layer in layers_of(payload, "cross")]
    assert len(weights) == 3
    for layer in (0, 2):
        with visited(server, f"?view=attention&{QUERY}&layer={layer}&cell=1,0") as page:
            page.wait_for_selector(".heat canvas")
            choices = page.inner_text(".tools")
            assert "Cross" in choices
            assert "Encoder" not in choices
            assert page.locator(".all-heads canvas").count() == 3
            page.wait_for_selector(".cell .steps")
            shown = float(page.inner_text(".steps .softmax output"))
            assert shown == pytest.approx(float(weights[layer][1, 0]), abs=0.002)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "There is no attention inside the source and the translation"), ("zh", "原文和译文内部没有注意力")],
)
def test_what_it_has_not_is_said(server: ServerProcess, visited: Visit, language: str, sentence: str) -> None:
    with visited(server, f"?view=heads&{QUERY}&language={language}") as page:
        page.get_by_text(sentence).wait_for()


def test_its_positions_are_drawn(server: ServerProcess, visited: Visit) -> None:
    with visited(server, f"?view=positions&{QUERY}") as page:
        page.wait_for_selector("canvas")
        assert page.locator("p.none").count() == 0
