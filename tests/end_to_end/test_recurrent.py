"""A family that is not a Transformer goes every way: trained, resumed, scored, shown, served; refused in sentences."""

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
from heedful.engines.int8.library import is_available
from heedful.insight.ablation import Head, Layer, ablate
from heedful.insight.attention_cell import open_cell
from heedful.insight.checkpoint_traces import trace_checkpoints
from heedful.insight.wire import from_array
from heedful.tasks.translation.load import load_translator
from tests.support.commands import Command
from tests.support.family_run import TEXT, ask_about_text, trained
from tests.support.forked_server import ForkedServer
from tests.support.traced_sentence import layers_of


@pytest.fixture(scope="module")
def run(heedful: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(heedful, tmp_path_factory.mktemp("recurrent"), "recurrent")


def test_it_translates_what_it_has_learned(heedful: Command, run: Path) -> None:
    result = heedful("translate", "--model", run, TEXT)
    assert (result.returncode, result.stdout) == (0, "zehn häuser\n".encode())
    single = load_translator(run).translate_detailed([TEXT], beam_size=4, n_best=3)[0]
    assert [len(single.alternatives), single.alternatives[0].text] == [3, "zehn häuser"]
    assert single.alternatives[0].score >= single.alternatives[1].score >= single.alternatives[2].score
    assert "A recurrent network that translates from en into de" in (run / "model" / "README.md").read_text()


def test_its_words_are_linked(heedful: Command, run: Path) -> None:
    result = heedful("translate", "--model", run, "--alignment", "pharaoh", TEXT)
    assert result.stdout.decode() == "zehn häuser ||| 0-0 1-1\n"


def test_it_is_scored(heedful: Command, run: Path) -> None:
    result = heedful("evaluate", run, "--json", cwd=run.parents[1])
    assert result.returncode == 0, result.stderr.decode()
    assert "BLEU" in result.stdout.decode()


def test_a_resumed_run_is_the_uninterrupted_one(heedful: Command, run: Path) -> None:
    root = run.parents[1]
    arguments = (
        "name=halves", "training.max_steps=60", "training.batch_tokens=512", "training.schedule.kind=inverse_sqrt",
    )  # fmt: skip
    whole = heedful("train", "recurrent.toml", *arguments, "name=whole", cwd=root)
    assert whole.returncode == 0, whole.stderr.decode()
    half = heedful("train", "recurrent.toml", *arguments, "training.max_steps=30", cwd=root)
    assert half.returncode == 0, half.stderr.decode()
    rest = heedful("train", "recurrent.toml", *arguments, "--resume", cwd=root)
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
    assert payload["headChanges"].keys() == {"cross"}
    assert np.shape(payload["attribution"]) == (len(payload["target"]["tokens"]), len(payload["source"]["tokens"]))


def test_its_trace_is_what_it_did(run: Path) -> None:
    translator = package.load(run, quantize="none")
    trace = translator.translate(TEXT, trace=True)
    model = translator.readable_model
    weights = trace.attention("cross", 0, 0)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
    assert trace.forced_log_prob == pytest.approx(trace.log_prob, abs=1e-4)
    cell = open_cell(model, trace, "cross", layer=0, head=0, row=1, column=0)
    assert cell.formula == "additive"
    assert cell.weight == pytest.approx(float(weights[1, 0]), abs=1e-6)
    without = ablate(translator, trace, [Head("cross", 0, 0)])
    assert without.change < -1, "without attention it knows little of the sentence"
    with pytest.raises(package.errors.UserError, match='`kind` must be "cross"'):
        trace.attention("encoder", 0, 0)
    with pytest.raises(package.errors.UserError, match="A layer can be switched off in a Transformer only"):
        ablate(translator, trace, [Layer("encoder", 0)])
    first, last = trace_checkpoints(run, TEXT, hypothesis="zehn häuser")
    assert (first.step, last.step) == (180, 240)
    assert not np.array_equal(first.trace.weights["cross"], last.trace.weights["cross"])
    np.testing.assert_allclose(last.trace.weights["cross"], trace.weights["cross"], atol=1e-6)  # the one that ships


@pytest.mark.skipif(not is_available(), reason="needs a C++ compiler")
def test_the_int8_engine_writes_its_output(run: Path) -> None:
    translator, exact = package.load(run, quantize="int8"), package.load(run, quantize="none")
    trace = translator.translate(TEXT, trace=True)
    assert (translator.engine, exact.engine, trace.engine) == ("int8", "float", "int8")
    assert trace.text == translator.translate(TEXT) == exact.translate(TEXT)
    assert 0 < abs(trace.log_prob - trace.forced_log_prob) < 0.01 * len(trace.tokens)
    # As modules it is the model itself, so what it looks at is the same.
    looked = exact.translate(TEXT, trace=True).attention("cross", 0, 0)
    np.testing.assert_allclose(trace.attention("cross", 0, 0), looked, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("export", "--format", "huggingface"),
            "A model for Hugging Face must be a Transformer, but this one is a recurrent network.",
        ),
        (
            ("export", "--format", "ctranslate2"),
            "CTranslate2 runs Transformers, but this model is a recurrent network.",
        ),
    ],
)
def test_what_only_a_transformer_can_do_is_refused_in_a_sentence(
    heedful: Command, run: Path, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    verb, *rest = arguments
    more = [run, *rest, "--out", tmp_path / "out"] if verb == "export" else [*rest, "--model", run]
    result = heedful(verb, *more)
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.decode().rstrip().endswith(sentence)


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
    weights = from_array(layers_of(trace, "cross")[0])
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=0.01)
    ids = [token["id"] for token in trace["target"]["tokens"]]
    assert post("/api/trace/ablation", targetIds=ids, headsOff=[["cross", 0, 0]])["change"] < -1
    assert np.shape(post("/api/trace/heads", targetIds=ids)["heads"]["cross"]) == (1, 1)
    cell = post("/api/trace/cell", targetIds=ids, kind="cross", layer=0, head=0, row=1, column=0)
    assert (cell["formula"], cell["divisor"]) == ("additive", 1)
    assert cell["total"] == pytest.approx(sum(cell["terms"]), abs=0.01)
    with urlopen(f"{server.url}/api/positions", timeout=60) as answer:
        assert json.load(answer) == {"kind": "sequential"}
