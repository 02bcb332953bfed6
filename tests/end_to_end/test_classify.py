"""Labels from end to end, as processes: train, interrupt, go on, classify, evaluate, and every way to get it wrong."""

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heedful.tasks.classification.classifier import load_classifier
from tests.support.commands import Command

CONFIG = """
task = "classification"
name = "labels"

[data]
train = [{ path = "train.jsonl" }]
hold_out = 0.2

[data.test.unseen]
path = "test.jsonl"

[tokenizer]
vocab_size = 330

[model]
dim = 32
num_layers = 1
dropout = 0.1
attention = { kind = "multi_head", num_heads = 2 }
layer = { kind = "transformer", hidden_dim = 64 }
long_documents = { kind = "windows", length = 32 }
ngram_embedding = { up_to = 2, num_buckets = 1000 }
naive_bayes = { up_to = 2, num_buckets = 5000, dropout = 0.1 }

[training]
max_steps = 60
batch_tokens = 1000
label_smoothing = 0.0
ema_decay = 0.9
schedule = { kind = "cosine", peak = 5e-3, warmup_steps = 10 }
checkpoint = { every_steps = 20, keep_last = 2 }
average = { count = 1 }
log_every = 10

[validation]
every_steps = 30
"""
WORDS = {"pos": ["lovely", "great", "superb"], "neg": ["awful", "boring", "poor"]}
FILLERS = ["the", "a", "film", "was", "plot", "actor", "scene", "and", "it", "really"]


def write_reviews(path: Path, count: int, seed: int) -> None:
    generator = random.Random(seed)
    with path.open("w") as file:
        for _ in range(count):
            label = generator.choice(["neg", "pos"])
            words = [generator.choice(FILLERS) for _ in range(generator.randrange(3, 40))]
            words.insert(generator.randrange(len(words)), generator.choice(WORDS[label]))
            file.write(json.dumps({"text": " ".join(words), "label": label}) + "\n")


