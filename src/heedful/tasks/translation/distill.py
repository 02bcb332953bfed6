"""Sequence-level distillation (Kim and Rush, 2016): a teacher's translations of a training set, as a new corpus.

For every training corpus of a run one file is written: its sources, each once, with what the teacher makes of them, in
the register of the corpus where it has one.
Read with its columns exchanged such a file pairs real targets with translated sources, so the files of both directions
together are also the data of back-translation. Files are finished one by one and kept, so a run that was stopped goes
on with the first that is missing.
"""

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from heedful.config.data import Corpus, DataConfig
from heedful.data.readers import corpus_files, read_pairs
from heedful.errors import DataError, HeedfulError, count_of
from heedful.files import write_atomic
from heedful.tasks.translation.data import direction_of
from heedful.tasks.translation.translated import Translation
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line

_AT_ONCE = 1 << 16
"""Sentences translated together: enough to sort by length, few enough to tell how it goes."""


@dataclass(frozen=True)
class DistilledCorpus:
    """A file of sources and translations, and what it was made from."""

    path: Path
    source_language: str
    target_language: str
    num_pairs: int
    num_left_out: int
    """Translations a student should not learn from: empty, cut off or otherwise doubtful."""


def distill(
    data: DataConfig,
    translator: Translator,
    out: Path,
    *,
    beam_size: int | None = None,
    n_best: int = 1,
    part: tuple[int, int] = (1, 1),
    say: Callable[[str], None],
) -> list[DistilledCorpus]:
    """Translate the sources of every training corpus into tab-separated files in `out`; existing files stay.

    `part` (k, n) takes every nth corpus from the kth on, so that n processes can share the work.
    """
    distilled = []
    first, every = part
    chosen = list(enumerate(data.train))[first - 1 :: every]
    if not chosen:
        say(f"Part {first} of {every} has nothing to do: `data.train` names only {len(data.train)}.")
    for number, corpus in chosen:
        source_language, target_language = direction_of(corpus, data)
        path = distilled_path(out, number, corpus, data)
        if path.exists():
            say(f"{path} is there already.")
            continue
        sources = _distinct_sources(corpus)
        if not sources:
            names = " and ".join(str(name) for name in corpus_files(corpus))
            raise DataError(f"A corpus to translate must have a source with text, but {names} has none.")
        say(f"{path}: translating {count_of(len(sources), 'distinct sentence')}.")
        writer = translator if corpus.in_register is None else translator.in_register(corpus.in_register)
        translate = _Teacher(writer, source_language, target_language, beam_size, n_best)
        lines, num_left_out = [], 0
        for piece in _pieces(sources):
            for translation in translate(piece):
                kept = usable(translation)
                num_left_out += not kept
                lines += [f"{one_line(translation.source)}\t{one_line(text)}\n" for text in kept]
            say(f"{path}: {len(lines):,} pairs.")
        if not lines:
            raise HeedfulError(
                f"Of {count_of(len(sources), 'translation')} at least one must be fit to learn from, but all are empty "
                f"or were cut off before their end, so {path} was not written. Does the teacher translate from "
                f"{source_language} into {target_language}?"
            )
        out.mkdir(parents=True, exist_ok=True)
        write_atomic(path, gzip.compress("".join(lines).encode(), mtime=0))
        distilled.append(DistilledCorpus(path, source_language, target_language, len(lines), num_left_out))
    return distilled


def distilled_path(out: Path, number: int, corpus: Corpus, data: DataConfig) -> Path:
    """Return where the translations of a training corpus are written, `number` being its place."""
    return out / f"{number}.{'-'.join(direction_of(corpus, data))}.tsv.gz"


@dataclass(frozen=True)
class _Teacher:
    """A translator with its request."""

    translator: Translator
    source_language: str
    target_language: str
    beam_size: int | None
    n_best: int

    def __call__(self, sources: Sequence[str]) -> list[Translation]:
        several = len(self.translator.target_languages) > 1
        return self.translator.translate_detailed(
            sources,
            to=self.target_language if several else None,
            from_=self.source_language if several else None,
            beam_size=self.beam_size,
            n_best=self.n_best,
        )


def _distinct_sources(corpus: Corpus) -> list[str]:
    """Return the sources that have text, each once, in the order of the corpus."""
    return list(dict.fromkeys(source for pair in read_pairs(corpus) if (source := pair.source.strip())))


def _pieces(sources: Sequence[str]) -> Iterator[list[str]]:
    remaining = iter(sources)
    while piece := list(islice(remaining, _AT_ONCE)):
        yield piece


def usable(translation: Translation) -> list[str]:
    """Return the alternatives a student may learn from: those that ended by themselves and say something."""
    texts = [alternative.text for alternative in translation.alternatives if alternative.finish_reason == "eos"]
    return [text for text in dict.fromkeys(texts) if text.strip()]
