"""The doctor for classification: looks at all documents of a run and says what it found (doctor.py for translation).

Reads the corpora, divides them and learns the tokenizer as the run would, and measures. What a run would refuse is an
"error", what usually spoils one a "warning", what is good to know a "note". Returns data and prints nothing.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from heedful.config.classification import ClassificationRun, HeadAndTail, LabelledCorpus
from heedful.data.corpus_faults import CorpusFaults, HeldOut, examine_single_texts
from heedful.data.labelled import Document, Split, number_labels, read_documents, read_split
from heedful.data.line_faults import prevailing_language
from heedful.data.packing import epoch_plan
from heedful.data.paths import resolve_data_path
from heedful.errors import DataError, HeedfulError, count_of
from heedful.tasks.diagnosis import Finding, LengthSummary, Part, Severity, summarise
from heedful.tasks.fault_findings import fault_findings, near_findings
from heedful.tasks.runs import shaped_like_its_start
from heedful.text.tokenizer import Tokenizer

_MAX_PLACES = 5
_RARE_LABEL = 0.1  # of what the label would have if all had the same
_FEW_DOCUMENTS = 10
_NUM_TO_GUESS_FROM, _BEGINNING = 500, 1000
"""Documents, and characters of each, that tell which language a corpus is in."""

_FEW_EPOCHS, _MANY_EPOCHS = 1, 100


@dataclass
class Places:
    """Documents with something in common: how many there are, and where the first stand."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count a document."""
        self.count += 1
        if len(self.first) < _MAX_PLACES:
            self.first.append(place)

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.first) else ""
        return f"{count_of(self.count, 'document')} ({', '.join(self.first)}{more})"


@dataclass
class LabelledReport:
    """What is known of one corpus of documents."""

    setting: str
    """Where the config names it, such as `data.train[0]`."""

    part: Part
    path: str
    num_documents: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    """How many documents have each label."""

    empty: Places = field(default_factory=Places)
    duplicates: Places = field(default_factory=Places)
    """Texts that stand earlier in the corpus with the same label."""

    contradictions: Places = field(default_factory=Places)
    """Texts that stand earlier in the corpus with another label."""

    num_in_training: int = 0
    """Of a validation or test corpus: texts that are also in a training corpus."""

    lengths: LengthSummary | None = None
    num_long: int = 0
    """Documents of more tokens than attend to one another at once."""

    unread_share: float = 0.0
    """Share of the tokens that the model does not read, 0 where it reads long documents in windows."""

    faults: CorpusFaults = field(default_factory=CorpusFaults)
    """Documents that spoil it."""


@dataclass(frozen=True)
class LabelEstimate:
    """What follows from the lengths of the documents."""

    num_train: int
    num_validation: int
    num_batches: int
    """Batches of an epoch."""

    real_share: float
    """Share of the tokens in a batch that are not padding."""

    num_epochs: float
    largest_batch: tuple[int, int]
    """Rows and padded length of the batch with most tokens."""

    num_run_documents: float
    """Documents of the whole run, each as often as it is read."""

    num_run_tokens: float
    """Tokens of the whole run, padding included: what its time depends on."""


