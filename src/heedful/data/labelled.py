"""Reading labelled documents: JSONL, CSV, TSV, or a folder with one sub-folder for each label.

Every fault of a file is a `DataError` that names the file and the line. Labels are text, whatever the file has: 1 and
"1" are the same label, `true` is "true". What is held out for validation is a function of a document's text alone. This
file knows nothing of tokens.
"""

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.config.classification import (
    CsvDocuments,
    FolderDocuments,
    JsonlDocuments,
    LabelledCorpus,
    LabelledDataConfig,
    TsvDocuments,
)
from heedful.data.opening import open_bytes
from heedful.data.paths import resolve_data_path
from heedful.errors import DataError, count_of, nearest
from heedful.text.lines import MAX_LINE_BYTES, read_lines

_HASH_RANGE = 1 << 64


@dataclass(frozen=True)
class Document:
    """A text, its label, and where it stands: "reviews.csv:17"."""

    text: str
    label: str
    place: str


@dataclass(frozen=True)
class Split:
    """The documents of a run, those to learn from and those to be judged on."""

    train: list[Document]
    validation: list[Document]
    labels: tuple[str, ...]
    """Every label of `train`, in order of the alphabet: a label's number is its place here."""


def read_documents(corpus: LabelledCorpus) -> Iterator[Document]:
    """Yield all documents of a corpus in order, empty texts too. A corpus without a single one is an error."""
    path = resolve_data_path(corpus.path)
    match corpus:
        case JsonlDocuments():
            documents = _read_jsonl(corpus, path)
        case CsvDocuments():
            documents = _read_csv(corpus, path)
        case TsvDocuments():
            documents = _read_tsv(corpus, path)
        case FolderDocuments():
            documents = _read_folders(path)
    is_empty = True
    for document in documents:
        is_empty = False
        yield document
    if is_empty:
        raise DataError(f"A corpus must hold at least one document, but {path} holds none.")


def document_files(corpus: LabelledCorpus) -> list[str]:
    """Return the names of the files a corpus is made of, as the configuration has them."""
    if not isinstance(corpus, FolderDocuments):
        return [corpus.path]
    return [f"{corpus.path}/{file.parent.name}/{file.name}" for file in _list_folders(resolve_data_path(corpus.path))]


def read_split(data: LabelledDataConfig) -> Split:
    """Read the documents of a run and divide them: the corpora for validation, or a part held out by a hash."""
    documents = [document for corpus in data.train for document in read_documents(corpus)]
    if data.validation:
        train, validation = documents, [document for corpus in data.validation for document in read_documents(corpus)]
    else:
        train, validation = hold_out(documents, data.hold_out)
    if not validation or not train:
        raise DataError(
            f"`data.hold_out` must leave something on both sides, but {data.hold_out} of "
            f"{count_of(len(documents), 'document')} leaves {len(train):,} to learn from and {len(validation):,} to be "
            "judged on. Give another share, or corpora in `data.validation`."
        )
    if data.max_documents is not None:
        train = sorted(train, key=lambda document: share_of(document.text, salt=b"chosen"))[: data.max_documents]
    labels = tuple(sorted({document.label for document in train}))
    if len(labels) < 2:
        raise DataError(f'Documents must have at least two different labels to learn from, but all have "{labels[0]}".')
    number_labels(validation, labels)
    return Split(train, validation, labels)


def hold_out(documents: Iterable[Document], share: float) -> tuple[list[Document], list[Document]]:
    """Divide documents into those to learn from and, about `share` of them, those held out. Equal texts stay together.

    A text is held out or is not whatever else there is, so that a corpus may grow, shrink or change its order.
    """
    train: list[Document] = []
    held: list[Document] = []
    for document in documents:
        (held if share_of(document.text, salt=b"held out") < share else train).append(document)
    return train, held


def share_of(text: str, *, salt: bytes) -> float:
    """Return a number from 0 to below 1 that is a function of the text, evenly spread over texts."""
    digest = hashlib.blake2b(text.encode("utf-8", errors="replace"), digest_size=8, key=salt).digest()
    return int.from_bytes(digest, "little") / _HASH_RANGE


def number_labels(documents: Sequence[Document], labels: Sequence[str]) -> list[int]:
    """Return the number of each document's label among `labels`; one that is not among them is refused."""
    numbers = {label: number for number, label in enumerate(labels)}
    for document in documents:
        if document.label not in numbers:
            hint = nearest(document.label, labels)
            remedy = f' Did you mean "{hint}"?' if hint else ""
            known = ", ".join(f'"{label}"' for label in labels[:20]) + (", ..." if len(labels) > 20 else "")
            raise DataError(
                f'{document.place}: the label must be one of those learned, {known}, but is "{document.label}".{remedy}'
            )
    return [numbers[document.label] for document in documents]


