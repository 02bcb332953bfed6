"""A language model from a text file to text: the real commands, a real SIGKILL, and what both must leave behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heedful.demo.corpus import make_corpus
from heedful.files import sha256_file
from heedful.tasks.language_modeling.model import load_text_model
from heedful.training.durability.checkpoint import list_checkpoints
from heedful.training.durability.journal import Journal
from tests.support.command_server import command_server
from tests.support.commands import Command, environment_of
from tests.support.small_run import locked

CONFIG = """
task = "language_modeling"
name = "text"

[data]
train = ["train.txt"]
validation = ["validation.txt"]
test = { unseen = "test.txt" }

[model]
dim = 48
num_heads = 4
hidden_dim = 96
num_layers = 2
dropout = 0.1

[training]
max_steps = 40
batch_tokens = 512
segment_len = 32
memory_len = 48
schedule = { kind = "cosine", peak = 8e-3, warmup_steps = 10 }
clip_norm = 1.0
checkpoint = { every_steps = 10, keep_last = 2 }
average = { count = 1 }
log_every = 5

[validation]
every_steps = 20
num_streams = 2
sample_len = 20
"""


def write_text(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    corpus = make_corpus(num_train=800, num_validation=20, num_test=20)
    for name, pairs in (("train", corpus.train), ("validation", corpus.validation), ("test", corpus.test)):
        (root / f"{name}.txt").write_text("".join(f"{pair[0]}\n" for pair in pairs))
    (root / "text.toml").write_text(CONFIG)


@pytest.fixture(scope="module")
def text_run(tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> Path:
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "text-run"
    with locked(root.with_suffix(".lock")):
        if not (root / "runs" / "text" / "model").exists():
            write_text(root)
            result = heedful("train", "text.toml", "--device", "cpu", cwd=root)
            assert result.returncode == 0, result.stderr.decode()
            assert "heedful generate PROMPT --model runs/text" in result.stderr.decode()
    return root


def outcome(run: Path) -> dict[str, object]:
    checkpoints = list_checkpoints(run / "checkpoints")
    records = Journal(run / "metrics.jsonl").records()
    return {
        "files": {path.name: sha256_file(path) for path in checkpoints[40].iterdir() if path.suffix != ".json"},
        "model": sha256_file(run / "model" / "model.safetensors"),
        "curve": [{key: value for key, value in record.items() if key != "timing"} for record in records],
        "samples": Journal(run / "samples.jsonl").records(),
    }


def test_killed_in_the_middle_and_resumed_it_ends_bit_for_bit_the_same(
    text_run: Path, heedful: Command, tmp_path: Path
) -> None:
    write_text(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "train", "text.toml", "--device", "cpu"],
        cwd=tmp_path,
        env=environment_of(),
        stderr=subprocess.DEVNULL,
    )
    checkpoints = tmp_path / "runs" / "text" / "checkpoints"
    while max(list_checkpoints(checkpoints), default=0) < 10:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    killed_at = max(list_checkpoints(checkpoints))
    assert 10 <= killed_at < 40
    assert (checkpoints / f"step-{killed_at:08d}" / "carried.safetensors").exists()
    result = heedful("train", "text.toml", "--resume", "--device", "cpu", cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    assert f"Going on after step {killed_at}." in result.stderr.decode()
    assert outcome(tmp_path / "runs" / "text") == outcome(text_run / "runs" / "text")


def test_it_has_learned_and_says_how_much(text_run: Path, heedful: Command) -> None:
    result = heedful("evaluate", "runs/text", "--json", "--device", "cpu", cwd=text_run)
    assert result.returncode == 0, result.stderr.decode()
    (found,) = [json.loads(line) for line in result.stdout.splitlines()]
    num_bytes = (text_run / "test.txt").stat().st_size
    assert (found["split"], found["bytes"], found["symbols"]) == ("unseen", num_bytes, num_bytes)
    assert 0.5 < found["bits_per_byte"] < 3.5  # 8 before training, 4.1 by letter frequencies
    adapted = heedful(
        "evaluate",
        "runs/text",
        "--json",
        "--dynamic",
        "sgd,0.05,0.001",
        "--memory",
        "64",
        "--device",
        "cpu",
        cwd=text_run,
    )
    assert adapted.returncode == 0, adapted.stderr.decode()
    assert json.loads(adapted.stdout)["bits_per_byte"] < found["bits_per_byte"]


def test_it_writes_on_while_one_reads(text_run: Path, heedful: Command) -> None:
    command = ("generate", "the ", "--model", "runs/text", "--max-tokens", "40", "--seed", "3", "--device", "cpu")
    first = heedful("generate", "-", *command[2:], stdin=b"the ", cwd=text_run)
    assert first.returncode == 0, first.stderr.decode()
    assert len(first.stdout) == 40
    assert first.stderr == b""
    process = command_server().start(*command[:5], "100000", *command[6:], cwd=text_run)
    assert process.stdout.read(40) == first.stdout  # there while the rest is still being written, and the same
    process.stdout.close()
    assert process.wait(timeout=60) == 0  # a reader who has enough is no failure


def test_it_is_exported_with_bytes_for_weights(text_run: Path, heedful: Command, tmp_path: Path) -> None:
    result = heedful("export", "runs/text", "--format", "int8", "--out", tmp_path / "small", cwd=text_run)
    assert result.returncode == 0, result.stderr.decode()
    text = b"the text was written before it was read"
    whole, small = (load_text_model(path, device="cpu") for path in (text_run / "runs" / "text", tmp_path / "small"))
    assert small.score(text).bits_per_byte == pytest.approx(whole.score(text).bits_per_byte, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("evaluate", "runs/text", "--split", "unsen"), 'Did you mean "unseen"?'),
        (("evaluate", "runs/text", "--text", "test.txt", "--config", "text.toml"), "must not be given together"),
        (("evaluate", "runs/text", "--against", "runs/text", "--dynamic", "sgd"), "`--dynamic` must be left out"),
        (("evaluate", "runs/text", "--data", "a", "b"), "`--data` must be used with a translator or a classifier"),
        (("evaluate", "runs/text", "--out", "x"), "but runs/text is a language model."),
        (("evaluate", "runs/text", "--beam", "2"), "`--beam` must be used with a translator"),
        (("evaluate", "runs/text", "-m", "runs/text"), "Only translators decide together"),
        (("translate", "x", "--model", "runs/text"), "holds a language model. Use it with heedful generate."),
        (("classify", "x", "--model", "runs/text"), "holds a language model. Use it with heedful generate."),
        (("tune", "runs/text"), "holds a language model. Use it with heedful generate."),
        (("export", "runs/text", "--format", "ctranslate2", "--out", "x"), "Use it with heedful generate."),
    ],
)
def test_mistakes_are_answered_with_a_sentence(
    text_run: Path, heedful: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    result = heedful(*arguments, cwd=text_run)
    assert result.returncode == 2, result.stderr.decode()
    assert sentence in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()


def test_two_language_models_are_compared_stretch_by_stretch(text_run: Path, heedful: Command) -> None:
    trained = heedful("train", "text.toml", "name=hasty", "training.max_steps=10", "--device", "cpu", cwd=text_run)
    assert trained.returncode == 0, trained.stderr.decode()
    alone = [
        json.loads(heedful("evaluate", f"runs/{run}", "--json", "--device", "cpu", cwd=text_run).stdout)
        for run in ("text", "hasty")
    ]
    command = ("evaluate", "runs/text", "--against", "runs/hasty", "--device", "cpu")
    found = json.loads(heedful(*command, "--json", cwd=text_run).stdout)
    (comparison,) = found["comparisons"]
    assert found["bits_per_byte"] == pytest.approx(alone[0]["bits_per_byte"], rel=1e-9)
    assert comparison["baseline"] == pytest.approx(alone[1]["bits_per_byte"], rel=1e-9)
    assert comparison["difference"] == pytest.approx(alone[0]["bits_per_byte"] - alone[1]["bits_per_byte"], rel=1e-6)
    assert comparison["low"] < comparison["difference"] < comparison["high"] < 0
    assert comparison["p_value"] < 0.01
    shown = heedful(*command, cwd=text_run).stdout.decode()
    assert "against runs/hasty, by paired bootstrap over stretches of the text:" in shown


def test_the_doctor_looks_at_texts(text_run: Path, heedful: Command) -> None:
    shown = heedful("check", "text.toml", "name=looked_at", "--device", "cpu", cwd=text_run)
    assert shown.returncode == 0, shown.stderr.decode()
    said = shown.stdout.decode()
    assert said.startswith(f"data.train  {(text_run / 'train.txt').stat().st_size:,} bytes, ")
    assert "steps of 16 segments side by side, 32 symbols each" in said
    assert said.endswith("Nothing stands in the way.\n")
    known = heedful("check", "text.toml", "name=looked_at", "--tokens-per-second", "512", "--json", cwd=text_run)
    assert json.loads(known.stdout)["seconds"] == 40  # as many steps, of 512 symbols each
    refused = heedful("check", "text.toml", 'data.train=["nowhere.txt"]', cwd=text_run)
    assert refused.returncode == 2
    assert "error: `data.train`: The file nowhere.txt must exist" in refused.stdout.decode()