@pytest.fixture(scope="module")
def folder(heedful: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents, a config, and the trained run `runs/labels`."""
    folder = tmp_path_factory.mktemp("labels")
    write_reviews(folder / "train.jsonl", 400, seed=1)
    write_reviews(folder / "test.jsonl", 100, seed=2)
    (folder / "labels.toml").write_text(CONFIG)
    result = heedful("train", "labels.toml", cwd=folder)
    assert result.returncode == 0, result.stderr.decode()
    (folder / "stderr.txt").write_bytes(result.stderr)
    return folder


def test_training_says_what_it_learns_from_and_what_is_long(folder: Path) -> None:
    said = (folder / "stderr.txt").read_text()
    assert "Learning from 3" in said
    assert "documents: neg 1" in said
    assert "longer than 32 tokens: read in windows, whole." in said
    assert "Counted n-grams of up to 2 tokens: " in said
    assert "Classify with it: heedful classify --model runs/labels" in said
    samples = (folder / "runs" / "labels" / "metrics.jsonl").read_text()
    assert '"accuracy_naive_bayes"' in samples


def test_one_line_in_is_one_line_out(heedful: Command, folder: Path) -> None:
    lines = b"a lovely film\n\nthe plot was awful\nit was great\r\n"
    result = heedful("classify", "--model", "runs/labels", stdin=lines, cwd=folder)
    assert result.returncode == 0, result.stderr.decode()
    rows = [line.split("\t") for line in result.stdout.decode().split("\n")[:-1]]
    assert [row[0] for row in rows] == ["pos", "", "neg", "pos"]
    assert all(0.5 <= float(row[1]) <= 1 for row in rows if row[0])


def test_json_has_all_probabilities_and_the_word_that_moved_the_decision(heedful: Command, folder: Path) -> None:
    text = "the film was really boring and a plot"
    result = heedful("classify", text, "--model", "runs/labels", "--json", cwd=folder)
    assert result.returncode == 0, result.stderr.decode()
    found = json.loads(result.stdout)
    assert found["label"] == "neg"
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    assert [text[it["start"] : it["end"]] for it in found["words"]] == text.split()
    assert max(found["words"], key=lambda it: it["influence"])["word"] == "boring"
    result = heedful("classify", text, "--model", "runs/labels", "--json", "--no-words", cwd=folder)
    assert json.loads(result.stdout) == {**found, "words": []}


def test_a_word_that_decides_when_it_is_left_out_is_named(heedful: Command, tmp_path: Path) -> None:
    write_reviews(tmp_path / "train.jsonl", 400, seed=1)
    write_reviews(tmp_path / "test.jsonl", 100, seed=2)
    encoder_alone = re.sub(r"(ngram_embedding|naive_bayes) = .*\n", "", CONFIG).replace(
        "max_steps = 60", "max_steps = 150"
    )
    (tmp_path / "labels.toml").write_text(encoder_alone)
    assert heedful("train", "labels.toml", cwd=tmp_path).returncode == 0
    classifier = load_classifier(tmp_path / "runs" / "labels", device="cpu")
    telling = [word for words in WORDS.values() for word in words]
    templates = ("the plot was {}", "{} plot and it was a scene", "really the film was {} and it")
    num_clear = 0
    for text in [template.format(word) for word in telling for template in templates]:
        words = text.split()
        without = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
        (found,) = classifier.classify_detailed([text], explain=True)
        left = [other.probabilities[found.label] for other in classifier.classify_detailed(without)]
        if min(left) < 0.1:  # the decision turns over
            num_clear += 1
            decisive = words[left.index(min(left))]
            assert max(found.words, key=lambda it: it.influence).word == decisive, text
    assert num_clear >= 6


def test_evaluate_prints_scores_with_intervals_and_the_confusion_matrix(heedful: Command, folder: Path) -> None:
    result = heedful("evaluate", "runs/labels", cwd=folder)
    assert result.returncode == 0, result.stderr.decode()
    text = result.stdout.decode()
    assert "unseen: 100 documents" in text
    for word in ("accuracy", "macro-F1", "calibration error", "true \\ decided", "precision"):
        assert word in text
    (accuracy,) = (line.split() for line in text.split("\n") if line.strip().startswith("accuracy"))
    assert float(accuracy[1]) >= 98


def test_evaluate_takes_texts_and_labels_line_by_line(heedful: Command, folder: Path) -> None:
    (folder / "texts.txt").write_text("a great film\na poor film\n")
    (folder / "wanted.txt").write_text("pos\npos\n")
    result = heedful(
        "evaluate", "runs/labels", "--data", "texts.txt", "wanted.txt", "--out", "decided.txt", "--json", cwd=folder
    )
    assert result.returncode == 0, result.stderr.decode()
    assert json.loads(result.stdout)["confusion"] == [[0, 0], [1, 1]]
    assert (folder / "decided.txt").read_text() == "pos\nneg\n"
    (folder / "wanted.txt").write_text("pos\nposs\n")
    wrong = heedful("evaluate", "runs/labels", "--data", "texts.txt", "wanted.txt", cwd=folder)
    assert wrong.returncode == 2
    assert 'wanted.txt:2: the label must be one of those learned, "neg", "pos", but is "poss".' in wrong.stderr.decode()


def test_killed_and_resumed_ends_in_the_same_weights(heedful: Command, folder: Path) -> None:
    command = [sys.executable, "-m", "heedful", "train", "labels.toml", "name=parts"]
    checkpoints = folder / "runs" / "parts" / "checkpoints"
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, env={**os.environ}) as process:
        while not list(checkpoints.glob("step-*")) and process.poll() is None:
            time.sleep(0.005)
        process.kill()
    resumed = heedful("train", "labels.toml", "name=parts", "--resume", cwd=folder)
    assert resumed.returncode == 0, resumed.stderr.decode()
    weights = [(folder / "runs" / name / "model" / "model.safetensors").read_bytes() for name in ("labels", "parts")]
    assert weights[0] == weights[1]


def test_a_run_goes_on_only_with_its_own_settings(heedful: Command, folder: Path) -> None:
    result = heedful("train", "labels.toml", "--resume", "model.dim=64", cwd=folder)
    assert result.returncode == 2
    assert "`model.dim` was 32 and is 64" in result.stderr.decode()


def test_mistakes_end_with_a_sentence_and_exit_code_2(heedful: Command, folder: Path) -> None:
    cases = {
        ("classify", "text", "--model", "nowhere"): "The model folder nowhere must exist, but does not.",
        (
            "translate",
            "text",
            "--model",
            "runs/labels",
        ): "must hold a translator here, but holds a classifier. Use it with heedful classify.",
        ("evaluate", "runs/labels", "--split", "unsen"): 'but is "unsen". Did you mean "unseen"?',
        ("train", "labels.toml", "name=x", "data.train.0.label_key=lable"): 'must have the key "lable"',
    }
    for arguments, sentence in cases.items():
        result = heedful(*arguments, cwd=folder)
        assert result.returncode == 2, arguments
        assert sentence in result.stderr.decode()
        assert "Traceback" not in result.stderr.decode()
    assert not (folder / "runs" / "x").exists()


def test_two_classifiers_are_compared_document_by_document(heedful: Command, folder: Path) -> None:
    trained = heedful("train", "labels.toml", "name=hasty", "training.max_steps=1", cwd=folder)
    assert trained.returncode == 0, trained.stderr.decode()
    documents = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    right = {}
    for run in ("labels", "hasty"):
        scored = heedful("evaluate", f"runs/{run}", "--out", f"{run}.txt", cwd=folder)
        assert scored.returncode == 0, scored.stderr.decode()
        decided = (folder / f"{run}.txt").read_text().splitlines()
        right[run] = [label == document["label"] for label, document in zip(decided, documents, strict=True)]
    gained = sum(a and not b for a, b in zip(right["labels"], right["hasty"], strict=True))
    lost = sum(b and not a for a, b in zip(right["labels"], right["hasty"], strict=True))
    compared = heedful("evaluate", "runs/labels", "--against", "runs/hasty", "--json", cwd=folder)
    found = json.loads(compared.stdout)
    (comparison,) = found["comparisons"]
    assert found["against"] == "runs/hasty"
    assert gained > 10
    assert comparison["difference"] == pytest.approx((gained - lost) / 100)
    assert comparison["baseline"] == pytest.approx(sum(right["hasty"]) / 100)
    assert comparison["p_value"] < 0.01
    shown = heedful("evaluate", "runs/labels", "--against", "runs/hasty", cwd=folder).stdout.decode()
    assert "against runs/hasty, by McNemar's exact test:" in shown


@pytest.mark.parametrize(
    "option",
    ["--references all", "--without-seen", "--beam 2", "--tokenize zh", "--lowercase", "--from en", "--to de",
     "--quantize int8", "--text train.jsonl", "--memory 3", "--segment 3", "--clamp 3", "--dynamic sgd"],
)  # fmt: skip
def test_an_option_that_says_nothing_to_a_classifier_is_refused(heedful: Command, folder: Path, option: str) -> None:
    result = heedful("evaluate", "runs/labels", *option.split(), cwd=folder)
    assert result.returncode == 2
    assert f"error: `{option.split()[0]}` must be used with a " in result.stderr.decode()
    assert "but runs/labels is a classifier." in result.stderr.decode()
    assert result.stdout == b""


@pytest.mark.parametrize(
    "arguments",
    ["translate x --model runs/labels", "tune runs/labels",
     "distill labels.toml --model runs/labels --out d",
     "export runs/labels --format huggingface --out e", "generate x --model runs/labels",
     "serve --model runs/labels --quantize int8"],
)  # fmt: skip
def test_every_other_verb_refuses_a_classifier_with_a_sentence_and_writes_nothing(
    heedful: Command, folder: Path, arguments: str
) -> None:
    before = sorted(folder.iterdir())
    result = heedful(*arguments.split(), cwd=folder)
    said = result.stderr.decode()
    assert result.returncode == 2, said
    assert said.startswith("error: ")
    if arguments.split()[0] not in ("distill", "serve"):
        assert "but holds a classifier. Use it with heedful classify." in said
    assert sorted(folder.iterdir()) == before


def test_a_classifier_is_exported_with_bytes_for_weights_and_decides_the_same(
    heedful: Command, folder: Path, tmp_path: Path
) -> None:
    result = heedful("export", "runs/labels", "--format", "int8", "--out", tmp_path / "small", cwd=folder)
    assert result.returncode == 0, result.stderr.decode()
    whole, small = (path / "model.safetensors" for path in (folder / "runs" / "labels" / "model", tmp_path / "small"))
    assert small.stat().st_size < 0.6 * whole.stat().st_size
    texts = ["a lovely film and a great plot", "an awful scene, really boring"]
    ours, theirs = (load_classifier(path, device="cpu") for path in (folder / "runs" / "labels", tmp_path / "small"))
    for before, after in zip(ours.classify_lines(texts), theirs.classify_lines(texts), strict=True):
        assert before.label == after.label
        assert before.probability == pytest.approx(after.probability, abs=0.02)
    flagged = heedful(
        "export", "runs/labels", "--format", "int8", "--low-confidence", "-1", "--out", tmp_path / "x", cwd=folder
    )
    assert flagged.returncode == 2
    assert "`--low-confidence` must be used with a translator" in flagged.stderr.decode()


def test_the_doctor_looks_at_documents(heedful: Command, folder: Path) -> None:
    shown = heedful("check", "labels.toml", "name=looked_at", "--device", "cpu", cwd=folder)
    assert shown.returncode == 0, shown.stderr.decode()
    said = shown.stdout.decode()
    assert said.startswith("data.train[0]  400 documents  train.jsonl\n  labels  neg 1")
    assert "read in windows, whole" in said
    assert "memory      about " in said
    assert said.endswith("Nothing stands in the way.\n")
    found = json.loads(heedful("check", "labels.toml", "name=looked_at", "--json", cwd=folder).stdout)
    assert found["corpora"][0]["num_documents"] == 400
    assert found["trial"]["num_parameters"] > 0
    assert found["seconds"] > 0
    assert not (folder / "runs" / "looked_at").exists()
    refused = heedful("check", "labels.toml", "data.train.0.label_key=lable", cwd=folder)
    assert refused.returncode == 2
    assert refused.stdout.decode().endswith("Training would be refused.\n")
    both = heedful("check", "labels.toml", "--tokens-per-second", "9", "--device", "cpu", cwd=folder)
    assert "`--device` must be left out with --tokens-per-second" in both.stderr.decode()
