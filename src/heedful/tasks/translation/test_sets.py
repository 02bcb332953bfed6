"""What a model is scored on: which test sets are meant, their sentences, and the references of each.

Finds the test sets a run names in its config, in every direction the run learns, or takes any pair of files. Reads them
pair by pair, or with all references of a source together, and leaves out what the run has seen in training. Knows
files and settings; it translates and scores nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heedful.config.data import Corpus, DataConfig, LineCorpus
from heedful.config.load import load_config
from heedful.config.translation import TranslationRun
from heedful.data.readers import Pair, read_pairs
from heedful.errors import UserError, nearest
from heedful.evaluation.scores import tokenizer_of
from heedful.tasks.run_folder import CONFIG
from heedful.tasks.translation.data import direction_of


@dataclass(frozen=True)
class TestSet:
    """A corpus to be scored on."""

    __test__ = False  # the name is the domain's, not pytest's

    name: str
    corpus: Corpus
    tokenize: str | None = None
    """sacreBLEU's tokenizer for BLEU; None for what the model's target language needs."""

    source_language: str | None = None
    target_language: str | None = None
    """The languages of the two sides, None when nobody said."""

    @property
    def title(self) -> str:
        """The name, and the direction where it is known."""
        known = self.source_language is not None and self.target_language is not None
        return f"{self.name} {self.source_language}→{self.target_language}" if known else self.name


@dataclass(frozen=True)
class TestSentences:
    """The sentences of a test set."""

    __test__ = False

    test_set: TestSet
    sources: Sequence[str]
    references: Sequence[Sequence[str]]
    """For each source, the texts its translation is compared with; at least one."""

    num_left_out: int | None = None
    """Pairs that are not among these, because training has seen one of their sides; None when that was not asked."""

    @property
    def num_references(self) -> int:
        """References of all sources together."""
        return sum(len(texts) for texts in self.references)


def run_of(model: Path | None, config: Path | None = None) -> TranslationRun | None:
    """Return the run whose data count: that of `config`, a file or a run folder, or else the one `model` comes from.

    None when the model does not say where it comes from.
    """
    if config is not None and not config.is_dir():
        return load_config(config)
    own = model if model is not None and model.exists() else None  # a name is no place
    place = own if config is None else config
    for folder in () if place is None else (place, place.parent):
        if (folder / CONFIG).is_file():
            return load_config(folder / CONFIG)
    if config is not None:
        raise UserError(f"{config} must be a config file or a run folder, but is neither.")
    return None


def find_test_sets(
    run: TranslationRun | None,
    *,
    files: tuple[Path, Path] | None = None,
    split: str | None = None,
    tokenize: str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> list[TestSet]:
    """Return the test sets that are meant: the given files, the split of that name, or all splits of the run.

    The languages say what the files are in, or choose among the directions of the run.
    """
    if files is not None:
        return [_of_files(files, run, tokenize, source_language, target_language)]
    if run is None:
        raise _nameless("test")
    data = run.data
    if not data.test:
        raise UserError(f"The run {run.name} names no sets in `data.test`. Give files: --data SOURCE REFERENCE.")
    if split is not None and split not in data.test:
        known = ", ".join(f'"{name}"' for name in data.test)
        hint = nearest(split, data.test)
        remedy = f' Did you mean "{hint}"?' if hint else ""
        raise UserError(f'The split must be one of {known}, but is "{split}".{remedy}')
    chosen = data.test if split is None else {split: data.test[split]}
    test_sets = [_of_corpus(name, corpus, run, tokenize) for name, corpus in chosen.items()]
    return choose_direction(test_sets, source_language, target_language)


def find_validation_sets(
    run: TranslationRun | None,
    *,
    files: tuple[Path, Path] | None = None,
    tokenize: str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> list[TestSet]:
    """Return what a choice may be made on: the given files, or the run's validation corpora."""
    if files is not None:
        return [_of_files(files, run, tokenize, source_language, target_language)]
    if run is None:
        raise _nameless("validation")
    test_sets = [_of_corpus("validation", corpus, run, tokenize) for corpus in run.data.validation]
    return choose_direction(test_sets, source_language, target_language)


