"""A model that is not a Transformer on the page: its one attention is drawn, and what it has not is said."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from benchmarks.load import ServerProcess

from heedful.config.models import RecurrentConfig
from heedful.insight.wire import from_array
from tests.support.family_run import served
from tests.support.traced_sentence import asked, layers_of

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]
TEXT = "where is the station"
QUERY = "text=where+is+the+station&source=en&target=de"


@pytest.fixture(scope="module")
def server(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """`heedful serve` with a recurrent model of drawn weights."""
    config = RecurrentConfig(kind="recurrent", dim=32, num_encoder_layers=1, num_decoder_layers=1)
    with served(config, tmp_path_factory.mktemp("recurrent") / "model") as process:
        yield process


def test_its_attention_is_drawn_and_explained(server: ServerProcess, visited: Visit) -> None:
    payload = asked(server, q=TEXT, source="en")
    weights = from_array(layers_of(payload, "cross")[0])[0]
    with visited(server, f"?view=attention&{QUERY}&cell=1,0") as page:
        page.wait_for_selector(".heat canvas")
        choices = page.inner_text(".tools")
        assert "Cross" in choices
        assert "Encoder" not in choices
        assert page.locator(".all-heads canvas").count() == 1
        page.wait_for_selector(".cell .steps")
        assert page.locator(".steps .scaled").count() == 0
        assert "tanh" in page.inner_text(".steps .total")
        assert float(page.inner_text(".steps .softmax output")) == pytest.approx(float(weights[1, 0]), abs=0.002)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=0.01)


@pytest.mark.parametrize(
    ("view", "language", "sentence"),
    [
        ("heads", "en", "There is no attention inside the source and the translation"),
        ("heads", "zh", "原文和译文内部没有注意力"),
        ("positions", "en", "This model has no table of positions"),
        ("positions", "zh", "这个模型没有位置表"),
    ],
)
def test_what_it_has_not_is_said(
    server: ServerProcess, visited: Visit, view: str, language: str, sentence: str
) -> None:
    with visited(server, f"?view={view}&{QUERY}&language={language}") as page:
        page.get_by_text(sentence).wait_for()


def test_its_decoding_is_shown_without_self_attention(server: ServerProcess, visited: Visit) -> None:
    with visited(server, f"?view=decoding&{QUERY}") as page:
        page.get_by_text("Written before", exact=True).wait_for()
        assert page.locator(".chips.source small").count() > 0
        assert page.locator(".chips.read small").count() == 0


def test_chapters_about_a_transformer_say_that_it_is_none(server: ServerProcess, visited: Visit) -> None:
    with visited(server, f"?view=learn&chapter=7&{QUERY}") as page:
        page.get_by_text("a part of a Transformer that the chosen model does not have").first.wait_for()
