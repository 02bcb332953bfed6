"""Recurrent models that label texts and that write them on: trained, resumed, used, scored, shown, served."""

import json
import random
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from benchmarks.load import ServerProcess

from heedful.demo.corpus import make_corpus
from tests.support.commands import Command
from tests.support.forked_server import ForkedServer

TRAINING = """
[training]
max_steps = 40
batch_tokens = 512
{more}
schedule = {{ kind = "cosine", peak = 8e-3, warmup_steps = 10 }}
checkpoint = {{ every_steps = 10, keep_last = 2 }}
average = {{ count = 1 }}

[validation]
every_steps = 20
"""
TEXT = """
task = "language_modeling"
name = "text"
data = { train = ["train.txt"], validation = ["validation.txt"], test = { unseen = "test.txt" } }
model = { kind = "recurrent", dim = 48, num_layers = 2, dropout = 0.1 }
""" + TRAINING.format(more="segment_len = 32")
LABELS = """
task = "classification"
name = "labels"
data = { train = [{ path = "train.jsonl" }], hold_out = 0.2 }
tokenizer = { vocab_size = 330 }
model = { kind = "recurrent", dim = 32, num_layers = 1, long_documents = { kind = "windows", length = 32 } }
""" + TRAINING.format(more="label_smoothing = 0.0")
WORDS = {"pos": ["lovely", "great", "superb"], "neg": ["awful", "boring", "poor"]}
FILLERS = ["the", "a", "film", "was", "plot", "actor", "scene", "and", "it", "really"]


def write_data(root: Path) -> None:
    corpus = make_corpus(num_train=800, num_validation=20, num_test=20)
    for name, pairs in (("train", corpus.train), ("validation", corpus.validation), ("test", corpus.test)):
        (root / f"{name}.txt").write_text("".join(f"{pair[0]}\n" for pair in pairs))
    chance = random.Random(1)
    with (root / "train.jsonl").open("w") as file:
        for _ in range(400):
            label = chance.choice(["neg", "pos"])
            words = [chance.choice(FILLERS) for _ in range(chance.randrange(3, 40))]
            words.insert(chance.randrange(len(words)), chance.choice(WORDS[label]))
            file.write(json.dumps({"text": " ".join(words), "label": label}) + "\n")


@pytest.fixture(scope="module")
def root(heedful: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `runs/text` and `runs/labels`."""
    root = tmp_path_factory.mktemp("recurrent_tasks")
    write_data(root)
    for name, config in (("text", TEXT), ("labels", LABELS)):
        (root / f"{name}.toml").write_text(config)
        result = heedful("train", f"{name}.toml", cwd=root)
        assert result.returncode == 0, result.stderr.decode()
    return root


@pytest.mark.parametrize("name", ["text", "labels"])
def test_a_resumed_run_is_the_uninterrupted_one(heedful: Command, root: Path, name: str) -> None:
    steady = "training.schedule.kind=inverse_sqrt"  # not one that ends where training does
    parts = [("whole",), ("halves", "training.max_steps=20"), ("halves", "--resume")]
    for which, *more in parts:
        result = heedful("train", f"{name}.toml", steady, f"name={name}_{which}", *more, cwd=root)
        assert result.returncode == 0, result.stderr.decode()
    weights = [root / "runs" / f"{name}_{which}" / "model" / "model.safetensors" for which in ("whole", "halves")]
    assert len({sha256(path.read_bytes()).hexdigest() for path in weights}) == 1


def test_it_writes_on_and_is_scored(heedful: Command, root: Path) -> None:
    asked = ("generate", "The", "--model", "runs/text", "--max-tokens", "30", "--seed", "1")
    written, again = (heedful(*asked, cwd=root) for _ in range(2))
    assert written.returncode == 0, written.stderr.decode()
    assert again.stdout == written.stdout != b""
    scored = heedful("evaluate", "runs/text", "--json", cwd=root)
    assert scored.returncode == 0, scored.stderr.decode()
    (found,) = re.findall(r'"bits_per_byte": ([0-9.]+)', scored.stdout.decode())
    assert 0 < float(found) < 4.5
    moving = heedful("evaluate", "runs/text", "--dynamic", "sgd", cwd=root)
    assert moving.returncode == 0, moving.stderr.decode()


def test_it_labels(heedful: Command, root: Path) -> None:
    lines = b"a lovely film\n\nthe plot was awful\nit was great\r\n"
    result = heedful("classify", "--model", "runs/labels", stdin=lines, cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    assert [line.split("\t")[0] for line in result.stdout.decode().split("\n")[:-1]] == ["pos", "", "neg", "pos"]
    found = heedful("classify", "the film was really boring and a plot", "--model", "runs/labels", "--json", cwd=root)
    assert max(json.loads(found.stdout)["words"], key=lambda it: it["influence"])["word"] == "boring"


@pytest.mark.parametrize(("name", "said"), [("text", "remembers by a state"), ("labels", "pos")])
def test_what_it_did_is_shown_without_attention(
    heedful: Command, root: Path, tmp_path: Path, name: str, said: str
) -> None:
    page = tmp_path / "page.html"
    result = heedful("explain", "a great film", "--model", f"runs/{name}", "--out", page, cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    (held,) = re.findall(
        r'<script type="application/json" id="trace">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL
    )
    assert json.loads(held)["attention"] == []
    shown = heedful("explain", "a great film", "--model", f"runs/{name}", cwd=root)
    assert said in shown.stdout.decode(), shown.stderr.decode()


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[ServerProcess]:
    models = [str(root / "runs" / name) for name in ("text", "labels")]
    with ForkedServer("--model", models[0], "--model", models[1]) as process:
        yield process


def test_a_server_labels_writes_and_traces(server: ServerProcess) -> None:
    def post(path: str, **fields: object) -> dict[str, Any]:
        body = json.dumps({"q": "a great film", **fields}).encode()
        with urlopen(Request(server.url + path, body, {"content-type": "application/json"}), timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    trace = post("/api/text/trace", numRead=8)
    assert trace["attention"] == []
    assert len(trace["read"]) == 8
    assert post("/api/classify/trace")["attention"] == []
