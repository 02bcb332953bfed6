"""The doctor for language models: looks at all texts of a run and says what it found (doctor.py for translation).

Reads the texts, finds their symbols as the run would, and cuts them into segments. What a run would refuse is an
"error", what usually spoils one a "warning", what is good to know a "note". Returns data and prints nothing.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from heedful.config.language_modeling import LanguageModelRun, SplitFile, Subwords, TextFiles
from heedful.data.corpus_faults import CorpusFaults, HeldOut, examine_single_texts
from heedful.data.paths import resolve_data_path
from heedful.data.text_stream import TextStream, held_out_names, read_test, read_train, read_validation
from heedful.errors import DataError, HeedfulError
from heedful.tasks.diagnosis import Finding, Part
from heedful.tasks.fault_findings import fault_findings, near_findings
from heedful.text.symbols import Symbols

_LONG_LINE = 40
"""Bytes of a line that is looked at: shorter ones, such as headings, stand in many texts."""

_FEW_EPOCHS, _MANY_EPOCHS = 1, 100


@dataclass
class TextReport:
    """What is known of one text."""

    setting: str
    """Where the config names it, such as `data.train`."""

    part: Part
    files: list[str]
    num_bytes: int
    num_symbols: int | None = None
    is_utf8: bool = True
    in_training: bool = False
    """Of a validation or test text: whether the training text holds the whole of it."""

    faults: CorpusFaults = field(default_factory=CorpusFaults)
    """Lines that spoil it."""


@dataclass(frozen=True)
class TextEstimate:
    """How a run goes through its text."""

    num_streams: int
    """Texts that are read side by side."""

    num_segments: int
    """Steps of an epoch, each a segment of every stream."""

    num_epochs: float
    num_run_symbols: int


@dataclass(frozen=True)
class TextExamination:
    """Everything the doctor found; `estimate` is None when the texts cannot be used."""

    findings: list[Finding]
    texts: list[TextReport]
    estimate: TextEstimate | None = None
    vocab_size: int | None = None

    @property
    def has_errors(self) -> bool:
        """Whether a run would be refused."""
        return any(finding.severity == "error" for finding in self.findings)


def examine_texts(
    config: LanguageModelRun,
    *,
    symbols_of: Callable[[bytes], Symbols],
    in_words: Callable[[DataError], str] = str,
) -> TextExamination:
    """Look at the texts of a run; `symbols_of` finds the symbols of the training text as the run would."""
    errors: list[Finding] = []
    reports: list[TextReport] = []
    contents: list[bytes] = []
    for setting, part, files, read in _texts(config):
        try:
            content = read()
        except DataError as error:
            errors.append(Finding("error", f"`{setting}`: {in_words(error)}"))
            continue
        report = TextReport(setting, part, files, len(content), is_utf8=_is_utf8(content))
        report.in_training = part != "train" and not errors and content in contents[0]
        reports.append(report)
        contents.append(content)
    _look_for_faults(reports, contents)
    if errors:
        return TextExamination([*errors, *_text_findings(config, reports)], reports)
    try:
        symbols = symbols_of(contents[0])
        encoded = [symbols.encode(content) for content in contents]
        for report, ids in zip(reports, encoded, strict=True):
            report.num_symbols = len(ids)
        training = config.training
        stream = TextStream(
            encoded[0], num_streams=training.num_streams, segment_len=training.segment_len, seed=config.seed
        )
    except HeedfulError as error:
        return TextExamination([Finding("error", str(error)), *_text_findings(config, reports)], reports)
    num_batches = training.max_steps * training.accumulate
    estimate = TextEstimate(
        training.num_streams,
        stream.num_segments,
        num_batches / stream.num_segments,
        num_batches * training.num_streams * training.segment_len,
    )
    findings = [*_text_findings(config, reports), *_run_findings(config, estimate)]
    return TextExamination(findings, reports, estimate, symbols.vocab_size)


def _texts(config: LanguageModelRun) -> Iterator[tuple[str, Part, list[str], Callable[[], bytes]]]:
    """Yield setting, part, files and reader of each text, training first: the others are compared with it."""
    data = config.data
    cut = "_bytes" if isinstance(data, SplitFile) else ""
    yield f"data.train{cut}", "train", _files(data, "train"), partial(read_train, data)
    yield f"data.validation{cut}", "validation", _files(data, "validation"), partial(read_validation, data)
    for name in held_out_names(data):
        setting = f"data.test{cut}" if cut else f"data.test.{name}"
        yield setting, "test", _files(data, name), partial(read_test, data, name)


def _files(data: TextFiles | SplitFile, part: str) -> list[str]:
    if isinstance(data, SplitFile):
        names: Sequence[str] = [data.path]
    else:
        names = {"train": data.train, "validation": data.validation}.get(part) or [data.test[part]]
    return [str(resolve_data_path(name)) for name in names]


def _look_for_faults(reports: Sequence[TextReport], contents: Sequence[bytes]) -> None:
    """Look at the lines that are long enough to be somebody's, those that are held out first."""
    held_out = HeldOut(counts_same=True)
    for report, content in sorted(zip(reports, contents, strict=True), key=lambda one: one[0].part == "train"):
        report.faults = examine_single_texts(
            _long_lines(content), held_out=held_out if report.part == "train" else None
        )
        if report.part != "train":
            for text, place in _long_lines(content):
                held_out.note(text, report.faults, place)


def _long_lines(content: bytes) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(io.BytesIO(content), start=1):
        if len(line) >= _LONG_LINE:
            yield line.decode("utf-8", errors="replace").rstrip("\r\n"), f"line {number:,}"


def _is_utf8(content: bytes) -> bool:
    """Tell whether a text is UTF-8; a character that the cut at either end breaks does not count."""
    try:
        content.lstrip(bytes(range(0x80, 0xC0))).decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _text_findings(config: LanguageModelRun, reports: Sequence[TextReport]) -> Iterator[Finding]:
    for report in reports:
        place = f"`{report.setting}`"
        if report.in_training:
            yield Finding("warning", f"{place}: the whole text is also in the training text; scores will flatter.")
        if not report.is_utf8 and isinstance(config.tokenizer, Subwords):
            yield Finding(
                "warning",
                f"{place}: not all of the text is valid UTF-8; the bytes in question become U+FFFD. "
                '`tokenizer.kind = "bytes"` reads any file.',
            )
        yield from fault_findings(report.setting, report.faults)
        if not report.in_training:
            yield from near_findings(report.setting, report.faults, "line")


def _run_findings(config: LanguageModelRun, estimate: TextEstimate) -> Iterator[Finding]:
    steps = f"`training.max_steps` = {config.training.max_steps:,}"
    if estimate.num_epochs < _FEW_EPOCHS:
        yield Finding("note", f"{steps} sees only {estimate.num_epochs:.0%} of the training text.")
    elif estimate.num_epochs > _MANY_EPOCHS:
        yield Finding("note", f"{steps} goes through the training text {estimate.num_epochs:,.0f} times.")