def choose_direction(
    test_sets: Sequence[TestSet], source_language: str | None, target_language: str | None
) -> list[TestSet]:
    """Return the test sets of a direction; a language that is None may be any."""
    chosen = [
        test_set
        for test_set in test_sets
        if source_language in (None, test_set.source_language) and target_language in (None, test_set.target_language)
    ]
    if not chosen:
        asked = f"from {source_language or 'any language'} into {target_language or 'any language'}"
        known = ", ".join(test_set.title for test_set in test_sets)
        raise UserError(f"There must be a test set {asked}, but there are only these: {known}.")
    return chosen


def read_sentences(test_set: TestSet, *, all_references: bool = False) -> TestSentences:
    """Read a test set: pair by pair, or each distinct source once with all its distinct references."""
    return _of_pairs(test_set, list(read_pairs(test_set.corpus)), all_references)


def read_unseen(
    test_sets: Sequence[TestSet], run: TranslationRun | None, *, all_references: bool = False
) -> list[TestSentences]:
    """Read test sets without the pairs of which training has seen the source or the target, in that language.

    The training corpora are read once and not kept: what is remembered is which of the test sentences they hold.
    """
    if run is None:
        raise UserError(f"The training text must be known, but {_UNKNOWN_RUN}. Say what it is: --config FILE.")
    pairs_of = [list(read_pairs(test_set.corpus)) for test_set in test_sets]
    wanted: dict[str, set[str]] = defaultdict(set)
    languages_of = [_languages(test_set, run.data) for test_set in test_sets]
    for (source_language, target_language), pairs in zip(languages_of, pairs_of, strict=True):
        wanted[source_language].update(pair.source.strip() for pair in pairs)
        wanted[target_language].update(pair.target.strip() for pair in pairs)
    seen = _seen_in_training(run.data, wanted)
    found = []
    for test_set, (source_language, target_language), pairs in zip(test_sets, languages_of, pairs_of, strict=True):
        unseen = [
            pair
            for pair in pairs
            if pair.source.strip() not in seen[source_language] and pair.target.strip() not in seen[target_language]
        ]
        if not unseen:
            raise UserError(f"At least one pair of {test_set.title} must be unseen, but training has seen them all.")
        found.append(replace(_of_pairs(test_set, unseen, all_references), num_left_out=len(pairs) - len(unseen)))
    return found


def _seen_in_training(data: DataConfig, wanted: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return which of the wanted sentences, by language, stand in the training corpora."""
    seen: dict[str, set[str]] = {language: set() for language in wanted}
    for corpus in data.train:
        source_language, target_language = direction_of(corpus, data)
        for pair in read_pairs(corpus):
            for language, text in ((source_language, pair.source.strip()), (target_language, pair.target.strip())):
                if language in wanted and text in wanted[language]:
                    seen[language].add(text)
    return seen


def _languages(test_set: TestSet, data: DataConfig) -> tuple[str, str]:
    """Return the languages of a test set; of files that nobody said it of, those of the run."""
    return test_set.source_language or data.source_language, test_set.target_language or data.target_language


def _of_pairs(test_set: TestSet, pairs: Sequence[Pair], all_references: bool) -> TestSentences:
    if not all_references:
        return TestSentences(test_set, [pair.source for pair in pairs], [[pair.target] for pair in pairs])
    grouped: dict[str, dict[str, None]] = defaultdict(dict)  # inner dicts for their order: a reference counts once
    for pair in pairs:
        grouped[pair.source][pair.target] = None
    return TestSentences(test_set, list(grouped), [list(texts) for texts in grouped.values()])


def _of_files(
    files: tuple[Path, Path],
    run: TranslationRun | None,
    tokenize: str | None,
    source_language: str | None,
    target_language: str | None,
) -> TestSet:
    source, reference = (str(path) for path in files)
    corpus = LineCorpus(source=source, target=reference)
    if tokenize is None and run is not None:
        language = target_language or run.data.target_language
        tokenize = tokenizer_of(language, run.validation.bleu_tokenize)
    return TestSet(Path(source).name, corpus, tokenize, source_language, target_language)


def _of_corpus(name: str, corpus: Corpus, run: TranslationRun, tokenize: str | None) -> TestSet:
    source_language, target_language = direction_of(corpus, run.data)
    chosen = tokenize or tokenizer_of(target_language, run.validation.bleu_tokenize)
    return TestSet(name, corpus, chosen, source_language, target_language)


_UNKNOWN_RUN = "the model is not in the folder of a run"


def _nameless(kind: str) -> UserError:
    remedy = "Give files, --data SOURCE REFERENCE, or a config that names them, --config FILE."
    return UserError(f"A {kind} set must be named, because {_UNKNOWN_RUN}. {remedy}")
