"""The doctor behind `heedful check`: looks at everything a run would read and says what it found.

Reads all corpora, learns or takes the tokenizer as the run would, and measures. What a run would refuse is an "error",
what usually spoils one a "warning", what is good to know a "note". Returns data and prints nothing; it trains nothing
and builds no model.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heedful.config.data import Corpus
from heedful.config.translation import TranslationRun
from heedful.data.corpus_faults import CorpusFaults
from heedful.data.filters import PairFilter, pair_digest
from heedful.data.readers import EncodingReport, Pair, corpus_files, read_pairs
from heedful.errors import DataError, HeedfulError, count_of
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import describe_model_folder
from heedful.tasks.diagnosis import Finding, LengthSummary, Part, Severity, summarise
from heedful.tasks.runs import check_same_shape, shaped_like_its_start
from heedful.tasks.translation.data import corpus_weights, new_tokenizer
from heedful.tasks.translation.estimate import RunEstimate, estimate_run
from heedful.tasks.translation.spoilt_corpora import look_for_faults
from heedful.text.tokenizer import Tokenizer

_MAX_LINE_NUMBERS = 5
_PAIRS_AT_ONCE = 8192
_MUCH_LEFT_OUT = 0.1
_MANY_BYTES = 0.05
_FEW_EPOCHS, _MANY_EPOCHS = 1, 300


@dataclass
class Lines:
    """Lines with something in common: how many there are, and the numbers of the first."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Count a line."""
        self.count += 1
        if len(self.first) < _MAX_LINE_NUMBERS:
            self.first.append(line)

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.first) else ""
        return f"{count_of(self.count, 'line')} ({', '.join(str(line) for line in self.first)}{more})"

    @property
    def are(self) -> str:
        """The verb that goes with them."""
        return _are(self.count)


@dataclass
class CorpusReport:
    """What is known of one corpus."""

    setting: str
    """Where the config names it, such as `data.train[0]`."""

    part: Part
    files: list[str]
    num_pairs: int = 0
    empty: Lines = field(default_factory=Lines)
    over_long: Lines = field(default_factory=Lines)
    uneven: Lines = field(default_factory=Lines)
    duplicates: Lines = field(default_factory=Lines)
    invalid_utf8: dict[str, Lines] = field(default_factory=dict)
    """By file."""

    num_in_training: int = 0
    """Of a validation or test corpus: pairs whose source is also a source of a training corpus."""

    source_lengths: LengthSummary | None = None
    target_lengths: LengthSummary | None = None
    byte_rate: float | None = None
    """Share of the tokens that spell characters without a piece byte by byte, or are unknown; both sides together."""

    faults: CorpusFaults | None = None
    """Lines that spoil it; None for a corpus that is another one read the other way round."""


@dataclass(frozen=True)
class Examination:
    """Everything the doctor found; `estimate` is None when the training corpora cannot be used."""

    findings: list[Finding]
    corpora: list[CorpusReport]
    estimate: RunEstimate | None
    source_vocab_size: int | None
    target_vocab_size: int | None

    @property
    def has_errors(self) -> bool:
        """Whether a run would be refused."""
        return any(finding.severity == "error" for finding in self.findings)


def examine(
    config: TranslationRun, *, tokens_per_second: float | None = None, in_words: Callable[[DataError], str] = str
) -> Examination:
    """Look at the data of a run. `tokens_per_second` (target tokens) allows an estimate of the time.

    `in_words` makes a sentence of an error, for those who know a remedy that this file does not.
    """
    errors: list[Finding] = []
    training_sources: set[bytes] = set()
    readable: list[tuple[CorpusReport, Corpus]] = []
    for report, corpus in _corpora(config):
        try:
            _read(report, corpus, training_sources)
        except DataError as error:
            errors.append(Finding("error", f"`{report.setting}`: {in_words(error)}"))
        else:
            readable.append((report, corpus))
    reports = [report for report, _ in readable]
    spoilt = look_for_faults(config.data, [(report.setting, report.part, corpus) for report, corpus in readable])
    found_in = {one.setting: one.faults for one in spoilt}
    for report in reports:
        report.faults = found_in.get(report.setting)
    text_findings = [*_text_findings(reports), *(finding for one in spoilt for finding in one.findings())]
    if errors:
        return Examination([*errors, *text_findings], reports, None, None, None)
    try:
        if config.training.init_from is not None:
            config = shaped_like_its_start(config)
            given = describe_model_folder(find_model_folder(config.training.init_from), TranslatorDescription)
            check_same_shape(config.model, given.model)
        tokenizer = new_tokenizer(config, lambda _: None)
        lengths = [_tokenise(report, corpus, config, tokenizer) for report, corpus in readable]
        estimate = _estimate(config, readable, lengths, tokenizer, tokens_per_second)
    except HeedfulError as error:
        return Examination([Finding("error", str(error)), *text_findings], reports, None, None, None)
    findings = [*text_findings, *_token_findings(config, reports), *_run_findings(config, estimate)]
    findings.sort(key=lambda finding: ("error", "warning", "note").index(finding.severity))
    return Examination(findings, reports, estimate, tokenizer.source_vocab_size, tokenizer.target_vocab_size)


