"""What travels: sizes, exactness, and text that must stay text."""

import base64
import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from heedful.insight.ablation import head_changes
from heedful.insight.attribution import attribute
from heedful.insight.beam_tree import BeamNode, BeamTree
from heedful.insight.html import embed_json, render_frame, render_page
from heedful.insight.payload import to_payload
from heedful.insight.wire import from_array, to_array
from tests.support.small_models import SENTENCE, large_trace, random_weights, small_translator


def test_bytes_err_by_half_a_step_at_most() -> None:
    weights = random_weights(4, 20, 30)
    packed = to_array(weights)
    assert (packed["dtype"], packed["shape"]) == ("u1", [4, 20, 30])
    assert len(base64.b64decode(packed["data"])) == weights.size
    np.testing.assert_allclose(from_array(packed), weights, atol=packed["scale"] / 2 + 1e-7)
    assert from_array(packed).max() == pytest.approx(weights.max())
    np.testing.assert_allclose(from_array(to_array(weights, "f2")), weights, rtol=1e-3, atol=1e-6)
    assert not from_array(to_array(np.zeros((1, 2, 2), dtype=np.float32))).any()


def test_sixty_by_sixty_tokens_with_6_layers_of_8_heads_are_less_than_a_megabyte() -> None:
    trace = small_translator().translate(SENTENCE, trace=True)
    node = BeamNode(599, 598, 59, 7, 12345, "▁wunderbar", -12.3456, -123.4567, -12.3456, "pruned", 59, False)
    large = replace(large_trace(trace), beam=BeamTree((node,) * (60 * 8), 4, 0.6, 599))
    payload = to_payload(large)
    assert payload["attention"][-1]["layers"][0]["dtype"] == "u1"
    assert len(json.dumps(payload)) < 1_000_000
    assert len(render_page(large)) < 1_000_000


def test_the_weights_of_a_sentence_travel_exact_to_three_digits() -> None:
    trace = small_translator().translate(SENTENCE, trace=True)
    for use in to_payload(trace)["attention"]:
        shown = np.stack([from_array(layer) for layer in use["layers"]])
        np.testing.assert_allclose(shown, trace.weights[use["name"]], atol=2.5e-4)


def test_a_payload_holds_the_whole_trace() -> None:
    translator = small_translator()
    trace = translator.translate(SENTENCE, trace=True)
    attribution = attribute(translator.readable_model, trace)
    payload = json.loads(
        json.dumps(to_payload(trace, attribution=attribution, changes=head_changes(translator, trace)))
    )
    assert (payload["source"]["text"], payload["target"]["text"]) == (trace.source, trace.text)
    assert [token["text"] for token in payload["target"]["tokens"]] == list(trace.tokens)
    assert [step["logProb"] for step in payload["steps"]] == pytest.approx(
        [step.log_prob for step in trace.steps], abs=1e-4
    )
    nodes = payload["beam"]["nodes"]
    assert [node["id"] for node in nodes] == list(range(len(nodes)))
    assert nodes[payload["beam"]["chosen"]]["fate"] == "finished"
    assert [(use["name"], use["from"], use["at"], use["causal"]) for use in payload["attention"]] == [
        ("encoder", "source", "source", False),
        ("decoder", "target", "target", True),
        ("cross", "target", "source", False),
    ]
    for use in payload["attention"]:
        kind = use["name"]
        unpacked = np.stack([from_array(layer) for layer in use["layers"]])
        np.testing.assert_allclose(unpacked, trace.weights[kind], atol=1 / 255)
        assert np.shape(payload["entropy"][kind]) == np.shape(payload["headChanges"][kind]) == unpacked.shape[:2]
    np.testing.assert_allclose(payload["attribution"], attribution.by_token, atol=1e-4)
    assert "attribution" not in to_payload(trace)


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "]]> & &lt; \u2028 \u2029 '\"`",
    '" onload="x',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_never_becomes_markup(text: str) -> None:
    trace = small_translator().translate(text, trace=True)
    page = render_page(trace)
    ordinary = render_page(small_translator().translate(SENTENCE, trace=True))
    assert re.findall(r"<[a-z!/]+", page) == re.findall(r"<[a-z!/]+", ordinary)
    (held,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    assert json.loads(held)["source"]["text"] == text
    assert "<script" not in render_frame(trace).replace("srcdoc", "")


def test_embedded_json_has_nothing_that_begins_markup() -> None:
    assert embed_json({"a<b": "</script>&"}) == '{"a\\u003cb":"\\u003c/script\\u003e\\u0026"}'


def test_the_page_asks_for_nothing_and_parses_no_markup() -> None:
    page = render_page(small_translator().translate(SENTENCE, trace=True))
    assert "default-src 'none'" in page
    links = re.findall(r"https?://[^\s\"']+", page)
    assert [link for link in links if not link.startswith("http://www.w3.org/")] == []  # those are names of languages
    own = [path for path in (resources.files("heedful.insight") / "page").iterdir() if path.name.endswith(".js")]
    for module in own:
        for way in ("nnerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"):
            assert way not in module.read_text(encoding="utf-8")


def test_every_module_becomes_a_function_after_those_it_imports() -> None:
    script = render_page(small_translator().translate(SENTENCE, trace=True))
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)
    made = re.findall(r'^modules\["([\w./]+)"\] = ', script, re.MULTILINE)
    assert len(made) == len(set(made))
    assert made[-1] == "explained.js"
    functions = re.split(r'^modules\["[\w./]+"\] = ', script, flags=re.MULTILINE)[1:]
    for number, text in enumerate(functions):
        assert set(re.findall(r'modules\["([\w./]+)"\];', text)) <= set(made[:number])


def test_a_trace_shows_itself_in_a_notebook_and_writes_itself(tmp_path: Path) -> None:
    trace = small_translator().translate(SENTENCE, trace=True)
    assert trace._repr_html_().startswith("<iframe srcdoc=")
    trace.to_html(tmp_path / "trace.html")
    assert (tmp_path / "trace.html").read_text(encoding="utf-8") == render_page(trace)
