"""Preparing pairs for training beside `tokenizers` alone: the same lines, the same cores, in turn.

    .venv/bin/python benchmarks/prepare_pairs.py PAIRS.tsv … --rounds 3

`tokenizers` gets the lines in memory, normalised and marked, and makes its encodings with `encode_batch` on all cores,
8,192 lines at a time; nothing is done with them. Ours reads the files, normalises, encodes, filters, looks for
duplicates and writes the store. Beside the time on the clock stands that of the processors: on a machine that does
other things as well, it says more. Memory is what all processes of ours hold at once (PSS).

The floor is what `tokenizers` needs for the distinct words alone; reading, normalising and writing were 17 µs a pair of
about 110 before words were remembered, so that anything that does not cut every word again should win.
"""

import argparse
import hashlib
import os
import resource
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heedful.config.data import Corpus, DataConfig, FilterConfig, TsvCorpus
from heedful.data.processes import num_cores
from heedful.data.readers import LINES_AT_ONCE, read_pairs
from heedful.data.store_building import fill_store
from heedful.storage.locate import find_model_folder
from heedful.text.subwords import mark
from heedful.text.tokenizer import Tokenizer


@dataclass
class Lap:
    """What one preparation took."""

    seconds: float
    processor_seconds: float
    megabytes: float = 0.0


def processor_seconds() -> float:
    """Return the time this process and its children have had."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(work: Callable[[], object]) -> Lap:
    """Do some work and say what it took."""
    start, processor_start = time.perf_counter(), processor_seconds()
    work()
    return Lap(time.perf_counter() - start, processor_seconds() - processor_start)


class MemoryWatch:
    """The most that this process and its children held at once while it was watched."""

    def __enter__(self) -> "MemoryWatch":
        self.most, self._stop = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            self.most = max(self.most, sum(map(megabytes_of, ["self", *children])))


def megabytes_of(process: str) -> float:
    """Return the share of memory that a process holds."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def race(corpora: list[Corpus], tokenizer: Tokenizer, rounds: int) -> dict[str, list[Lap]]:
    """Prepare the corpora in every way, in turn."""
    data = DataConfig(
        source_language="en",
        target_language="de",
        train=corpora,
        validation=corpora,
        filters=FilterConfig(drop_duplicates=True),
    )
    laps: dict[str, list[Lap]] = {}
    digests = set()
    for _ in range(rounds):
        laps.setdefault(f"tokenizers, {num_cores()} cores", []).append(alone(corpora, tokenizer))
        for number in (num_cores(), 1):
            folder = Path(tempfile.mkdtemp(prefix="heedful-benchmark-"))
            with MemoryWatch() as watch:
                lap = timed(lambda folder=folder, number=number: fill_store(folder, data, tokenizer, None, number))
            lap.megabytes = watch.most
            laps.setdefault(f"prepared, {number} processes", []).append(lap)
            digests.add(hashlib.sha256((folder / "pairs.arrow").read_bytes()).hexdigest())
            shutil.rmtree(folder)
    assert len(digests) == 1, "the number of processes changes what is written"
    return laps


def alone(corpora: list[Corpus], tokenizer: Tokenizer) -> Lap:
    """Let `tokenizers` encode all lines, given in memory some thousand at a time; only its own time counts."""
    whole = Lap(0.0, 0.0)
    sides: tuple[list[str], list[str]] = ([], [])

    def encode() -> None:
        for subwords, texts in zip((tokenizer.source, tokenizer.target), sides, strict=True):
            subwords.segmenter.encode_batch(texts, add_special_tokens=False)

    def flush() -> None:
        lap = timed(encode)
        whole.seconds += lap.seconds
        whole.processor_seconds += lap.processor_seconds
        sides[0].clear()
        sides[1].clear()

    for corpus in corpora:
        for pair in read_pairs(corpus):
            sides[0].append(mark(tokenizer.normalize(pair.source)))
            sides[1].append(mark(tokenizer.normalize(pair.target)))
            if len(sides[0]) == LINES_AT_ONCE:
                flush()
    flush()
    return whole


def main() -> None:
    """Race and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="TSV files, two columns")
    parser.add_argument("--tokenizer", type=Path, default=None, help="a tokenizer.json; without, the bundled model's")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    path = options.tokenizer or find_model_folder("bundled") / "tokenizer.json"
    tokenizer = Tokenizer.from_json(path.read_text(encoding="utf-8"))
    corpora: list[Corpus] = [TsvCorpus(kind="tsv", path=name) for name in options.files]
    num_pairs = sum(1 for corpus in corpora for _ in read_pairs(corpus))
    laps = race(corpora, tokenizer, options.rounds)
    peer = next(iter(laps))
    print(f"{num_pairs:,} pairs; medians of {options.rounds}; ratios against {peer}")
    print(f"{'':<24}{'seconds':>10}{'ratio':>8}{'processor':>12}{'ratio':>8}{'MB':>8}")
    base_seconds, base_processor, _ = medians(laps[peer])
    for name, several in laps.items():
        seconds, processor, megabytes = medians(several)
        ratios = base_seconds / seconds, base_processor / processor
        print(f"{name:<24}{seconds:>10.1f}{ratios[0]:>8.2f}{processor:>12.1f}{ratios[1]:>8.2f}{megabytes:>8.0f}")


def medians(laps: list[Lap]) -> tuple[float, float, float]:
    """Return the middle of seconds and processor seconds, and the most memory."""
    seconds, processor = sorted(lap.seconds for lap in laps), sorted(lap.processor_seconds for lap in laps)
    return seconds[len(laps) // 2], processor[len(laps) // 2], max(lap.megabytes for lap in laps)


if __name__ == "__main__":
    main()
