"""`heedful align`: which words of a corpus belong together, learned from the corpus itself and written line by line.

Words are counted as everybody counts who splits a line at its spaces (word_alignment.py); capital letters and marks
around a word make no difference. What has been read and learned is kept in a folder beside the output until that is
written, so that a run that was stopped goes on with the round it was in.
"""

import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, get_args

import numpy as np

from heedful.config.data import LineCorpus
from heedful.data.alignment.model import MAX_WORDS, NUM_ROUNDS, AlignmentModel, Corpus, Group
from heedful.data.alignment.symmetrization import Link, Symmetrization, symmetrized
from heedful.data.file_identity import FileIdentities
from heedful.data.readers import corpus_files, read_pairs
from heedful.errors import UserError, count_of
from heedful.files import publish_folder, remove_folder, sweep_partial, writing
from heedful.tasks.translation.word_alignment import MARKS, word_spans
from heedful.text.ragged import Ragged, ragged_from_lengths

_LINES_AT_ONCE = 1 << 18
_WORDS, _FACTS = "words", "facts.json"


@dataclass(frozen=True)
class AlignedCorpus:
    """What was written."""

    paths: tuple[Path, ...]
    num_pairs: int
    num_links: int
    """Of the first file."""

    num_passed_over: int
    """Pairs with an empty side, or with more words than are aligned: their lines are empty."""


def align_corpus(
    corpus: LineCorpus,
    out: Path,
    *,
    how: Symmetrization = "grow-diag-final-and",
    directions: bool = False,
    num_rounds: int = NUM_ROUNDS,
    say: Callable[[str], None] = lambda _: None,
) -> AlignedCorpus:
    """Learn which words belong together, and write their links to `out`, a line for each pair, in Pharaoh's format.

    With `directions` the two alignments that the links are put together from are written beside it.
    """
    if how not in get_args(Symmetrization):
        raise UserError(f'`--symmetrize` must be one of {", ".join(get_args(Symmetrization))}, but is "{how}".')
    outputs: dict[Path, Symmetrization] = {out: how}
    if directions:
        outputs |= {Path(f"{out}.forward"): "forward", Path(f"{out}.reverse"): "reverse"}
    work = _Work(Path(f"{out}.work"), say)
    words = work.words(corpus)
    model = work.learned(words, num_rounds)
    num_links, num_passed_over = _write(model, outputs)
    remove_folder(work.folder)
    return AlignedCorpus(tuple(outputs), len(words), num_links, num_passed_over)


class _Work:
    """What is kept while a corpus is aligned: its words as numbers, and the table after each round."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder, self._say = folder, say
        sweep_partial(folder)

    def words(self, corpus: LineCorpus) -> Corpus:
        """Return the words of a corpus as numbers, from disk where this corpus has been read already."""
        identities = FileIdentities()
        facts = {str(path): identities.of(path).sha256 for path in corpus_files(corpus)}
        kept = self.folder / _WORDS
        if kept.exists() and json.loads((kept / _FACTS).read_text(encoding="utf-8"))["files"] != facts:
            remove_folder(self.folder)  # of other files
        if not kept.exists():
            publish_folder(kept, lambda folder: _write_words(corpus, folder, facts))
        sizes = json.loads((kept / _FACTS).read_text(encoding="utf-8"))["vocabularies"]
        source, target = (_read_words(kept, side) for side in ("source", "target"))
        self._say(f"{count_of(len(source), 'pair')}, {sizes[0]:,} and {sizes[1]:,} distinct words.")
        return Corpus(source, target, *sizes)

    def learned(self, words: Corpus, num_rounds: int) -> AlignmentModel:
        """Return a model after so many rounds, going on with the last one that was finished."""
        model = AlignmentModel(words)
        done = max((number for number in range(1, num_rounds + 1) if self._round(number).exists()), default=0)
        if done:
            model.restore({name: np.load(self._round(done) / f"{name}.npy") for name in model.state()})
            self._say(f"Going on after round {done}.")
        for number in range(done + 1, num_rounds + 1):
            likelihood = model.learn_once()
            self._say(f"Round {number} of {num_rounds}: {likelihood:.3f} is the log-probability of a word.")
            publish_folder(self._round(number), lambda folder: _save(folder, model))
            if self._round(number - 1).exists():
                remove_folder(self._round(number - 1))
        return model

    def _round(self, number: int) -> Path:
        return self.folder / f"round-{number}"


def _save(folder: Path, model: AlignmentModel) -> None:
    for name, values in model.state().items():
        np.save(folder / f"{name}.npy", values)


def _write_words(corpus: LineCorpus, folder: Path, files: dict[str, str]) -> None:
    sides = [_Side(), _Side()]
    for pair in read_pairs(corpus):
        for side, text in zip(sides, (pair.source, pair.target), strict=True):
            side.add(text)
    for name, side in zip(("source", "target"), sides, strict=True):
        side.save(folder, name)
    facts = {"files": files, "vocabularies": [max(1, len(side.numbers)) for side in sides]}
    (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")


class _Side:
    """The words of one side, a number for each distinct one."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._ids, self._lengths = array("i"), array("i")

    def add(self, text: str) -> None:
        numbers = self.numbers
        keys = [word_key(text[start:stop]) for start, stop in word_spans(text)]
        self._ids.extend(numbers.setdefault(key, len(numbers)) for key in keys)
        self._lengths.append(len(keys))

    def save(self, folder: Path, name: str) -> None:
        np.save(folder / f"{name}_ids.npy", np.array(self._ids, dtype=np.int32))
        np.save(folder / f"{name}_lengths.npy", np.array(self._lengths, dtype=np.int32))


