"""Training a classifier, inside one process: what is said, what is refused, what another model can be started from."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heedful.config.classification import ClassificationRun
from heedful.data.labelled import Document
from heedful.errors import DataError, UserError
from heedful.storage.descriptions import ClassifierDescription
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.classification.classifier import load_classifier
from heedful.tasks.classification.evaluate import evaluate_classification, find_labelled_sets, read_aligned
from heedful.tasks.classification.train import ClassificationJob
from heedful.tasks.classification.validate import best_share
from heedful.tasks.run_folder import TrainingResult
from heedful.tasks.runs import run_training
from heedful.training.display import PlainDisplay
from tests.support.tiny_models import save_model


def write(path: Path, labels: str = "ab", count: int = 40) -> str:
    rows = [
        {"text": f"word{n} {labels[n % len(labels)] * 3} " + "filler " * (n % 9), "label": labels[n % len(labels)]}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def run(tmp_path: Path, name: str = "run", labels: str = "ab", **settings: Any) -> ClassificationRun:
    table = {
        "task": "classification",
        "name": name,
        "runs_folder": str(tmp_path / "runs"),
        "data": {
            "train": [{"kind": "jsonl", "path": write(tmp_path / f"{labels}.jsonl", labels)}],
            "hold_out": 0.3,
            "test": {"again": {"kind": "jsonl", "path": str(tmp_path / f"{labels}.jsonl")}},
        },
        "tokenizer": {"vocab_size": 300},
        "training": {
            "max_steps": 2,
            "batch_tokens": 400,
            "average": {"count": 1},
            "schedule": {"kind": "constant", "peak": 1e-3},
        },
        "validation": {"every_steps": 1},
        "model": {"dim": 8, "num_layers": 1, "attention": {"kind": "multi_head", "num_heads": 2}},
    }
    for section, values in settings.items():
        table[section] = {**table[section], **values}  # type: ignore[dict-item]
    return ClassificationRun.model_validate(table)


def train(config: ClassificationRun) -> tuple[TrainingResult, str]:
    stream = io.StringIO()
    with PlainDisplay(config.training.max_steps, stream) as display:
        result = run_training(config, ClassificationJob.prepare, display=display, device="cpu")
    return result, stream.getvalue()


def test_what_head_and_tail_leave_out_is_said(tmp_path: Path) -> None:
    model = {
        "dim": 8,
        "num_layers": 1,
        "attention": {"kind": "projected"},
        "long_documents": {"kind": "head_and_tail", "head": 4, "tail": 2},
    }
    result, said = train(run(tmp_path, model=model))
    assert "longer than 6 tokens: only head and tail are read," in said
    (documents,) = find_labelled_sets(result.run_folder).values()
    evaluation = evaluate_classification(load_classifier(result.run_folder, device="cpu"), "again", documents)
    assert evaluation.num_documents == 40
    assert evaluation.num_shortened > 0
    assert len(evaluation.decided) == 40


def test_a_finished_run_takes_another_share_without_training_again(tmp_path: Path) -> None:
    model: dict[str, Any] = {"dim": 8, "num_layers": 1, "attention": {"kind": "projected"}}
    first, _ = train(run(tmp_path, model={**model, "naive_bayes": {"num_buckets": 500}}))
    journal = [json.loads(line) for line in (first.run_folder / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert all(0 <= it["best_share"] <= 1 for it in journal if it["kind"] == "validation")
    before = load_model_folder(first.model_folder, ClassifierDescription)
    config = run(tmp_path, model={**model, "naive_bayes": {"num_buckets": 500, "share": 0.8}})
    stream = io.StringIO()
    again = run_training(config, ClassificationJob.prepare, display=PlainDisplay(2, stream), resume=True, device="cpu")
    assert "`model.naive_bayes.share` was 0.5 and is 0.8" in stream.getvalue()
    after = load_model_folder(again.model_folder, ClassifierDescription)
    assert after.description.model.naive_bayes is not None
    assert after.description.model.naive_bayes.share == 0.8
    assert all((before.weights[name] == after.weights[name]).all() for name in before.weights)


def test_the_best_share_is_the_one_with_most_decisions_right() -> None:
    truth = np.array([0, 1, 1])
    good = np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
    bad = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]])
    assert best_share(np.stack([bad, good]), truth) == 0.9  # from 0.8 on all are right
    assert best_share(np.stack([good, bad]), truth) == 0.1
    assert best_share(np.stack([good, good]), truth) == 0.5


def test_a_run_can_start_from_another_model(tmp_path: Path) -> None:
    first, _ = train(run(tmp_path))
    config = run(
        tmp_path,
        "second",
        training={
            "max_steps": 1,
            "init_from": str(first.run_folder),
            "batch_tokens": 400,
            "schedule": {"kind": "constant", "peak": 1e-12},
        },
    )
    second, said = train(config)
    assert "Taking the tokenizer" in said
    before, after = (load_model_folder(result.model_folder, ClassifierDescription) for result in (first, second))
    assert before.tokenizer_json == after.tokenizer_json
    assert all((before.weights[name] - after.weights[name]).abs().max() < 1e-6 for name in before.weights)


def test_weights_of_other_labels_or_another_shape_are_refused(tmp_path: Path) -> None:
    first, _ = train(run(tmp_path))
    start: dict[str, Any] = {"init_from": str(first.run_folder), "max_steps": 1}
    with pytest.raises(UserError, match=r"The labels must be those of `training.init_from`, a, b, but are a, b, c."):
        train(run(tmp_path, "other", "abc", training=start))
    wide = {"dim": 16, "num_layers": 1, "attention": {"kind": "multi_head", "num_heads": 2}}
    with pytest.raises(UserError, match=r"`model.dim` must be 8 as in `training.init_from`, but is 16"):
        train(run(tmp_path, "wide", training=start, model=wide))
    assert not (tmp_path / "runs" / "other").exists()


def test_a_tokenizer_with_languages_is_refused(tmp_path: Path) -> None:
    translator = save_model(tmp_path / "translator", languages=("de", "en"))
    with pytest.raises(UserError, match="must be one without languages, but has tags for some"):
        train(run(tmp_path, tokenizer={"take_from": str(translator)}))


def test_two_files_are_read_line_by_line(tmp_path: Path) -> None:
    texts, labels = tmp_path / "texts", tmp_path / "labels"
    texts.write_text("one\ntwo\n")
    labels.write_text("a \nb\n")
    assert read_aligned(texts, labels) == [Document("one", "a", f"{labels}:1"), Document("two", "b", f"{labels}:2")]
    labels.write_text("a\n")
    with pytest.raises(DataError, match="must have equally many lines, but have 2 and 1"):
        read_aligned(texts, labels)
    texts.write_text("")
    labels.write_text("")
    with pytest.raises(DataError, match="must have at least one line, but has none"):
        read_aligned(texts, labels)


def test_a_model_that_does_not_know_its_run_asks_for_data(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    with pytest.raises(UserError, match=r"does not say which test sets there are. Give them: --data TEXTS LABELS"):
        find_labelled_sets(tmp_path / "alone")
