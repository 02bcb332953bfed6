"""The doctor for documents: what it finds, where, and how bad it is."""

import json
from pathlib import Path
from typing import Any

from heedful.config.classification import ClassificationRun
from heedful.data.labelled import Split
from heedful.tasks.classification.doctor import LabelExamination, examine_documents
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer

WORDS = ["star", "moon", "sun", "cloud", "rain"]
GOOD = [
    (f"a {word} that shines {number} times", "pos" if number % 2 else "neg") for word in WORDS for number in range(12)
]


def write(path: Path, documents: list[tuple[str, str]]) -> str:
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in documents))
    return str(path)


def run_of(train: str, test: str | None = None, **model: Any) -> ClassificationRun:
    return ClassificationRun.model_validate(
        {
            "task": "classification",
            "name": "x",
            "data": {
                "train": [{"kind": "jsonl", "path": train}],
                "hold_out": 0.2,
                "test": {} if test is None else {"unseen": {"kind": "jsonl", "path": test}},
            },
            "tokenizer": {"vocab_size": 340},
            "model": {"dim": 16, "num_layers": 1, **model},
            "training": {"max_steps": 10, "batch_tokens": 200},
        }
    )


def examine(run: ClassificationRun) -> LabelExamination:
    def learn(split: Split) -> Tokenizer:
        return learn_tokenizer(run.tokenizer, (document.text for document in split.train), ())

    return examine_documents(run, tokenizer_of=learn)


def sentences(found: LabelExamination) -> list[tuple[str, str]]:
    return [(finding.severity, finding.sentence) for finding in found.findings]


def test_good_documents_have_no_findings_and_everything_is_counted(tmp_path: Path) -> None:
    found = examine(run_of(write(tmp_path / "train.jsonl", GOOD)))
    assert found.findings == []
    assert found.corpora[0].labels == {"neg": 30, "pos": 30}
    assert found.labels == ("neg", "pos")
    cost = found.estimate
    assert cost is not None
    assert cost.num_train + cost.num_validation == 60
    assert cost.num_epochs == 10 / cost.num_batches
    assert cost.largest_batch[0] * cost.largest_batch[1] <= 200
    assert cost.num_run_tokens >= cost.num_run_documents * 8
    lengths = found.corpora[0].lengths
    assert lengths is not None
    assert 7 < lengths.mean <= lengths.longest


def test_faults_are_found_with_their_lines(tmp_path: Path) -> None:
    documents = [*GOOD, ("  ", "pos"), GOOD[0], (GOOD[1][0], "neg")]
    found = examine(run_of(write(tmp_path / "train.jsonl", documents), write(tmp_path / "test.jsonl", GOOD[:3])))
    assert sentences(found) == [
        ("warning", "`data.train[0]`: 1 document (61) without text; only the label can be learned from that."),
        ("warning", "`data.train[0]`: 1 document (63) with the text of an earlier one, labelled otherwise."),
        ("note", "`data.train[0]`: 1 document (62) with text and label of an earlier one."),
        ("warning", "`data.test.unseen`: 3 documents (100.0%) also in the training corpora; scores will flatter."),
    ]


def test_long_documents_are_read_in_windows_or_cut_and_said_to_be(tmp_path: Path) -> None:
    train = write(tmp_path / "train.jsonl", [*GOOD, ("star " * 60, "pos"), ("moon " * 60, "neg")])
    windows = sentences(examine(run_of(train, long_documents={"kind": "windows", "length": 32})))
    assert ("note", "`data.train[0]`: 2 documents of more than 32 tokens: read in windows, whole "
            "(`model.long_documents`).") in windows  # fmt: skip
    cut = examine(run_of(train, long_documents={"kind": "head_and_tail", "head": 24, "tail": 8}))
    (said,) = [sentence for severity, sentence in sentences(cut) if severity == "warning"]
    assert said.startswith("`data.train[0]`: 2 documents of more than 32 tokens: only head and tail are read, ")
    total = cut.corpora[0].lengths
    assert total is not None
    assert 0.05 < cut.corpora[0].unread_share < 0.5


def test_rare_labels_and_labels_nobody_judges_are_told(tmp_path: Path) -> None:
    documents = [*GOOD, ("one cloud of its own", "odd")]
    run = run_of(write(tmp_path / "train.jsonl", documents))
    found = sentences(examine(run))
    assert ("warning", 'The label "odd" has only 1 document to learn from.') in found
    assert ("warning", 'The label "odd" has no document to be judged on in validation.') in found


def test_what_a_run_would_refuse_is_an_error(tmp_path: Path) -> None:
    train = write(tmp_path / "train.jsonl", GOOD)
    missing = examine(run_of(train, str(tmp_path / "nowhere.jsonl")))
    assert missing.has_errors
    assert "nowhere.jsonl must exist" in missing.findings[0].sentence
    strange = examine(run_of(train, write(tmp_path / "test.jsonl", [("x", "poss")])))
    assert strange.has_errors
    assert 'Did you mean "pos"?' in strange.findings[0].sentence
    alone = examine(run_of(write(tmp_path / "alone.jsonl", [(text, "pos") for text, _ in GOOD])))
    assert alone.has_errors
    assert "at least two different labels" in alone.findings[0].sentence
