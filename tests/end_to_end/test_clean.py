"""`heedful clean` as a process: what it writes, what it says, and that `heedful train` takes it."""

import json
from pathlib import Path

import pytest

from tests.support import spoilt_corpora as spoilt
from tests.support.commands import Command

CONFIG = """
name = "spoilt"
[data]
source_language = "en"
target_language = "de"
train = [{ kind = "tsv", path = "train.tsv" }]
validation = [{ kind = "tsv", path = "valid.tsv" }]
bidirectional = true
[tokenizer]
vocab_size = 400
[model]
dim = 16
num_heads = 2
hidden_dim = 16
num_encoder_layers = 1
num_decoder_layers = 1
[training]
max_steps = 2
batch_tokens = 500
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pairs = [*spoilt.copied()[:100], *((source, spoilt.misread(target)) for source, target in spoilt.sound()[100:300])]
    for name, part in (("train", pairs), ("valid", spoilt.sound()[300:310])):
        lines = "".join(f"{source}\t{target}\n" for source, target in part)
        (tmp_path / f"{name}.tsv").write_text(lines, encoding="utf-8")
    (tmp_path / "run.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def test_a_cleaned_corpus_is_trained_on_at_once(folder: Path, heedful: Command) -> None:
    done = heedful("clean", "run.toml", "--out", "clean", cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines()[:1] == ["data.validation[0]  10 read, 10 kept"]
    report = json.loads((folder / "clean" / "report.json").read_text())
    assert report["data.train[0]"]["read"] == 300
    assert report["data.train[0]"]["kept"] == 250
    assert report["data.train[0]"]["left_out"] == {"copy": 50}
    assert set(report["data.train[0]"]["repaired"]) == {"mojibake"}
    sources, targets = ((folder / "clean" / f"train-0.{side}").read_text().splitlines() for side in ("en", "de"))
    assert list(zip(sources, targets, strict=True)) == [*spoilt.sound()[:100:2], *spoilt.sound()[100:300]]
    trained = heedful("train", "clean/config.toml", "--device", "cpu", cwd=folder, HEEDFUL_CACHE=str(folder / "cache"))
    assert trained.returncode == 0, trained.stderr.decode()
    assert (folder / "runs" / "spoilt_clean" / "model").is_dir()


def test_files_are_cleaned_without_a_config_and_the_same_way_each_time(folder: Path, heedful: Command) -> None:
    wanted = ("clean", "--input", "train.tsv", "--from", "en", "--to", "de", "--json", "--out")
    first, second = heedful(*wanted, "one", cwd=folder), heedful(*wanted, "two", cwd=folder)
    assert first.returncode == 0, first.stderr.decode()
    assert json.loads(first.stdout)["input"]["left_out"] == {"copy": 50}
    assert first.stdout == second.stdout
    for name in ("train-0.en", "train-0.de", "report.json"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()


def test_nothing_is_overwritten(folder: Path, heedful: Command) -> None:
    (folder / "there").mkdir()
    done = heedful("clean", "run.toml", "--out", "there", cwd=folder)
    assert done.returncode == 2
    assert b"there must not exist yet, but it does." in done.stderr
    assert list((folder / "there").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run.toml"], "The folder to write must be named: --out DIR."),
        (["--out", "x"], "What is cleaned must be a CONFIG or files, one of the two: --input FILE."),
        (["run.toml", "--from", "en", "--out", "x"], "`--from` and `--to` must go with --input"),
        (["--input", "missing.tsv", "--out", "x"], "The file missing.tsv must exist, but does not."),
    ],
)
def test_mistakes_are_sentences(folder: Path, heedful: Command, arguments: list[str], sentence: str) -> None:
    done = heedful("clean", *arguments, cwd=folder)
    assert done.returncode == 2
    assert sentence in done.stderr.decode()
    assert not (folder / "x").exists()


def test_labelled_documents_and_texts_are_cleaned_as_well(tmp_path: Path, heedful: Command) -> None:
    english = [english for english, _, _ in spoilt.sentences(60)]
    documents = [*english, "<b>Good</b> film.", spoilt.misread("Très bien, dit-elle."), english[50].upper()]
    for name, texts in (("train", documents), ("test", english[50:])):
        lines = [json.dumps({"text": text, "label": "ab"[number % 2]}) for number, text in enumerate(texts)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (tmp_path / "labels.toml").write_text(
        'task = "classification"\nname = "l"\n[data]\ntrain = [{ path = "train.jsonl" }]\n'
        'test = { unseen = { path = "test.jsonl" } }\n'
    )
    done = heedful("clean", "labels.toml", "--out", "labels", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["data.train[0]"]["left_out"] == {"held_out": 11}
    kept = [json.loads(line) for line in (tmp_path / "labels" / "train-0.jsonl").read_text().splitlines()]
    assert [document["text"] for document in kept] == [*english[:50], "Good film.", "Très bien, dit-elle."]
    (tmp_path / "text.toml").write_text(
        'task = "language_modeling"\nname = "t"\n[data]\ntrain = ["train.txt"]\nvalidation = ["test.txt"]\n'
    )
    done = heedful("clean", "text.toml", "--out", "text", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    text = (tmp_path / "text" / "train.txt").read_text(encoding="utf-8")
    assert text.splitlines() == [*english[:50], "<b>Good</b> film.", "Très bien, dit-elle."]


def test_what_is_near_a_line_of_other_files_is_left_out(folder: Path, heedful: Command) -> None:
    sound = spoilt.sound()
    (folder / "test.de").write_text("".join(f"{target.upper()}\n" for _, target in sound[100:107]), encoding="utf-8")
    (folder / "other.tsv").write_text("".join(f"{source}\tx\n" for source, _ in sound[107:110]), encoding="utf-8")
    against = ("--against", "test.de", "--against", "other.tsv")
    for name, wanted in (("one", ("run.toml",)), ("two", ("--input", "train.tsv", "--from", "en", "--to", "de"))):
        done = heedful("clean", *wanted, *against, "--out", name, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
        report = json.loads(done.stdout)["data.train[0]" if name == "one" else "input"]
        kept = set((folder / name / "train-0.en").read_text(encoding="utf-8").splitlines())
        assert not kept & {source for source, _ in sound[100:110]}
        assert report["left_out"]["held_out"] >= 10
        assert report["kept"] == len((folder / name / "train-0.en").read_text(encoding="utf-8").splitlines())
