"""`heedful compare` as a process: two configs on a CPU, interrupted by real signals, resumed, and what is refused."""

import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Command
from tests.support.small_run import CONFIG, write_corpus

HOSTILE = '<script>document.title = "taken"</script> & | [a](b) \u202e"'
SHORT = (
    CONFIG.replace("max_steps = 240", "max_steps = 12")
    .replace("every_steps = 120, keep_last", "every_steps = 4, keep_last")
    .replace("every_steps = 120", "every_steps = 6")
    .replace("batch_tokens = 2048", "batch_tokens = 512")
    .replace("log_every = 20", "log_every = 2")
    + "[decoding]\nbeam_size = 1\nextra_tokens = 5\n"
)
LABELS = """
task = "classification"
name = "labels"
[data]
train = [{ kind = "tsv", path = "labels.tsv" }]
test = { unseen = { kind = "tsv", path = "labels.tsv" } }
[tokenizer]
vocab_size = 300
[model]
dim = 16
num_layers = 1
attention = { num_heads = 2 }
[training]
max_steps = 6
batch_tokens = 512
[validation]
every_steps = 3
"""
TEXT = """
task = "language_modeling"
name = "text"
[data]
train = ["train.en"]
validation = ["validation.en"]
[model]
dim = 16
num_heads = 2
hidden_dim = 32
num_layers = 1
[training]
max_steps = 6
batch_tokens = 128
segment_len = 32
memory_len = 32
[validation]
every_steps = 3
"""


COMPARE = ("compare", "wide.toml", "narrow.toml", "--seeds", "1,2", "--device", "cpu")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    write_corpus(folder)
    for name in ("test.en", "test.de"):
        with (folder / name).open("a") as stream:
            stream.write(HOSTILE + "\n")
    (folder / "wide.toml").write_text(SHORT)
    (folder / "narrow.toml").write_text(SHORT.replace("dim = 64", "dim = 32"))
    (folder / "broken.toml").write_text(SHORT.replace("dim = 64", "dimm = 64"))
    words = [("good", "fine film"), ("bad", "dull film"), ("good", "lovely work"), ("bad", "awful work")] * 10
    (folder / "labels.tsv").write_text(
        "".join(f"{text} {number}\t{label}\n" for number, (label, text) in enumerate(words))
    )
    (folder / "labels.toml").write_text(LABELS)
    (folder / "text.toml").write_text(TEXT)
    return folder


def reported(root: Path, out: str) -> dict[str, Any]:
    return dict(json.loads((root / out / "report.json").read_text()))


def quality(root: Path, out: str) -> list[Any]:
    """All of a report that must not depend on interruptions or on the clock."""
    report = reported(root, out)
    rows = [[row["label"], row["seeds"], row["scores"], row["by_length"]] for row in report["candidates"]]
    return [rows, report["pairs"], report["test_sets"]]


@pytest.fixture(scope="module")
def whole(root: Path, heedful: Command) -> "subprocess.CompletedProcess[bytes]":
    return heedful(*COMPARE, "--out", "whole", cwd=root)


def test_two_configs_become_one_table_and_a_page(root: Path, whole: "subprocess.CompletedProcess[bytes]") -> None:
    assert whole.returncode == 0, whole.stderr.decode()
    lines = whole.stdout.decode().splitlines()
    header = next(line for line in lines if "BLEU ±" in line)
    for column in ("seeds", "vs wide", "p", "parameters", "train tok/s", "memory", "tok/s CPU", "ms CPU"):
        assert column in header
    assert re.search(r"^narrow +\d+\.\d\d ± \d+\.\d\d +2 +[+-]\d+\.\d\d ± ", "\n".join(lines), re.MULTILINE)
    report = reported(root, "whole")
    first = report["candidates"][0]
    assert first["costs"]["step"]["num_parameters"] > 0
    assert first["costs"]["step"]["memory_bytes"] > 16 * first["costs"]["step"]["num_parameters"]
    assert first["costs"]["answers"]["CPU"]["latency_ms"] > 0
    assert len(first["scores"][0]["by_seed"]) == 2
    markdown = (root / "whole" / "report.md").read_text()
    assert "| wide |" in markdown
    assert "<script" not in markdown
    assert "<script" not in (root / "whole" / "report.html").read_text()


def test_all_runs_have_the_one_tokenizer_that_was_learned(
    root: Path, whole: "subprocess.CompletedProcess[bytes]"
) -> None:
    assert whole.stderr.decode().count("Learned 400 pieces") == 1
    shared = (root / "whole" / "tokenizer.json").read_bytes()
    runs = list((root / "whole" / "runs").iterdir())
    assert len(runs) == 4
    assert all((run / "tokenizer.json").read_bytes() == shared for run in runs)


def test_scores_are_those_of_evaluate(
    root: Path, whole: "subprocess.CompletedProcess[bytes]", heedful: Command
) -> None:
    assert whole.returncode == 0
    arguments = ["--json", "--device", "cpu", "--quantize", "none"]
    result = heedful("evaluate", "whole/runs/wide-seed1", *arguments, cwd=root)
    scores = {score["name"]: score["value"] for score in json.loads(result.stdout)["scores"]}
    ours = {score["metric"]: score["by_seed"][0] for score in reported(root, "whole")["candidates"][0]["scores"]}
    assert ours == {name: pytest.approx(scores[name], abs=1e-9) for name in ours}


def _journals(out: Path) -> list[os.stat_result]:
    return [path.stat() for path in out.glob("runs/*/metrics.jsonl")]