def _corpora(config: TranslationRun) -> Iterator[tuple[CorpusReport, Corpus]]:
    """Yield the corpora, training first: the others are compared with it."""
    data = config.data
    named: list[tuple[str, Part, Corpus]] = []
    named += [(f"data.train[{number}]", "train", corpus) for number, corpus in enumerate(data.train)]
    named += [(f"data.validation[{number}]", "validation", corpus) for number, corpus in enumerate(data.validation)]
    named += [(f"data.test.{name}", "test", corpus) for name, corpus in data.test.items()]
    for setting, part, corpus in named:
        yield CorpusReport(setting, part, [str(path) for path in corpus_files(corpus)]), corpus


def _read(report: CorpusReport, corpus: Corpus, training_sources: set[bytes]) -> None:
    """Read a corpus once and note what can be said without tokens."""
    seen: set[bytes] = set()
    encoding = EncodingReport()
    for pair in read_pairs(corpus, encoding):
        report.num_pairs += 1
        if not pair.source.strip() or not pair.target.strip():
            report.empty.add(pair.line)
            continue
        digest = pair_digest(pair.source, pair.target)
        if digest in seen:
            report.duplicates.add(pair.line)
        seen.add(digest)
        source = pair_digest(pair.source, "")
        if report.part == "train":
            training_sources.add(source)
        elif source in training_sources:
            report.num_in_training += 1
    report.invalid_utf8 = {name: Lines(count, first) for name, (count, first) in encoding.bad_lines.items()}


Lengths = tuple[NDArray[np.int64], NDArray[np.int64]]


def _tokenise(report: CorpusReport, corpus: Corpus, config: TranslationRun, tokenizer: Tokenizer) -> Lengths:
    """Tokenise a corpus, note what can be said of its tokens, and return the lengths of the pairs a run would keep."""
    pair_filter = PairFilter(config.data.filters)
    language = (corpus.target_language or config.data.target_language) if tokenizer.languages else None
    byte_ids = [np.array([*side.byte_ids, tokenizer.unk_id]) for side in (tokenizer.source, tokenizer.target)]
    every: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    num_bytes = 0
    for pairs in _pieces(read_pairs(corpus)):
        tags = None if language is None else [language] * len(pairs)
        sources = tokenizer.encode_source_batch([pair.source for pair in pairs], tags)
        targets = tokenizer.encode_target_batch([pair.target for pair in pairs])
        for ids, side in zip((sources, targets), byte_ids, strict=True):
            num_bytes += int(np.isin(np.concatenate(ids), side).sum())
        for pair, source, target in zip(pairs, sources, targets, strict=True):
            lengths = (len(source), len(target))
            every.append(lengths)
            reason = pair_filter.reason_against(pair.source, pair.target, *lengths)
            if reason is None:
                kept.append(lengths)
            elif reason == "too_long":
                report.over_long.add(pair.line)
            elif reason == "uneven":
                report.uneven.add(pair.line)
    both = np.array(every, dtype=np.int64)
    report.source_lengths, report.target_lengths = summarise(both[:, 0]), summarise(both[:, 1])
    report.byte_rate = num_bytes / int(both.sum())
    usable = np.array(kept, dtype=np.int64).reshape(-1, 2)
    return usable[:, 0], usable[:, 1]


def _pieces(pairs: Iterator[Pair]) -> Iterator[list[Pair]]:
    piece: list[Pair] = []
    for pair in pairs:
        piece.append(pair)
        if len(piece) == _PAIRS_AT_ONCE:
            yield piece
            piece = []
    if piece:
        yield piece


