"""What spoils the corpora of a translation run: lines of them, and what training and test have in common.

Hands corpora to data/corpus_faults.py in the right order, what is held out first, and makes findings of what comes
back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from heedful.config.data import Corpus, DataConfig, JsonlCorpus, LineCorpus, ShardCorpus, TsvCorpus
from heedful.data.corpus_faults import CorpusFaults, HeldOut, examine_pairs, languages_of, whole_pair
from heedful.data.line_faults import Languages
from heedful.data.readers import corpus_files, read_pairs
from heedful.tasks.diagnosis import Finding, Part
from heedful.tasks.fault_findings import fault_findings, near_findings
from heedful.tasks.translation.data import direction_of


@dataclass(frozen=True)
class Spoilt:
    """What was found in the corpus that the config has in one place."""

    setting: str
    languages: Languages
    faults: CorpusFaults

    def findings(self) -> Iterator[Finding]:
        """Say it."""
        yield from fault_findings(self.setting, self.faults, self.languages)
        yield from near_findings(self.setting, self.faults, "pair")


def look_for_faults(data: DataConfig, corpora: Sequence[tuple[str, Part, Corpus]]) -> list[Spoilt]:
    """Look at corpora, each with its setting and part; one whose sides are only exchanged is looked at once."""
    held_out, found, seen = HeldOut(), list[Spoilt](), set[frozenset[str]]()
    for setting, part, corpus in sorted(corpora, key=lambda one: one[1] == "train"):
        if (sides := sides_of(corpus)) in seen:
            continue
        seen.add(sides)
        read = partial(read_pairs, corpus)
        files = [str(path) for path in corpus_files(corpus)]
        languages = languages_of(*direction_of(corpus, data), read)
        faults = examine_pairs(read, languages, files, held_out=held_out if part == "train" else None)
        found.append(Spoilt(setting, languages, faults))
        if part != "train":
            for pair in read():
                held_out.note(whole_pair(pair.source, pair.target), faults, f"{files[0]}:{pair.line}")
    settings = [setting for setting, _, _ in corpora]
    return sorted(found, key=lambda one: settings.index(one.setting))


def sides_of(corpus: Corpus) -> frozenset[str]:
    """Return where the two sides stand, the same for a corpus read the other way round."""
    match corpus:
        case LineCorpus():
            return frozenset({corpus.source, corpus.target})
        case TsvCorpus() | ShardCorpus():
            return frozenset({f"{corpus.path}:{corpus.source_column}", f"{corpus.path}:{corpus.target_column}"})
        case JsonlCorpus():
            return frozenset({f"{corpus.path}:{corpus.source_key}", f"{corpus.path}:{corpus.target_key}"})