def signalled(heedful: Command, words: list[str], root: Path, number: int) -> "subprocess.CompletedProcess[bytes]":
    """Run a comparison and send it a signal when a training has written a line."""
    began = time.time_ns()
    out = root / words[words.index("--out") + 1]
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(heedful, *words, cwd=root)
        while not any(its.st_size and its.st_mtime_ns > began for its in _journals(out)):
            assert not running.done(), running.result().stderr.decode()
            time.sleep(0.005)
        os.kill(int((out / ".lock").read_text()), number)
        return running.result()


def test_interrupted_and_resumed_it_equals_the_uninterrupted(
    root: Path, whole: "subprocess.CompletedProcess[bytes]", heedful: Command
) -> None:
    assert whole.returncode == 0
    words = [*COMPARE, "--out", "stopped", "--no-speed"]
    result = signalled(heedful, words, root, signal.SIGINT)
    assert result.returncode == 130
    assert result.stderr.decode().endswith("what was trained is saved. The same command goes on.\n")
    result = signalled(heedful, words, root, signal.SIGTERM)
    assert result.returncode in (143, -signal.SIGTERM)  # between two trainings there is nothing to save
    assert not (root / "stopped" / "report.json").exists()
    result = heedful(*words, cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    assert quality(root, "stopped") == quality(root, "whole")
    before = {path: path.stat().st_mtime_ns for path in (root / "stopped").rglob("*.safetensors")}
    assert "4 of 4 trials are done already." in heedful(*words, cwd=root).stderr.decode()
    assert {path: path.stat().st_mtime_ns for path in (root / "stopped").rglob("*.safetensors")} == before


def test_killed_with_two_workers_and_resumed_it_equals_the_uninterrupted(
    root: Path, whole: "subprocess.CompletedProcess[bytes]", heedful: Command
) -> None:
    assert whole.returncode == 0
    words = [*COMPARE, "--out", "killed", "--no-speed"]
    assert signalled(heedful, [*words, "--processes", "2"], root, signal.SIGKILL).returncode != 0
    result = heedful(*words, cwd=root)  # at once: the workers that were left alone are still saving
    assert result.returncode == 0, result.stderr.decode()
    assert quality(root, "killed") == quality(root, "whole")


def test_a_finished_run_stands_beside_a_config_and_a_broken_one_is_a_sentence(
    root: Path, whole: "subprocess.CompletedProcess[bytes]", heedful: Command
) -> None:
    assert whole.returncode == 0
    words = ["broken.toml", "whole/runs/wide-seed1", "narrow.toml", "--out", "mixed", "--device", "cpu", "--no-speed"]
    result = heedful("compare", *words, cwd=root)
    assert result.returncode == 2
    assert "`model.dimm` is not a setting. Did you mean `model.dim`?" in result.stdout.decode().replace("\n", " ")
    report = reported(root, "mixed")
    assert [row["label"] for row in report["candidates"]] == ["wide-seed1", "narrow"]
    assert [row["label"] for row in report["broken"]] == ["broken"]
    expected = reported(root, "whole")["candidates"]
    for row, before in zip(report["candidates"], expected, strict=True):
        assert row["scores"][0]["by_seed"] == before["scores"][0]["by_seed"][:1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["wide.toml", "other_test.toml"], "The test sets must be the same, but those of wide"),
        (["wide.toml", "other_words.toml"], "`tokenizer.vocab_size` is 400 in wide and 420 in other_words"),
        (["wide.toml", "labels.toml"], "must be for one task, but wide is for translation"),
        (["wide.toml", "narrow.toml", "--budget", "parameters"], "Parameters must be equal within 5%, but narrow has"),
        (["wide.toml", "--budget", "money"], "must be parameters, tokens, tokens=N or time=10m, but is"),
        (["wide.toml", "--seeds", "1,1"], "must be different whole numbers such as 1,2,3"),
        (["whole/runs"], "must be a config file or the folder of a run, but is neither."),
    ],
)
def test_what_cannot_be_compared_is_refused(root: Path, heedful: Command, words: list[str], sentence: str) -> None:
    (root / "whole" / "runs").mkdir(parents=True, exist_ok=True)
    (root / "other_test.toml").write_text(
        SHORT.replace('"test.en"', '"validation.en"').replace('"test.de"', '"validation.de"')
    )
    (root / "other_words.toml").write_text(SHORT.replace("vocab_size = 400", "vocab_size = 420"))
    result = heedful("compare", *words, "--out", "refused", cwd=root)
    assert result.returncode == 2
    assert sentence in result.stderr.decode()
    assert not (root / "refused" / "runs").exists()


@pytest.mark.parametrize(("task", "metric"), [("labels", "accuracy"), ("text", "bits per byte")])
def test_classifiers_and_language_models_are_compared_too(root: Path, heedful: Command, task: str, metric: str) -> None:
    (root / f"{task}2.toml").write_text((root / f"{task}.toml").read_text().replace("dim = 16", "dim = 32"))
    result = heedful("compare", f"{task}.toml", f"{task}2.toml", "--out", f"out-{task}", "--device", "cpu", cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    report = reported(root, f"out-{task}")
    assert [row["scores"][0]["metric"] for row in report["candidates"]] == [metric, metric]
    assert all(row["costs"]["answers"]["CPU"]["tokens_per_second"] > 0 for row in report["candidates"])
    assert metric in result.stdout.decode()
