"""What is lost and what is gained by writing all positions at once: quality, latency and speed beside a teacher.

    python benchmarks/parallel_decoding.py --source test.en --reference test.de \
        --teacher runs/multi30k_parallel_teacher --student runs/multi30k_ctc [--student …] [--samples 10] \
        [--tokenize none] [--device cuda] [--json table.json]

A row for the teacher by greedy and by beam search, and for each student, of models with fertilities also one for each
number of `--samples` that the teacher chooses from: BLEU with a 95 % interval, the median time of a sentence by itself,
target tokens a second with 64 sentences at once, and both as ratios to the teacher's greedy one.
All are measured in one process, in turns, after an untimed lap. Only the first `--latency` sentences are timed alone.
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from heedful import load
from heedful.config.training import DecodingConfig
from heedful.data.opening import open_bytes
from heedful.decoding import Fertile
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
    parser.add_argument("--samples", type=int, action="append", default=[], help="fertilities drawn for the teacher")
    parser.add_argument("--beam", type=int, default=5, help="of the teacher's second row")
    parser.add_argument("--tokenize", default="13a", help="sacreBLEU's tokenizer")
    parser.add_argument("--latency", type=int, default=100, help="sentences timed alone")
    parser.add_argument("--device")
    parser.add_argument("--json", type=Path, help="where the table is written as well")
    options = parser.parse_args(arguments)
    sources, references = (_lines(path) for path in (options.source, options.reference))
    teacher = _loaded(options.teacher, options.device)
    systems = [System("teacher, greedy", teacher, 1, [], []), System("teacher, beam", teacher, options.beam, [], [])]
    for path in options.student:
        student = _loaded(path, options.device)
        systems.append(System(path.name, student, 1, [], []))
        if isinstance(student.generator, Fertile):
            for samples in options.samples:
                choosing = _loaded(path, options.device, options.teacher, samples)
                systems.append(System(f"{path.name}, best of {samples}", choosing, 1, [], []))
    _measure(systems, sources, options.latency)
    rows = [_row(system, systems[0], references, options.tokenize) for system in systems]
    _print(rows)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return systems


def _loaded(path: Path, device: str | None, teacher: Path | None = None, samples: int | None = None) -> Translator:
    """Load a model in floats, with batches as large as are asked for, and who chooses among its outputs."""
    translator = load(path, device=device, quantize="none", rescore_with=teacher, samples=samples)
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


def _row(system: System, base: System, references: list[str], tokenize: str) -> dict[str, str | float]:
    [score] = score_corpus(system.texts, references, metrics=("bleu",), tokenize=tokenize)
    alone = statistics.median(system.alone)
    return {
        "system": system.name,
        "bleu": score.value,
        "low": score.low,
        "high": score.high,
        "alone_ms": 1000 * alone,
        "alone_faster": statistics.median(base.alone) / alone,
        "tokens_per_second": system.together,
        "together_faster": system.together / base.together,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    print(f"{'system':<34} {'BLEU':>18} {'alone':>16} {'64 at once':>24}")
    for row in rows:
        print(
            "{system:<34} {bleu:>5.1f} [{low:.1f}, {high:.1f}] {alone_ms:>8.2f} ms {alone_faster:>4.1f}× "
            "{tokens_per_second:>12,.0f} tokens/s {together_faster:>4.1f}×".format(**row)
        )


def _lines(path: Path) -> list[str]:
    with open_bytes(path) as file:
        return list(read_lines(file))


if __name__ == "__main__":
    main()