def describe_labels(documents: Iterable[Document]) -> str:
    """Say how many documents there are of each label: "neg 12,500, pos 12,500"; of many labels the first few."""
    counts = Counter(document.label for document in documents)
    shown = [f"{label} {count:,}" for label, count in sorted(counts.items())[:10]]
    return ", ".join(shown) + (f" and {len(counts) - 10:,} more labels" if len(counts) > 10 else "")


def _read_jsonl(corpus: JsonlDocuments, path: Path) -> Iterator[Document]:
    with open_bytes(path) as stream:
        for number, line in enumerate(read_lines(stream, str(path)), start=1):
            place = f"{path}:{number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{place}: a line must be a JSON object, but is not: {error}.") from error
            if not isinstance(record, dict):
                raise DataError(f"{place}: a line must be a JSON object, but is something else.")
            text = _value_of(record, corpus.text_key, place)
            if not isinstance(text, str):
                raise DataError(f'{place}: "{corpus.text_key}" must be text, but is {type(text).__name__}.')
            yield Document(text, _label_of(_value_of(record, corpus.label_key, place), corpus.label_key, place), place)


def _value_of(record: dict[str, object], key: str, place: str) -> object:
    if key not in record:
        keys = ", ".join(f'"{name}"' for name in record) or "none"
        raise DataError(f'{place}: the object must have the key "{key}", but has {keys}.')
    return record[key]


def _label_of(value: object, key: str, place: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        found = "empty" if isinstance(value, str) else type(value).__name__
        raise DataError(f'{place}: "{key}" must be a label, text or a whole number, but is {found}.')
    return value.strip()


def _read_csv(corpus: CsvDocuments, path: Path) -> Iterator[Document]:
    with open_bytes(path) as stream:
        # Line ends are the CSV reader's affair: inside quotes they are text.
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
        previous = csv.field_size_limit(MAX_LINE_BYTES)
        rows = csv.reader(_bounded_lines(text, path), delimiter=corpus.delimiter, strict=True)
        try:
            for number, row in enumerate(rows, start=1):
                if row and not (corpus.header and number == 1):
                    yield _document_of(row, corpus, f"{path}:{rows.line_num}")
        except csv.Error as error:
            raise DataError(f"{path}:{rows.line_num}: a row must be quoted as CSV, but is not: {error}.") from error
        finally:
            csv.field_size_limit(previous)
            text.detach()


def _bounded_lines(text: io.TextIOWrapper, path: Path) -> Iterator[str]:
    """Yield lines with their ends; one that does not end is refused before it fills the memory."""
    number = 0
    while line := text.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise DataError(f"{path}:{number}: a line must have at most {MAX_LINE_BYTES:,} characters, but has more.")
        yield line


def _read_tsv(corpus: TsvDocuments, path: Path) -> Iterator[Document]:
    with open_bytes(path) as stream:
        for number, line in enumerate(read_lines(stream, str(path)), start=1):
            if not (corpus.header and number == 1):
                yield _document_of(line.split("\t"), corpus, f"{path}:{number}")


def _document_of(row: Sequence[str], corpus: CsvDocuments | TsvDocuments, place: str) -> Document:
    needed = max(corpus.text_column, corpus.label_column) + 1
    if len(row) < needed:
        raise DataError(f"{place}: a row must have at least {count_of(needed, 'column')}, but has {len(row)}.")
    return Document(row[corpus.text_column], _label_of(row[corpus.label_column], "label", place), place)


def _read_folders(path: Path) -> Iterator[Document]:
    for file in _list_folders(path):
        with open_bytes(file) as stream:
            content = stream.read(MAX_LINE_BYTES + 1)
        if len(content) > MAX_LINE_BYTES:
            raise DataError(f"{file}: a document must have at most {MAX_LINE_BYTES:,} bytes, but has more.")
        yield Document(content.decode("utf-8-sig", errors="replace"), file.parent.name, str(file))


def _list_folders(path: Path) -> Iterator[Path]:
    """Yield the files of all labels in order; a file's folder is its label."""
    if not path.is_dir():
        raise DataError(f"{path} must be a folder with one sub-folder for each label, but is none.")
    for folder in sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith(".")):
        yield from sorted(entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))
