"""`heedful align`: against constructed alignments and those made by hand, beside a translator's attention; its speed.

    python benchmarks/align_corpus.py --corpus data/tatoeba/eng-deu.train.tsv.gz [--pairs 200000] [--attention 200]

"constructed" are sentences made word by word (tests/support/known_alignments.py). For the sentences of
aligned_sentences.txt, English and German, the aligner learns from the corpus with them behind it; the error rate is
that of benchmarks/alignment.py. "attention" are the links of the bundled translator for the same sentences; agreement
is the F1 of the one against the other, on hand-aligned sentences and on the first of the corpus. Speed is that of the
whole command, reading and writing included, in seconds of a processor and by the clock, with the most memory it held.
"""

import argparse
import resource
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.alignment import Aligned, Pairs, links_of, read_aligned, scores

from heedful import load
from heedful.config.data import LineCorpus, TsvCorpus
from heedful.data.readers import read_pairs
from heedful.tasks.translation.corpus_alignment import align_corpus
from heedful.text.lines import one_line
from tests.support.known_alignments import known_alignments
from tests.support.known_alignments import scores as known_scores


def main() -> None:
    """Print every part as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="English and German, separated by a tab")
    parser.add_argument("--pairs", type=int, default=200_000, help="how many pairs of it are read")
    parser.add_argument("--attention", type=int, default=200, help="how many are also aligned by attention; 0: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _constructed(Path(folder))
        _real(Path(folder), options.corpus, options.pairs, options.attention)


def _constructed(folder: Path) -> None:
    known = known_alignments(20_000)
    pairs = [(" ".join(pair.source), " ".join(pair.target)) for pair in known]
    for how, found in _align(folder, pairs).items():
        precision, recall = known_scores(found, known)
        print(f"constructed, {how:<20} {100 * precision:.1f} % of its links right, {100 * recall:.1f} % found")


def _real(folder: Path, corpus: Path, num_pairs: int, num_attention: int) -> None:
    read = islice(read_pairs(TsvCorpus(kind="tsv", path=str(corpus))), num_pairs)
    texts = [(one_line(pair.source), one_line(pair.target)) for pair in read]
    by_hand = list(read_aligned())
    alignments = _align(folder, [*texts, *((pair.source, pair.target) for pair in by_hand)])
    for how, found in alignments.items():
        _print_scores(f"by hand, {how}", by_hand, found[len(texts) :])
    if not num_attention:
        return
    translator = load(device="cpu")
    some = [pair for pair in texts if all(pair)][:num_attention]
    looked = [
        links_of(translator, Aligned(source, target, set(), set()), ("de", "en"))
        for source, target in (*((pair.source, pair.target) for pair in by_hand), *some)
    ]
    _print_scores("by hand, attention", by_hand, looked[: len(by_hand)])
    places = {pair: number for number, pair in reversed(list(enumerate(texts)))}
    found = alignments["grow-diag-final-and"]
    ours = [*found[len(texts) :], *(found[places[pair]] for pair in some)]
    for name, part in (("hand-aligned", slice(len(by_hand))), ("corpus", slice(len(by_hand), None))):
        shared = sum(len(one & other) for one, other in zip(ours[part], looked[part], strict=True))
        total = sum(len(one) + len(other) for one, other in zip(ours[part], looked[part], strict=True))
        print(f"agreement with attention, {name} sentences: F1 {200 * shared / total:.1f} %")


def _print_scores(name: str, by_hand: list[Aligned], found: list[Pairs]) -> None:
    values = scores(by_hand, found)
    print(f"{name:<32} error rate {values[0]:.1f}, precision {values[1]:.1f}, recall {values[2]:.1f}", flush=True)


def _align(folder: Path, pairs: list[tuple[str, str]]) -> dict[str, list[Pairs]]:
    """Align by the command's function, and say what it took."""
    for name, side in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    out = folder / "links"
    started, by_clock = time.process_time(), time.perf_counter()
    align_corpus(LineCorpus(source=str(folder / "source"), target=str(folder / "target")), out)
    spent, waited = time.process_time() - started, time.perf_counter() - by_clock
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{len(pairs):,} pairs: {spent:.0f} s of a processor, {waited:.0f} s by the clock, at most {memory:,} MB")
    return {"grow-diag-final-and": _read(out)}


def _read(path: Path) -> list[Pairs]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [{(int(a), int(b)) for a, _, b in (link.partition("-") for link in line.split())} for line in lines]


if __name__ == "__main__":
    main()