def _estimate(
    config: TranslationRun,
    corpora: Sequence[tuple[CorpusReport, Corpus]],
    lengths: Sequence[Lengths],
    tokenizer: Tokenizer,
    tokens_per_second: float | None,
) -> RunEstimate:
    training = [pairs for (report, _), pairs in zip(corpora, lengths, strict=True) if report.part == "train"]
    sources, targets = (np.concatenate(side) for side in zip(*training, strict=True))
    if not len(sources):
        files = " and ".join(name for report, _ in corpora if report.part == "train" for name in report.files)
        raise DataError(f"The training corpora must have a usable pair, but {files} have none.")
    sizes = [len(sources) for sources, _ in training]
    return estimate_run(
        config,
        sources,
        targets,
        weights=np.repeat(corpus_weights(config.data, sizes), sizes),
        source_vocab_size=tokenizer.source_vocab_size,
        target_vocab_size=tokenizer.target_vocab_size,
        tokens_per_second=tokens_per_second,
    )


def _text_findings(reports: Sequence[CorpusReport]) -> Iterator[Finding]:
    for report in reports:
        place = f"`{report.setting}`"
        if report.empty.count:
            fate = "left out" if report.part == "train" else "worth nothing"
            yield Finding("warning", f"{place}: {report.empty} with an empty side {report.empty.are} {fate}.")
        for name, lines in report.invalid_utf8.items():
            yield Finding(
                "warning", f"{name}: {lines} {lines.are} not valid UTF-8; the bytes in question became U+FFFD."
            )
        if report.duplicates.count:
            repeat = "repeats" if report.duplicates.count == 1 else "repeat"
            yield Finding("note", f"{place}: {report.duplicates} {repeat} an earlier pair.")
        if report.num_in_training:
            share = report.num_in_training / report.num_pairs
            severity: Severity = "warning" if share > 0.01 else "note"
            number = f"{count_of(report.num_in_training, 'source sentence')} ({share:.1%})"
            are = _are(report.num_in_training)
            yield Finding(severity, f"{place}: {number} {are} also in the training corpora; scores will flatter.")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _token_findings(config: TranslationRun, reports: Sequence[CorpusReport]) -> Iterator[Finding]:
    filters = config.data.filters
    for report in reports:
        place = f"`{report.setting}`"
        if report.part == "train":
            if report.over_long.count:
                limit = f"more than {filters.max_tokens} tokens (`data.filters.max_tokens`)"
                yield Finding("note", f"{place}: {report.over_long} with {limit} {report.over_long.are} left out.")
            if report.uneven.count:
                limit = f"sides more uneven than {filters.max_ratio:g} (`data.filters.max_ratio`)"
                yield Finding("note", f"{place}: {report.uneven} with {limit} {report.uneven.are} left out.")
            num_left_out = report.empty.count + report.over_long.count + report.uneven.count
            if num_left_out > _MUCH_LEFT_OUT * report.num_pairs:
                share = num_left_out / report.num_pairs
                yield Finding("warning", f"{place}: {share:.0%} of the pairs are left out. Are the files aligned?")
        elif report.byte_rate is not None and report.byte_rate > _MANY_BYTES:
            yield Finding(
                "warning",
                f"{place}: {report.byte_rate:.0%} of the tokens are single bytes, because the vocabulary does not know "
                "their characters. Is it the same language and script as the training corpora?",
            )


def _run_findings(config: TranslationRun, estimate: RunEstimate) -> Iterator[Finding]:
    steps = f"`training.max_steps` = {config.training.max_steps:,}"
    if estimate.num_epochs < _FEW_EPOCHS:
        yield Finding("note", f"{steps} sees only {estimate.num_epochs:.0%} of the training pairs.")
    elif estimate.num_epochs > _MANY_EPOCHS:
        yield Finding("note", f"{steps} goes through the training pairs {estimate.num_epochs:,.0f} times.")
    rows, source_len, target_len = estimate.largest_batch
    if rows * max(source_len, target_len) > config.training.batch_tokens:
        longest = max(source_len, target_len)
        yield Finding(
            "warning",
            f"`training.batch_tokens` must be at least {longest} to hold the longest pair, but is "
            f"{config.training.batch_tokens}; that pair is a batch of its own and exceeds it.",
        )