def word_key(word: str) -> str:
    """Return what a word is learned as: without marks around it, in small letters."""
    return word.strip(MARKS).casefold() or word


def _read_words(folder: Path, name: str) -> Ragged:
    ids = np.load(folder / f"{name}_ids.npy", mmap_mode="r")
    return ragged_from_lengths(ids, np.load(folder / f"{name}_lengths.npy"))


def _write(model: AlignmentModel, outputs: dict[Path, Symmetrization]) -> tuple[int, int]:
    """Write every output whole or not at all; return the links of the first, and the pairs without any."""
    partial = [path.with_name(f".{path.name}.partial") for path in outputs]
    num_links = num_aligned = 0
    with writing(next(iter(outputs))):
        for path in partial:
            path.parent.mkdir(parents=True, exist_ok=True)
        files = [path.open("w", encoding="utf-8") for path in partial]
        try:
            for start in range(0, len(model.corpus), _LINES_AT_ONCE):
                stop = min(start + _LINES_AT_ONCE, len(model.corpus))
                found = list(_aligned(model, start, stop, list(outputs.values())))
                num_aligned += sum(len(group.numbers) for group, _ in found)
                num_links += sum(len(links) for _, alignments in found for links in alignments[0])
                for number, file in enumerate(files):
                    _write_lines(file, stop - start, start, [(group, links[number]) for group, links in found])
        finally:
            for file in files:
                file.close()
        for path, final in zip(partial, outputs, strict=True):
            path.replace(final)
    return num_links, len(model.corpus) - num_aligned


def _aligned(
    model: AlignmentModel, start: int, stop: int, ways: list[Symmetrization]
) -> Iterator[tuple[Group, list[list[list[Link]]]]]:
    for group in model.corpus.groups(start, stop):
        links = model.align(group)
        yield group, [symmetrized(links.forth, links.back, how) for how in ways]


def _write_lines(file: TextIO, count: int, start: int, found: list[tuple[Group, list[list[Link]]]]) -> None:
    lines = [""] * count
    for group, alignments in found:
        for number, links in zip(group.numbers.tolist(), alignments, strict=True):
            lines[number - start] = " ".join([f"{source}-{target}" for source, target in links])
    file.write("\n".join(lines) + "\n")


def passed_over_sentence(result: AlignedCorpus) -> str:
    """Say how many pairs have no links because they were not aligned."""
    return (
        f"{count_of(result.num_passed_over, 'pair')} with an empty side or more than {MAX_WORDS} words: "
        "an empty line stands for each."
    )