@dataclass(frozen=True)
class LabelExamination:
    """Everything the doctor found; `estimate` is None when the training corpora cannot be used."""

    findings: list[Finding]
    corpora: list[LabelledReport]
    estimate: LabelEstimate | None = None
    vocab_size: int | None = None
    labels: tuple[str, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether a run would be refused."""
        return any(finding.severity == "error" for finding in self.findings)


def examine_documents(
    config: ClassificationRun,
    *,
    tokenizer_of: Callable[[Split], Tokenizer],
    in_words: Callable[[DataError], str] = str,
) -> LabelExamination:
    """Look at the documents of a run; `tokenizer_of` learns or finds the tokenizer as the run would."""
    config = shaped_like_its_start(config)
    errors: list[Finding] = []
    readable: list[tuple[LabelledReport, list[Document]]] = []
    training_texts: set[bytes] = set()
    for report, corpus in _corpora(config):
        try:
            documents = list(read_documents(corpus))
        except DataError as error:
            errors.append(Finding("error", f"`{report.setting}`: {in_words(error)}"))
        else:
            _read(report, documents, training_texts)
            readable.append((report, documents))
    reports = [report for report, _ in readable]
    _look_for_faults(readable)
    if errors:
        return LabelExamination([*errors, *_text_findings(reports)], reports)
    try:
        split = read_split(config.data)
        for report, documents in readable:
            if report.part == "test":
                number_labels(documents, split.labels)
        tokenizer = tokenizer_of(split)
    except HeedfulError as error:
        return LabelExamination([Finding("error", str(error)), *_text_findings(reports)], reports)
    for report, documents in readable:
        _tokenise(report, documents, config, tokenizer)
    estimate = _estimate(config, split, tokenizer)
    findings = [
        *_text_findings(reports),
        *_length_findings(config, reports),
        *_run_findings(config, split, estimate),
    ]
    return LabelExamination(findings, reports, estimate, tokenizer.source_vocab_size, split.labels)


def _corpora(config: ClassificationRun) -> Iterator[tuple[LabelledReport, LabelledCorpus]]:
    """Yield the corpora, training first: the others are compared with it."""
    data = config.data
    named: list[tuple[str, Part, LabelledCorpus]] = []
    named += [(f"data.train[{number}]", "train", corpus) for number, corpus in enumerate(data.train)]
    named += [(f"data.validation[{number}]", "validation", corpus) for number, corpus in enumerate(data.validation)]
    named += [(f"data.test.{name}", "test", corpus) for name, corpus in data.test.items()]
    for setting, part, corpus in named:
        yield LabelledReport(setting, part, str(resolve_data_path(corpus.path))), corpus


def _read(report: LabelledReport, documents: Sequence[Document], training_texts: set[bytes]) -> None:
    """Note what can be said of documents without tokens."""
    seen: dict[bytes, str] = {}
    report.num_documents = len(documents)
    report.labels = dict(sorted(Counter(document.label for document in documents).items()))
    for document in documents:
        place = document.place.removeprefix(report.path).lstrip(":/")  # the line, or the file in its folder
        if not document.text.strip():
            report.empty.add(place)
            continue
        digest = hashlib.blake2b(document.text.strip().encode("utf-8", "replace"), digest_size=16).digest()
        if digest in seen:
            (report.duplicates if seen[digest] == document.label else report.contradictions).add(place)
        seen.setdefault(digest, document.label)
        if report.part == "train":
            training_texts.add(digest)
        elif digest in training_texts:
            report.num_in_training += 1


def _look_for_faults(corpora: Sequence[tuple[LabelledReport, Sequence[Document]]]) -> None:
    """Look at every document, those that are held out first: the others are compared with them."""
    held_out = HeldOut()
    for report, documents in sorted(corpora, key=lambda one: one[0].part == "train"):
        language = prevailing_language(document.text[:_BEGINNING] for document in documents[:_NUM_TO_GUESS_FROM])
        report.faults = examine_single_texts(
            ((document.text, document.place) for document in documents),
            language=language,
            held_out=held_out if report.part == "train" else None,
        )
        if report.part != "train":
            for document in documents:
                held_out.note(document.text, report.faults, document.place)


def _tokenise(
    report: LabelledReport, documents: Sequence[Document], config: ClassificationRun, tokenizer: Tokenizer
) -> None:
    lengths = _lengths(documents, tokenizer)
    report.lengths, report.num_long = summarise(lengths), int((lengths > config.model.longest).sum())
    if isinstance(config.model.long_documents, HeadAndTail):
        report.unread_share = 1 - float(np.minimum(lengths, config.model.longest).sum() / lengths.sum())


def _lengths(documents: Sequence[Document], tokenizer: Tokenizer) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the tokens of documents, the start and the end symbol included."""
    ids = tokenizer.encode_source_batch([document.text for document in documents])
    return np.array([1 + len(document) for document in ids], dtype=np.int64)


def _estimate(config: ClassificationRun, split: Split, tokenizer: Tokenizer) -> LabelEstimate:
    training, lengths = config.training, _lengths(split.train, tokenizer)
    if isinstance(config.model.long_documents, HeadAndTail):
        lengths = np.minimum(lengths, config.model.longest)
    plan = epoch_plan(lengths, lengths, batch_tokens=training.batch_tokens, seed=config.seed, epoch=0)
    rows, widths = np.diff(plan.starts), plan.shapes[:, 0]
    largest = int(np.argmax(rows * widths))
    num_batches_needed = training.max_steps * training.accumulate
    return LabelEstimate(
        num_train=len(split.train),
        num_validation=len(split.validation),
        num_batches=len(plan),
        real_share=float(lengths[plan.example_ids].sum() / (rows * widths).sum()),
        num_epochs=num_batches_needed / len(plan),
        largest_batch=(int(rows[largest]), int(widths[largest])),
        num_run_documents=len(split.train) / len(plan) * num_batches_needed,
        num_run_tokens=float((rows * widths).sum() / len(plan) * num_batches_needed),
    )


def _text_findings(reports: Sequence[LabelledReport]) -> Iterator[Finding]:
    for report in reports:
        place = f"`{report.setting}`"
        if report.empty.count:
            yield Finding("warning", f"{place}: {report.empty} without text; only the label can be learned from that.")
        if report.contradictions.count:
            shown = f"{report.contradictions} with the text of an earlier one"
            yield Finding("warning", f"{place}: {shown}, labelled otherwise.")
        if report.duplicates.count:
            yield Finding("note", f"{place}: {report.duplicates} with text and label of an earlier one.")
        if report.num_in_training:
            share = report.num_in_training / report.num_documents
            severity: Severity = "warning" if share > 0.01 else "note"
            number = f"{count_of(report.num_in_training, 'document')} ({share:.1%})"
            yield Finding(severity, f"{place}: {number} also in the training corpora; scores will flatter.")
        yield from fault_findings(report.setting, report.faults)
        yield from near_findings(report.setting, report.faults, "document")


def _length_findings(config: ClassificationRun, reports: Sequence[LabelledReport]) -> Iterator[Finding]:
    longest = config.model.longest
    for report in reports:
        if report.num_long:
            number = f"`{report.setting}`: {count_of(report.num_long, 'document')} of more than {longest:,} tokens"
            if isinstance(config.model.long_documents, HeadAndTail):
                share = f"{report.unread_share:.1%} of all tokens are not (`model.long_documents`)"
                yield Finding("warning", f"{number}: only head and tail are read, {share}.")
            else:
                yield Finding("note", f"{number}: read in windows, whole (`model.long_documents`).")


def _run_findings(config: ClassificationRun, split: Split, estimate: LabelEstimate) -> Iterator[Finding]:
    counts = Counter(document.label for document in split.train)
    for label, count in sorted(counts.items()):
        if count < _FEW_DOCUMENTS:
            yield Finding("warning", f'The label "{label}" has only {count_of(count, "document")} to learn from.')
        elif count < _RARE_LABEL * len(split.train) / len(counts):
            share = f"{count / len(split.train):.1%}"
            remedy = '`validation.metric = "macro_f1"` lets every label count the same.'
            yield Finding("warning", f'The label "{label}" is rare, {share} of the documents. {remedy}')
    unjudged = sorted(set(split.labels) - {document.label for document in split.validation})
    if unjudged:
        yield Finding("warning", f'The label "{unjudged[0]}" has no document to be judged on in validation.')
    steps = f"`training.max_steps` = {config.training.max_steps:,}"
    if estimate.num_epochs < _FEW_EPOCHS:
        yield Finding("note", f"{steps} sees only {estimate.num_epochs:.0%} of the training documents.")
    elif estimate.num_epochs > _MANY_EPOCHS:
        yield Finding("note", f"{steps} goes through the training documents {estimate.num_epochs:,.0f} times.")
    rows, length = estimate.largest_batch
    if rows * length > config.training.batch_tokens:
        yield Finding(
            "warning",
            f"`training.batch_tokens` must be at least {length:,} to hold the longest document, but is "
            f"{config.training.batch_tokens:,}; that document is a batch of its own and exceeds it.",
        )
