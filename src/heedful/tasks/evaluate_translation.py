"""Scoring a model: translate a test set, compare with the references.

Finds the test sets a run names in its config, or takes any pair of files. The scores themselves are those of
evaluation/scores.py.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.config.data import Corpus, LineCorpus
from heedful.config.load import load_config
from heedful.config.run import RunConfig
from heedful.data.readers import read_pairs
from heedful.errors import UserError, nearest
from heedful.evaluation.scores import Score, score_corpus
from heedful.tasks.run_folder import CONFIG
from heedful.tasks.translation import Translator


@dataclass(frozen=True)
class TestSet:
    """Sentences with their references."""

    __test__ = False  # the name is the domain's, not pytest's

    name: str
    corpus: Corpus
    tokenize: str
    """sacreBLEU's tokenizer for BLEU."""


@dataclass(frozen=True)
class Evaluation:
    """How good a model is on one test set."""

    name: str
    num_lines: int
    seconds: float
    scores: Sequence[Score]
    translations: Sequence[str]
    num_warned: int
    """Lines that were split, cut or failed."""


def find_test_sets(
    model: Path, *, files: tuple[Path, Path] | None, split: str | None, tokenize: str | None
) -> list[TestSet]:
    """Return the test sets that are meant: the given files, the split of that name, or all splits of the run."""
    run = _run_of(model)
    tokenize = tokenize or (run.validation.bleu_tokenize if run else "13a")
    if files is not None:
        source, reference = (str(path) for path in files)
        return [TestSet(Path(source).name, LineCorpus(source=source, target=reference), tokenize)]
    if run is None:
        raise UserError(f"{model} is not a run folder and names no test sets. Give the files: --data SOURCE REFERENCE.")
    if not run.data.test:
        raise UserError(f"The run {model} names no test sets in `data.test`. Give the files: --data SOURCE REFERENCE.")
    if split is None:
        return [TestSet(name, corpus, tokenize) for name, corpus in run.data.test.items()]
    if split not in run.data.test:
        known = ", ".join(f'"{name}"' for name in run.data.test)
        hint = nearest(split, run.data.test)
        remedy = f' Did you mean "{hint}"?' if hint else ""
        raise UserError(f'The split must be one of {known}, but is "{split}".{remedy}')
    return [TestSet(split, run.data.test[split], tokenize)]


def evaluate_translation(
    translator: Translator, test_set: TestSet, *, beam_size: int | None = None, lowercase: bool = False
) -> Evaluation:
    """Translate a test set and score the result by BLEU, chrF and TER with their intervals."""
    pairs = list(read_pairs(test_set.corpus))
    language = test_set.corpus.target_language
    started = time.perf_counter()
    translations = translator.translate_detailed([pair.source for pair in pairs], to=language, beam_size=beam_size)
    seconds = time.perf_counter() - started
    texts = [translation.text for translation in translations]
    scores = score_corpus(texts, [pair.target for pair in pairs], tokenize=test_set.tokenize, lowercase=lowercase)
    num_warned = sum(bool(translation.warnings) for translation in translations)
    return Evaluation(test_set.name, len(pairs), seconds, scores, texts, num_warned)


def _run_of(model: Path) -> RunConfig | None:
    """Return the settings of the run that `model` is, or is the model of."""
    for folder in (model, model.parent):
        if (folder / CONFIG).is_file():
            return load_config(folder / CONFIG)
    return None
