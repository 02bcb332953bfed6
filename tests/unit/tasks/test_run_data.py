"""A run goes on only with the data it began with: every kind of file of every task, edited and put back."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.config.load import AnyRun, parse_any
from heedful.errors import UserError
from heedful.tasks.runs import run_training
from heedful.tasks.table import task_of_run
from heedful.training.display import PlainDisplay

SHORT = """
[training]
max_steps = 1
batch_tokens = 256
average = { count = 1 }
schedule = { kind = "constant", peak = 1e-3 }
"""
TRANSLATION = """
name = "run"
[data]
train = [
    { source = "train.en", target = "train.de" },
    { kind = "tsv", path = "train.tsv" },
    { kind = "jsonl", path = "train.jsonl" },
]
validation = [{ source = "valid.en", target = "valid.de" }]
test = { unseen = { source = "test.en", target = "test.de" } }
[tokenizer]
vocab_size = 300
[model]
dim = 8
num_heads = 2
hidden_dim = 8
num_encoder_layers = 1
num_decoder_layers = 1
"""
CLASSIFICATION = """
task = "classification"
name = "run"
[data]
train = [
    { kind = "jsonl", path = "docs.jsonl" },
    { kind = "csv", path = "docs.csv" },
    { kind = "tsv", path = "docs.tsv" },
    { kind = "folders", path = "docs" },
]
validation = [{ kind = "jsonl", path = "valid.jsonl" }]
[tokenizer]
vocab_size = 300
[model]
dim = 8
num_layers = 1
attention = { kind = "multi_head", num_heads = 2 }
"""
TEXT = """
task = "language_modeling"
name = "run"
[data]
train = ["one.txt", "two.txt"]
validation = ["valid.txt"]
[model]
dim = 8
num_heads = 2
hidden_dim = 8
num_layers = 1
"""
SPLIT = """
task = "language_modeling"
name = "run"
[data]
kind = "split"
path = "whole.txt"
train_bytes = 2000
validation_bytes = 500
test_bytes = 0
[model]
dim = 8
num_heads = 2
hidden_dim = 8
num_layers = 1
"""
SEGMENTS = "segment_len = 16\nmemory_len = 16\n"
CASES = {
    "translation": TRANSLATION + SHORT,
    "classification": CLASSIFICATION + SHORT,
    "text": TEXT + SHORT + SEGMENTS,
    "split": SPLIT + SHORT + SEGMENTS,
}


def write_all(root: Path) -> None:
    """Write one file of every kind that a configuration above names."""
    lines = [f"word{n % 7} and cat number {n}\n" for n in range(60)]
    for name in ("train.en", "train.de", "valid.en", "valid.de", "test.en", "test.de", "one.txt", "two.txt"):
        (root / name).write_text("".join(lines))
    (root / "valid.txt").write_text("".join(lines))
    (root / "whole.txt").write_text("".join(lines * 3))
    (root / "train.tsv").write_text("".join(f"{line.strip()}\tKatze\n" for line in lines))
    (root / "train.jsonl").write_text(
        "".join(json.dumps({"source": line.strip(), "target": "Katze"}) + "\n" for line in lines)
    )
    for name in ("docs.jsonl", "valid.jsonl"):
        (root / name).write_text(
            "".join(json.dumps({"text": line.strip(), "label": "ab"[n % 2]}) + "\n" for n, line in enumerate(lines))
        )
    (root / "docs.csv").write_text("".join(f"{line.strip()},{'ab'[n % 2]}\n" for n, line in enumerate(lines)))
    (root / "docs.tsv").write_text("".join(f"{line.strip()}\t{'ab'[n % 2]}\n" for n, line in enumerate(lines)))
    for label in "ab":
        (root / "docs" / label).mkdir(parents=True)
        for n in range(3):
            (root / "docs" / label / f"{n}.txt").write_text(f"cat {n}")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes a folder with data and a run of one step, once for each case."""
    made: dict[str, Path] = {}

    def make(case: str) -> Path:
        if case not in made:
            made[case] = tmp_path_factory.mktemp(case)
            write_all(made[case])
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(made[case])
                patch.setenv("HEEDFUL_CACHE", str(made[case] / "cache"))
                go_on(case, resume=False)
        return made[case]

    return make


def go_on(case: str, *overrides: str, resume: bool = True) -> str:
    """Train in the current folder and return what was said."""
    config: AnyRun = parse_any(CASES[case], overrides)
    stream = io.StringIO()
    with PlainDisplay(config.training.max_steps, stream) as display:
        run_training(config, task_of_run(config).prepare, display=display, resume=resume, device="cpu")
    return stream.getvalue()


