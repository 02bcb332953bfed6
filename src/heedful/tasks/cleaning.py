"""`heedful clean`: the corpora of a run written anew without what spoils them, and a config that names them.

What is learned from and what progress is measured on is cleaned; test corpora stay as they are, or scores could not be
compared. The folder appears whole or not at all, and nothing is overwritten. The rules stand in data/cleaning.py.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO, TypeVar

from heedful.config.classification import ClassificationRun, JsonlDocuments, LabelledCorpus
from heedful.config.data import Corpus, DataConfig, LineCorpus
from heedful.config.language_modeling import LanguageModelRun, TextFiles
from heedful.config.load import AnyRun, dump_toml
from heedful.data.cleaning import CleaningReport, clean_pairs, clean_text, rule_against_text
from heedful.data.corpus_faults import CorpusFaults, HeldOut, languages_of, whole_pair
from heedful.data.labelled import Document, read_documents
from heedful.data.line_faults import prevailing_language
from heedful.data.near_duplicates import NearDuplicates
from heedful.data.opening import open_bytes
from heedful.data.readers import read_pairs
from heedful.data.text_stream import held_out_names, read_test, read_train, read_validation
from heedful.errors import DataError
from heedful.files import publish_folder, write_new
from heedful.tasks.translation.data import direction_of
from heedful.tasks.translation.spoilt_corpora import sides_of
from heedful.text.lines import one_line, read_lines

CONFIG, REPORT = "config.toml", "report.json"
Reports = dict[str, CleaningReport]
Say = Callable[[str], None]
RunT = TypeVar("RunT", bound=AnyRun)
T = TypeVar("T")
_LONG_LINE = 40
_TEXTS_AT_ONCE = 8192
_NUM_TO_GUESS_FROM = 500


@dataclass(frozen=True)
class _Work:
    """Where files are written now, where they will stand, and what is told of them."""

    folder: Path
    final: Path
    reports: Reports
    say: Say
    against: NearDuplicates
    """Lines that neither side of a training pair may be near to."""

    def open(self, name: str) -> TextIO:
        return (self.folder / name).open("x", encoding="utf-8", errors="surrogatepass", newline="")

    def report(self, setting: str) -> CleaningReport:
        self.say(f"{setting}: cleaning.")
        return self.reports.setdefault(setting, CleaningReport())


def clean_run(run: AnyRun, out: Path, *, say: Say, against: Sequence[Path] = ()) -> Reports:
    """Write the cleaned corpora of a run to the new folder `out`, with a config for `heedful train` and a report.

    What is learned from loses everything that is near a line of the files `against` as well.
    """
    reports: Reports = {}
    noted = noted_lines(against)

    def fill(folder: Path) -> None:
        work = _Work(folder, out, reports, say, noted)
        match run:
            case ClassificationRun():
                cleaned: AnyRun = _clean_documents(run, work)
            case LanguageModelRun():
                cleaned = _clean_texts(run, work)
            case _:
                cleaned = run.model_copy(update={"data": _clean_data(run.data, work)})
        cleaned = cleaned.model_copy(update={"name": f"{run.name}_clean"})
        write_new(folder / CONFIG, dump_toml(cleaned).encode())
        write_new(folder / REPORT, report_json(reports).encode())

    publish_folder(out, fill)
    return reports


def clean_files(
    corpus: Corpus, data_languages: tuple[str, str], out: Path, *, say: Say, against: Sequence[Path] = ()
) -> Reports:
    """Write one corpus, cleaned, to the new folder `out`, with a report."""
    reports: Reports = {}
    noted = noted_lines(against)
    data = DataConfig(
        source_language=data_languages[0], target_language=data_languages[1], train=[corpus], validation=[corpus]
    )

    def fill(folder: Path) -> None:
        _clean_corpus(corpus, data, "train-0", "input", HeldOut(), _Work(folder, out, reports, say, noted))
        write_new(folder / REPORT, report_json(reports).encode())

    publish_folder(out, fill)
    return reports


def noted_lines(files: Sequence[Path]) -> NearDuplicates:
    """Remember every line of some files, of a TSV file every column."""
    noted, number = NearDuplicates(), 0
    for path in files:
        with open_bytes(path) as stream:
            for line in read_lines(stream, str(path)):
                for text in line.split("\t") if ".tsv" in path.suffixes else [line]:
                    noted.note(text, number)
                    number += 1
    return noted


def apart_from(
    texts: Iterable[T], sides: Callable[[T], Sequence[str]], noted: NearDuplicates, report: CleaningReport
) -> Iterator[T]:
    """Yield what has no side near a noted line; the others are taken from those kept, and counted."""
    remaining = iter(texts)
    while some := list(islice(remaining, _TEXTS_AT_ONCE)):
        owners = [place for place, one in enumerate(some) for _ in sides(one)]
        found = noted.find_many([side for one in some for side in sides(one)])
        near = {owner for owner, number in zip(owners, found, strict=True) if number is not None}
        if near:
            report.num_kept -= len(near)
            report.left_out["held_out"] += len(near)
        yield from (one for place, one in enumerate(some) if place not in near)


def report_json(reports: Reports) -> str:
    """Return what was done to each corpus, as JSON."""
    return json.dumps(
        {
            setting: {
                "read": report.num_read,
                "kept": report.num_kept,
                "repaired": dict(sorted(report.repaired.items())),
                "left_out": dict(sorted(report.left_out.items())),
            }
            for setting, report in reports.items()
        }
    )


def _clean_data(data: DataConfig, work: _Work) -> DataConfig:
    held_out, done = HeldOut(), dict[frozenset[str], tuple[Corpus, LineCorpus]]()

    def cleaned(corpus: Corpus, name: str, setting: str, held_out: HeldOut | None) -> Corpus:
        if (sides := sides_of(corpus)) not in done:
            done[sides] = corpus, _clean_corpus(corpus, data, name, setting, held_out, work)
        original, written = done[sides]
        if direction_of(original, data) == direction_of(corpus, data):
            return written
        return written.model_copy(  # the same corpus read the other way round
            update={
                "source": written.target,
                "target": written.source,
                "source_language": corpus.source_language,
                "target_language": corpus.target_language,
            }
        )

    validation = [
        cleaned(corpus, f"validation-{number}", f"data.validation[{number}]", None)
        for number, corpus in enumerate(data.validation)
    ]
    for corpus in [*data.validation, *data.test.values()]:
        for pair in read_pairs(corpus):
            held_out.note(whole_pair(pair.source, pair.target), CorpusFaults(), "")
    train = [
        cleaned(corpus, f"train-{number}", f"data.train[{number}]", held_out)
        for number, corpus in enumerate(data.train)
    ]
    return data.model_copy(update={"train": train, "validation": validation})


def _clean_corpus(
    corpus: Corpus, data: DataConfig, name: str, setting: str, held_out: HeldOut | None, work: _Work
) -> LineCorpus:
    report, read = work.report(setting), partial(read_pairs, corpus)
    direction = direction_of(corpus, data)
    names = [f"{name}.{side}" for side in (direction if direction[0] != direction[1] else ("source", "target"))]
    with work.open(names[0]) as sources, work.open(names[1]) as targets:
        pairs = clean_pairs(read, languages_of(*direction, read), held_out, report)
        if held_out is not None:  # what is learned from
            pairs = apart_from(pairs, lambda pair: (pair.source, pair.target), work.against, report)
        for pair in pairs:
            sources.write(_line(pair.source))
            targets.write(_line(pair.target))
    _check_something_is_left(setting, report)
    kept = corpus.model_dump(include={"weight", "source_language", "target_language", "simplify_chinese"})
    return LineCorpus(source=str(work.final / names[0]), target=str(work.final / names[1]), **kept)


def _line(text: str) -> str:
    return (one_line(text) if "\n" in text or text.endswith("\r") else text) + "\n"


def _check_something_is_left(setting: str, report: CleaningReport) -> None:
    if not report.num_kept:
        reasons = ", ".join(f"{count:,} {rule}" for rule, count in report.left_out.most_common())
        raise DataError(
            f"`{setting}` must have something left when it is cleaned, but nothing is ({reasons}). "
            "Are its languages those of the config?"
        )


def _clean_documents(run: ClassificationRun, work: _Work) -> ClassificationRun:
    held_out, data = HeldOut(), run.data
    validation = [
        _clean_labelled(corpus, f"validation-{number}", f"data.validation[{number}]", None, work)
        for number, corpus in enumerate(data.validation)
    ]
    for corpus in [*data.validation, *data.test.values()]:
        for document in read_documents(corpus):
            held_out.note(document.text, CorpusFaults(), "")
    train = [
        _clean_labelled(corpus, f"train-{number}", f"data.train[{number}]", held_out, work)
        for number, corpus in enumerate(data.train)
    ]
    return run.model_copy(update={"data": data.model_copy(update={"train": train, "validation": validation})})


def _clean_labelled(
    corpus: LabelledCorpus, name: str, setting: str, held_out: HeldOut | None, work: _Work
) -> LabelledCorpus:
    report = work.report(setting)
    language = prevailing_language(_beginnings(read_documents(corpus)))
    with work.open(f"{name}.jsonl") as file:
        for document in read_documents(corpus):
            report.num_read += 1
            text = clean_text(document.text, report)
            rule = rule_against_text(text, language, held_out)
            if rule is None and held_out is not None and work.against.find(text) is not None:
                rule = "held_out"
            if rule is not None:
                report.left_out[rule] += 1
                continue
            report.num_kept += 1
            file.write(json.dumps({"text": text, "label": document.label}, ensure_ascii=False) + "\n")
    _check_something_is_left(setting, report)
    return JsonlDocuments(path=str(work.final / f"{name}.jsonl"))


def _beginnings(documents: Iterator[Document]) -> Iterator[str]:
    return (document.text[:1000] for document in islice(documents, _NUM_TO_GUESS_FROM))


def _clean_texts(run: LanguageModelRun, work: _Work) -> LanguageModelRun:
    """Clean the lines of texts; their markup is part of what is learned, and so are their languages."""
    data, held_out = run.data, HeldOut()
    tests = {name: read_test(data, name) for name in held_out_names(data)}
    held = [read_validation(data), *tests.values()]
    for content in held:
        for line in io.BytesIO(content):
            if len(line) >= _LONG_LINE:
                held_out.note(line.decode("utf-8", errors="replace"), CorpusFaults(), "")
    _clean_lines(held[0], "validation.txt", "data.validation", None, work)
    _clean_lines(read_train(data), "train.txt", "data.train", held_out, work)
    for name, content in tests.items():
        write_new(work.folder / f"test-{name}.txt", content)
    files = TextFiles(
        train=[str(work.final / "train.txt")],
        validation=[str(work.final / "validation.txt")],
        test={name: str(work.final / f"test-{name}.txt") for name in tests},
    )
    return run.model_copy(update={"data": files})


def _clean_lines(content: bytes, name: str, setting: str, held_out: HeldOut | None, work: _Work) -> None:
    report = work.report(setting)
    with (work.folder / name).open("xb") as file:
        for line in io.BytesIO(content):
            report.num_read += 1
            text = line.decode("utf-8", errors="surrogateescape")  # bytes that are no UTF-8 come out as they went in
            cleaned = clean_text(text, report, is_markup_meant=True)
            if (
                held_out is not None
                and len(line) >= _LONG_LINE
                and (held_out.find(cleaned) is not None or work.against.find(cleaned) is not None)
            ):
                report.left_out["held_out"] += 1
                continue
            report.num_kept += 1
            file.write(cleaned.encode("utf-8", errors="surrogateescape"))
    _check_something_is_left(setting, report)
