"""The convolutional family goes every way: trained, resumed, scored, aligned, shown, served; refused in sentences."""

import json
import re
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from benchmarks.load import ServerProcess

import heedful as package
from heedful.insight.ablation import Head, ablate
from heedful.insight.attention_cell import open_cell
from heedful.insight.wire import from_array
from heedful.tasks.translation.load import load_translator
from tests.support.commands import Command
from tests.support.family_run import HOSTILE, TEXT, ask_about_text, trained
from tests.support.forked_server import ForkedServer
from tests.support.traced_sentence import layers_of


@pytest.fixture(scope="module")
def run(heedful: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(heedful, tmp_path_factory.mktemp("convolutional"), "convolutional")


def test_it_translates_what_it_has_learned(heedful: Command, run: Path) -> None:
    result = heedful("translate", "--model", run, "--alignment", "pharaoh", TEXT)
    assert (result.returncode, result.stdout) == (0, "zehn häuser ||| 0-0 1-1\n".encode())
    single = load_translator(run).translate_detailed([TEXT], beam_size=4, n_best=3)[0]
    assert [len(single.alternatives), single.alternatives[0].text] == [3, "zehn häuser"]
    assert single.alternatives[0].score >= single.alternatives[1].score >= single.alternatives[2].score
    assert "A convolutional network that translates from en into de" in (run / "model" / "README.md").read_text()


def test_a_term_of_a_glossary_is_kept(heedful: Command, run: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("houses\tbücher\n", encoding="utf-8")
    for beam in (1, 4):
        options = ("--glossary", tmp_path / "terms.tsv", "--beam", beam)
        result = heedful("translate", "--model", run, *options, TEXT)
        assert result.returncode == 0, result.stderr.decode()
        assert "bücher" in result.stdout.decode().lower()


def test_any_line_is_a_line_and_the_same_in_any_batch(heedful: Command, run: Path) -> None:
    lines = "".join(line.replace("\n", " ") + "\n" for line in HOSTILE).encode()
    result = heedful("translate", "--model", run, stdin=lines)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.count(b"\n") == len(HOSTILE)
    translator = load_translator(run)
    together = translator.translate(HOSTILE)
    assert together == [translator.translate(line) for line in HOSTILE]


def test_it_is_scored(heedful: Command, run: Path) -> None:
    result = heedful("evaluate", run, "--json", cwd=run.parents[1])
    assert result.returncode == 0, result.stderr.decode()
    assert "BLEU" in result.stdout.decode()


def test_a_resumed_run_is_the_uninterrupted_one(heedful: Command, run: Path) -> None:
    root = run.parents[1]
    arguments = (
        "name=halves", "training.max_steps=40", "training.batch_tokens=512", "training.schedule.kind=inverse_sqrt",
        "model.dropout=0.1",
    )  # fmt: skip
    whole = heedful("train", "convolutional.toml", *arguments, "name=whole", cwd=root)
    assert whole.returncode == 0, whole.stderr.decode()
    half = heedful("train", "convolutional.toml", *arguments, "training.max_steps=20", cwd=root)
    assert half.returncode == 0, half.stderr.decode()
    rest = heedful("train", "convolutional.toml", *arguments, "--resume", cwd=root)
    assert rest.returncode == 0, rest.stderr.decode()
    weights = [root / "runs" / name / "model" / "model.safetensors" for name in ("whole", "halves")]
    assert len({sha256(path.read_bytes()).hexdigest() for path in weights}) == 1


def test_a_page_explains_it(heedful: Command, run: Path, tmp_path: Path) -> None:
    result = heedful("explain", TEXT, "--model", run, "--out", tmp_path / "page.html")
    assert result.returncode == 0, result.stderr.decode()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (held,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    payload = json.loads(held)
    (use,) = payload["attention"]
    assert (use["name"], use["from"], use["at"], use["causal"]) == ("cross", "target", "source", False)
    assert np.shape(payload["headChanges"]["cross"]) == (2, 1)
    assert np.shape(payload["attribution"]) == (len(payload["target"]["tokens"]), len(payload["source"]["tokens"]))


def test_its_trace_is_what_it_did(run: Path) -> None:
    translator = package.load(run)
    trace = translator.translate(TEXT, trace=True)
    model = translator.readable_model
    assert trace.forced_log_prob == pytest.approx(trace.log_prob, abs=1e-4)
    for layer in range(2):
        weights = trace.attention("cross", layer, 0)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
        cell = open_cell(model, trace, "cross", layer=layer, head=0, row=1, column=0)
        assert (cell.formula, cell.divisor) == ("dot_product", 8)
        assert cell.weight == pytest.approx(float(weights[1, 0]), abs=1e-6)
    without = ablate(translator, trace, [Head("cross", 0, 0), Head("cross", 1, 0)])
    assert without.change < -1, "without attention it knows nothing of the sentence"


def test_what_only_a_transformer_can_do_is_refused_in_a_sentence(heedful: Command, run: Path, tmp_path: Path) -> None:
    result = heedful("export", run, "--format", "huggingface", "--out", tmp_path / "out")
    assert result.returncode == 2
    wanted = "A model for Hugging Face must be a Transformer, but this one is a convolutional network."
    assert result.stderr.decode().rstrip().endswith(wanted)
    result = heedful("translate", TEXT, "--quantize", "int8", "--model", run)
    assert result.returncode == 2
    wanted = "for a convolutional network: the int8 engine is for Transformers and recurrent networks."
    assert result.stderr.decode().rstrip().endswith(wanted)


def test_with_8_bit_weights_it_is_a_quarter_of_the_size_and_says_the_same(
    heedful: Command, run: Path, tmp_path: Path
) -> None:
    assert heedful("export", run, "--format", "int8", "--out", tmp_path / "small").returncode == 0
    sizes = [(path / "model.safetensors").stat().st_size for path in (run / "model", tmp_path / "small")]
    assert sizes[1] < 0.4 * sizes[0]
    assert heedful("translate", "--model", tmp_path / "small", TEXT).stdout == "zehn häuser\n".encode()


@pytest.fixture(scope="module")
def server(run: Path) -> Iterator[ServerProcess]:
    with ForkedServer("--model", str(run)) as process:
        yield process


def test_a_server_translates_traces_and_opens_cells(server: ServerProcess) -> None:
    post = partial(ask_about_text, server)
    assert post("/translate")["translatedText"] == "zehn häuser"
    trace = post("/api/trace")
    layers = layers_of(trace, "cross")
    assert len(layers) == 2
    for layer in layers:
        np.testing.assert_allclose(from_array(layer).sum(axis=-1), 1.0, atol=0.01)
    ids = [token["id"] for token in trace["target"]["tokens"]]
    assert np.shape(post("/api/trace/heads", targetIds=ids)["heads"]["cross"]) == (2, 1)
    cell = post("/api/trace/cell", targetIds=ids, kind="cross", layer=1, head=0, row=1, column=0)
    assert (cell["formula"], cell["divisor"]) == ("dot_product", 8)
    with urlopen(f"{server.url}/api/positions", timeout=60) as answer:
        assert json.load(answer)["kind"] == "sinusoidal"