@pytest.fixture
def at(trained: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    def enter(case: str) -> Path:
        folder = trained(case)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HEEDFUL_CACHE", str(folder / "cache"))
        return folder

    return enter


READ = [
    *(("translation", name) for name in ("train.en", "train.de", "train.tsv", "train.jsonl", "valid.en", "valid.de")),
    *(("classification", name) for name in ("docs.jsonl", "docs.csv", "docs.tsv", "docs/a/1.txt", "valid.jsonl")),
    *(("text", name) for name in ("one.txt", "two.txt", "valid.txt")),
    ("split", "whole.txt"),
]


@pytest.mark.parametrize(("case", "name"), READ)
def test_an_edited_file_is_named_with_what_was_recorded_and_the_remedy(
    at: Callable[[str], Path], case: str, name: str
) -> None:
    path = at(case) / name
    before = path.read_bytes()
    # Of the same size: only the bytes tell.
    path.write_bytes(before.replace(b"cat", b"dog"))
    try:
        with pytest.raises(UserError) as caught:
            go_on(case, "training.max_steps=2")
    finally:
        path.write_bytes(before)
    assert caught.value.exit_code == 2
    first, line, last = str(caught.value).split("\n")
    assert first == "The run runs/run can only go on with the data it began with, but this file has changed:"
    size = f"{len(before):,} bytes"
    assert line.startswith(f"  - {name} had {size} with the sha256 ")
    assert f" and has {size} with the sha256 " in line
    assert last == "Put the old file back, or start a new run with another name: name=..."
    go_on(case, "training.max_steps=1")  # put back, it goes on


def test_a_document_more_or_less_is_a_change(at: Callable[[str], Path]) -> None:
    folder = at("classification") / "docs" / "b"
    (folder / "new.txt").write_text("cat")
    (folder / "1.txt").rename(folder / ".hidden")
    try:
        with pytest.raises(UserError) as caught:
            go_on("classification")
    finally:
        (folder / "new.txt").unlink()
        (folder / ".hidden").rename(folder / "1.txt")
    _, gone, new, last = str(caught.value).split("\n")
    assert gone.startswith("  - docs/b/1.txt had 5 bytes with the sha256 ")
    assert gone.endswith(" and is gone")
    assert new.startswith("  - docs/b/new.txt was not there and has 3 bytes with the sha256 ")
    assert last.startswith("Put the old files back, or start a new run")


def test_what_killed_writers_left_in_the_run_folder_is_swept(at: Callable[[str], Path]) -> None:
    run = at("text") / "runs" / "run"
    left = [run / name for name in (".tokenizer.json.partial-0a", ".config.toml.partial-0b", ".data.json.partial-0c")]
    for path in left:
        path.write_text("half")
    (run / ".model.partial-0d").mkdir()
    (run / ".model.partial-0d" / "model.safetensors").write_text("half")
    go_on("text")
    assert [path.name for path in run.iterdir() if ".partial-" in path.name] == []
    assert (run / ".lock").exists()


def test_a_test_set_may_change(at: Callable[[str], Path]) -> None:
    (at("translation") / "test.en").write_text("another\n")
    go_on("translation")


def test_data_that_only_moved_is_the_same(at: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of a configuration may point elsewhere on another machine."""
    folder = at("text")
    monkeypatch.chdir(folder)
    overrides = ['name="moved"', 'data.train=["data/one.txt"]', 'data.validation=["data/valid.txt"]']
    monkeypatch.setenv("HEEDFUL_DATA", str(folder))
    go_on("text", *overrides, resume=False)
    (folder / "elsewhere").mkdir()
    for name in ("one.txt", "valid.txt"):
        (folder / "elsewhere" / name).write_bytes((folder / name).read_bytes())
    monkeypatch.setenv("HEEDFUL_DATA", str(folder / "elsewhere"))
    go_on("text", *overrides)


def test_a_run_without_a_record_goes_on_and_says_so_once(at: Callable[[str], Path]) -> None:
    folder = at("text")
    record = folder / "runs" / "run" / "data.json"
    before = record.read_bytes()
    record.unlink()
    said = go_on("text")
    assert "began without a record of its data" in said
    assert record.read_bytes() == before
    assert "without a record" not in go_on("text")


def test_a_record_left_by_a_run_that_never_began_is_replaced(at: Callable[[str], Path]) -> None:
    run = at("text") / "runs" / "late"
    run.mkdir(parents=True)
    (run / "data.json").write_text('{"files": {}}')
    go_on("text", 'name="late"')
    go_on("text", 'name="late"')


@pytest.mark.parametrize("content", [b"", b"[]", b'{"files": {"one.txt": 3}}', b"[" * 100_000, b"\xff"])
def test_a_damaged_record_is_refused(at: Callable[[str], Path], content: bytes) -> None:
    record = at("text") / "runs" / "run" / "data.json"
    before = record.read_bytes()
    record.write_bytes(content)
    try:
        with pytest.raises(UserError, match=r"runs/run/data\.json must list .* but does not\. .*remove"):
            go_on("text")
    finally:
        record.write_bytes(before)
