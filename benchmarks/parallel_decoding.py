"""What is lost and what is gained by writing all positions at once: quality, latency and speed beside a teacher.

    python benchmarks/parallel_decoding.py --source test.en --reference test.de --teacher runs/multi30k_ende \
        --student runs/multi30k_ctc [--student …] [--tokenize none] [--device cuda]

A row for the teacher by greedy and by beam search, and for each student: BLEU with a 95 % interval, the median time of
a sentence by itself, target tokens a second with 64 sentences at once, and both as ratios to the teacher's greedy one.
All are measured in one process, in turns, after an untimed lap. Only the first `--latency` sentences are timed alone.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from heedful import load
from heedful.config.training import DecodingConfig
from heedful.evaluation.scores import score_corpus
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import read_lines

_TOGETHER = 64


@dataclass
class System:
    """A translator with a way to search, and what was measured of it."""

    name: str
    translator: Translator
    beam_size: int
    texts: list[str]
    alone: list[float]
    """Seconds of each sentence by itself."""

    together: float = 0.0
    """Target tokens a second."""

    def translate(self, sources: list[str]) -> list[str]:
        """Translate sentences, 64 at once."""
        return [
            text
            for start in range(0, len(sources), _TOGETHER)
            for text in self.translator.translate(sources[start : start + _TOGETHER], beam_size=self.beam_size)
        ]


def main(arguments: list[str] | None = None) -> list[System]:
    """Measure all systems, print the table and return it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--student", type=Path, action="append", default=[])
    parser.add_argument("--beam", type=int, default=5, help="of the teacher's second row")
    parser.add_argument("--tokenize", default="13a", help="sacreBLEU's tokenizer")
    parser.add_argument("--latency", type=int, default=100, help="sentences timed alone")
    parser.add_argument("--device")
    options = parser.parse_args(arguments)
    sources, references = (_lines(path) for path in (options.source, options.reference))
    teacher = _loaded(options.teacher, options.device)
    systems = [System("teacher, greedy", teacher, 1, [], []), System("teacher, beam", teacher, options.beam, [], [])]
    systems += [System(path.name, _loaded(path, options.device), 1, [], []) for path in options.student]
    _measure(systems, sources, options.latency)
    _print(systems, references, options.tokenize)
    return systems


def _loaded(path: Path, device: str | None) -> Translator:
    """Load a model in floats, with batches as large as are asked for."""
    translator = load(path, device=device, quantize="none")
    wide = DecodingConfig.model_validate({**dict(translator.decoding), "batch_tokens": 1 << 16})
    return replace(translator, decoding=wide)


def _measure(systems: list[System], sources: list[str], num_alone: int) -> None:
    for system in systems:
        system.translate(sources[:_TOGETHER])
    for source in sources[:num_alone]:
        for system in systems:
            began = time.perf_counter()
            system.translator.translate(source, beam_size=system.beam_size)
            system.alone.append(time.perf_counter() - began)
    for system in systems:
        began = time.perf_counter()
        system.texts = system.translate(sources)
        seconds = time.perf_counter() - began
        system.together = sum(map(len, system.translator.tokenizer.encode_target_batch(system.texts))) / seconds


def _print(systems: list[System], references: list[str], tokenize: str) -> None:
    base = systems[0]
    print(f"{'system':<24} {'BLEU':>18} {'alone':>16} {'64 at once':>24}")
    for system in systems:
        [score] = score_corpus(system.texts, references, metrics=("bleu",), tokenize=tokenize)
        alone = statistics.median(system.alone)
        faster = statistics.median(base.alone) / alone
        interval = f"[{score.low:.1f}, {score.high:.1f}]"
        print(
            f"{system.name:<24} {score.value:>5.1f} {interval} {1000 * alone:>8.2f} ms {faster:>4.1f}× "
            f"{system.together:>12,.0f} tokens/s {system.together / base.together:>4.1f}×"
        )


def _lines(path: Path) -> list[str]:
    with path.open("rb") as file:
        return list(read_lines(file))


if __name__ == "__main__":
    main()
