"""Labelled documents from every kind of file, what is held out, and the sentences for what is wrong."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from heedful.config.classification import (
    CsvDocuments,
    FolderDocuments,
    JsonlDocuments,
    LabelledCorpus,
    LabelledDataConfig,
    TsvDocuments,
)
from heedful.data.labelled import (
    Document,
    describe_labels,
    hold_out,
    number_labels,
    read_documents,
    read_split,
)
from heedful.errors import DataError
from heedful.text.lines import MAX_LINE_BYTES

ROWS = [("good film", "pos"), ('he said "no", twice\nand left', "neg"), ("", "pos")]


def pairs(corpus: Any) -> list[tuple[str, str]]:
    return [(document.text, document.label) for document in read_documents(corpus)]


def test_jsonl_with_text_numbers_and_truth_values_as_labels(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl.gz"
    records = [{"review": "a", "stars": 5}, {"review": "b", "stars": "5"}, {"review": "c", "stars": True}]
    path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))
    corpus = JsonlDocuments(path=str(path), text_key="review", label_key="stars")
    assert pairs(corpus) == [("a", "5"), ("b", "5"), ("c", "true")]


def test_csv_with_quotes_commas_and_line_ends_inside_a_text(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *ROWS])
    assert pairs(CsvDocuments(kind="csv", path=str(path), header=True)) == ROWS
    places = [document.place for document in read_documents(CsvDocuments(kind="csv", path=str(path), header=True))]
    assert places == [f"{path}:{line}" for line in (2, 4, 5)], "the line a row ends on"


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")), st.sampled_from("abc")),
        min_size=1,
    )
)
def test_csv_gives_back_what_was_written(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("csv") / "any.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    text = path.read_text(encoding="utf-8")
    expected = [
        (row[0].removeprefix("\ufeff") if number == 0 and text.startswith("\ufeff") else row[0], row[1])
        for number, row in enumerate(rows)
    ]
    assert pairs(CsvDocuments(kind="csv", path=str(path))) == expected


def test_tsv_has_columns_and_no_quoting(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_text('pos\tid 1\the said "no"\nneg\tid 2\t"open\n')
    corpus = TsvDocuments(kind="tsv", path=str(path), text_column=2, label_column=0)
    assert pairs(corpus) == [('he said "no"', "pos"), ('"open', "neg")]


def test_folders_name_the_labels(tmp_path: Path) -> None:
    for label, name, text in [("neg", "1.txt", "bad\nfilm"), ("pos", "2.txt", "good"), ("pos", "10.txt", "fine")]:
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / name).write_text(text)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README").write_text("not a label")
    (tmp_path / "pos" / ".DS_Store").write_text("not a document")
    corpus = FolderDocuments(kind="folders", path=str(tmp_path))
    assert pairs(corpus) == [("bad\nfilm", "neg"), ("fine", "pos"), ("good", "pos")]


@pytest.mark.parametrize(
    ("name", "content", "corpus", "sentence"),
    [
        ("x.jsonl", "nonsense\n", {"kind": "jsonl"}, "x.jsonl:1: a line must be a JSON object, but is not"),
        (
            "x.jsonl",
            '{"text": "a"}\n',
            {"kind": "jsonl"},
            'x.jsonl:1: the object must have the key "label", but has "text".',
        ),
        ("x.jsonl", '{"text": 3, "label": "a"}\n', {"kind": "jsonl"}, 'x.jsonl:1: "text" must be text, but is int.'),
        (
            "x.jsonl",
            '{"text": "a", "label": null}\n',
            {"kind": "jsonl"},
            "must be a label, text or a whole number, but is NoneType.",
        ),
        ("x.jsonl", "", {"kind": "jsonl"}, "A corpus must hold at least one document, but"),
        ("x.csv", "alone\n", {"kind": "csv"}, "x.csv:1: a row must have at least 2 columns, but has 1."),
        ("x.csv", 'a,"b\n', {"kind": "csv"}, "a row must be quoted as CSV, but is not"),
        ("x.csv", "a, \n", {"kind": "csv"}, '"label" must be a label, text or a whole number, but is empty.'),
        ("x.tsv", "alone\n", {"kind": "tsv"}, "x.tsv:1: a row must have at least 2 columns, but has 1."),
        (
            "x.txt",
            "alone\n",
            {"kind": "folders"},
            "x.txt must be a folder with one sub-folder for each label, but is none.",
        ),
    ],
)
def test_faults_name_file_and_line(
    tmp_path: Path, name: str, content: str, corpus: dict[str, Any], sentence: str
) -> None:
    (tmp_path / name).write_text(content)
    data = LabelledDataConfig.model_validate({"train": [{**corpus, "path": str(tmp_path / name)}]})
    with pytest.raises(DataError) as caught:
        list(read_documents(data.train[0]))
    assert sentence in str(caught.value)


def numbered(count: int, label: str = "a") -> list[Document]:
    return [Document(f"text number {number}", label, f"here:{number}") for number in range(count)]


def test_what_is_held_out_is_a_share_and_does_not_depend_on_the_company() -> None:
    documents = numbered(4000)
    train, held = hold_out(documents, 0.1)
    assert 330 < len(held) < 470
    assert sorted([*train, *held], key=documents.index) == documents
    fewer_train, fewer_held = hold_out(reversed(documents[:100]), 0.1)
    assert set(fewer_held) == {document for document in held if document in documents[:100]}
    assert set(fewer_train) | set(fewer_held) == set(documents[:100])
    assert set(hold_out(documents, 0.05)[1]) <= set(held), "a smaller share is a part of a larger one"


def test_equal_texts_stay_together() -> None:
    train, held = hold_out([*numbered(300, "a"), *numbered(300, "b")], 0.3)
    assert not {document.text for document in train} & {document.text for document in held}


def write_jsonl(path: Path, rows: list[tuple[str, str]]) -> dict[str, str]:
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows))
    return {"kind": "jsonl", "path": str(path)}


def test_the_labels_of_a_run_are_those_it_learns_from(tmp_path: Path) -> None:
    train = write_jsonl(tmp_path / "train.jsonl", [(f"t{n}", "cba"[n % 3]) for n in range(30)])
    split = read_split(LabelledDataConfig.model_validate({"train": [train], "hold_out": 0.2}))
    assert split.labels == ("a", "b", "c")
    assert len(split.train) + len(split.validation) == 30
    assert number_labels(split.train[:3], split.labels) == ["abc".index(document.label) for document in split.train[:3]]


def test_validation_corpora_are_used_when_there_are_some_and_must_fit(tmp_path: Path) -> None:
    train = write_jsonl(tmp_path / "train.jsonl", [("x", "pos"), ("y", "neg")])
    good = write_jsonl(tmp_path / "good.jsonl", [("z", "neg")])
    bad = write_jsonl(tmp_path / "bad.jsonl", [("z", "neg"), ("w", "negg")])
    split = read_split(LabelledDataConfig.model_validate({"train": [train], "validation": [good]}))
    assert [document.text for document in split.validation] == ["z"]
    assert len(split.train) == 2
    with pytest.raises(
        DataError,
        match=r'bad.jsonl:2: the label must be one of those learned, "neg", "pos", but is "negg". Did you mean "neg"',
    ):
        read_split(LabelledDataConfig.model_validate({"train": [train], "validation": [bad]}))


def test_fewer_documents_are_a_part_of_more(tmp_path: Path) -> None:
    train = write_jsonl(tmp_path / "train.jsonl", [(f"t{n}", "ab"[n % 2]) for n in range(200)])
    splits = [
        read_split(LabelledDataConfig.model_validate({"train": [train], "max_documents": count})) for count in (20, 60)
    ]
    few, more = ({document.text for document in split.train} for split in splits)
    assert len(few) == 20
    assert few < more
    assert splits[0].validation == splits[1].validation


def test_one_label_or_an_empty_side_is_refused(tmp_path: Path) -> None:
    one = write_jsonl(tmp_path / "one.jsonl", [(f"t{n}", "a") for n in range(50)])
    with pytest.raises(DataError, match='at least two different labels to learn from, but all have "a"'):
        read_split(LabelledDataConfig.model_validate({"train": [one]}))
    single = write_jsonl(tmp_path / "single.jsonl", [("t", "a")])
    with pytest.raises(DataError, match="must leave something on both sides"):
        read_split(LabelledDataConfig.model_validate({"train": [single]}))


def test_labels_are_described_in_a_line() -> None:
    assert describe_labels([*numbered(2, "b"), *numbered(1200, "a")]) == "a 1,200, b 2"
    many = [Document("", str(number), "") for number in range(10, 30)]
    assert describe_labels(many).endswith("and 10 more labels")


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "folders"])
def test_a_document_that_never_ends_is_refused_before_it_fills_the_memory(tmp_path: Path, kind: str) -> None:
    """A few kilobytes of compressed data are gigabytes of text."""
    bomb = gzip.compress(b"x" * (MAX_LINE_BYTES + 1), compresslevel=1)
    path = tmp_path / "docs" / "label" / "bomb.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(bomb)
    corpus = TypeAdapter(LabelledCorpus).validate_python(
        {"kind": kind, "path": str(tmp_path / "docs" if kind == "folders" else path)}
    )
    with pytest.raises(DataError) as caught:
        list(read_documents(corpus))
    assert str(caught.value).startswith(f"{path}")
    assert " must have at most 16,777,216 " in str(caught.value)


def test_a_csv_field_over_many_lines_is_bounded_too(tmp_path: Path) -> None:
    path = tmp_path / "docs.csv"
    path.write_bytes(b'"' + b"short line\n" * (MAX_LINE_BYTES // 11 + 2))
    corpus = TypeAdapter(LabelledCorpus).validate_python({"kind": "csv", "path": str(path)})
    with pytest.raises(DataError, match="field larger than field limit"):
        list(read_documents(corpus))
