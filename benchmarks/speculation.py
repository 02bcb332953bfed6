"""Speculation on the CPU: passes saved and time at batch 1, beside greedy search and CTranslate2, with the same output.

    python benchmarks/speculation.py [--rate R] [--threads N] [--rounds N] [--json FILE]

The model has the paper's base shape and 32,000 tokens (successor.py); nothing can be learned of what it writes, so its
drafter is told what will be written and says so with probability `--rate` for each token: by default as often as the
drafter of `heedful draft configs/bundled_drafter.toml` was right on sentences held out. Its own time, 0.03 ms a guess
in the engine, is not counted. Outputs are compared first: greedy search and speculation must agree on every token.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from decode_cpu import CT2, LENGTH, VOCAB, Sentences, ctranslate2_engine, pad, runner
from heedful.config.presets import transformer_base
from heedful.decoding import Round, SearchRequest, Speculative, Stepwise
from heedful.decoding.drafting import Unfinished
from heedful.engines.int8.engine import Int8Transformer
from stables import Contestant
from successor import BOS, EOS, PAD, UNK, build_successor_model, draw_sentences
from table import compare, race, report

GREEDY, FAST = "Heedful int8 greedy", "Heedful int8 --fast"


class Told:
    """A drafter that knows what will be written, and is right with a given probability."""

    def __init__(self, rate: float) -> None:
        self.rate, self.random = rate, Random(1)
        self.outputs: dict[tuple[int, ...], list[int]] = {}

    def propose(self, rows: Unfinished, count: int) -> Tensor:
        """Guess what follows, [rows, length]."""
        following = [
            [*self.outputs[tuple(source)][len(written) :], *[PAD] * count][:count]
            for written, source in zip(rows.written, rows.sources, strict=True)
        ]
        guesses = [[token if self.random.random() < self.rate else UNK for token in it] for it in following]
        return torch.tensor(guesses)


def heedful_engine(threads: int, rate: float | None) -> Callable[[Sentences, int], tuple[list[list[int]], int]]:
    """Greedy search over the model, step by step or with a drafter; gives outputs and the number of passes."""
    torch.set_num_threads(threads)
    model = Int8Transformer(build_successor_model(VOCAB, transformer_base()), threads=threads)
    drafter = Told(rate or 0.0)

    def run(sentences: Sentences, beam_size: int) -> tuple[list[list[int]], int]:
        ids, mask = pad(sentences)
        request = SearchRequest(
            bos_id=BOS,
            eos_id=EOS,
            forbidden_ids=(PAD, BOS, UNK),
            beam_size=beam_size,
            max_lengths=[LENGTH] * len(sentences),
            min_length=LENGTH,
        )
        if rate is not None and any(tuple(sentence) not in drafter.outputs for sentence in sentences):
            told = Stepwise(model).generate(ids, mask, request)
            drafter.outputs |= {tuple(s): it[0].token_ids for s, it in zip(sentences, told, strict=True)}
        rounds: list[Round] = []
        generator = Stepwise(model) if rate is None else Speculative(model, drafter, 3, on_round=rounds.append)
        found = generator.generate(ids, mask, request)
        return [hypotheses[0].token_ids for hypotheses in found], len(rounds) or LENGTH * len(sentences)

    return run


def outputs_only(threads: int, rate: float | None) -> Callable[[Sentences, int], list[list[int]]]:
    """Do the same, and give the outputs alone."""
    run = heedful_engine(threads, rate)
    return lambda sentences, beam_size: run(sentences, beam_size)[0]


def passes_of(threads: int, rate: float, sentences: Sequence[list[int]]) -> int:
    """Count the passes that the sentences take with guesses."""
    run = heedful_engine(threads, rate)
    return sum(run([sentence], 1)[1] for sentence in sentences)


def main() -> None:
    """Compare outputs, count passes, race."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=0.62)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sentences = draw_sentences(VOCAB, 4, torch.Generator().manual_seed(1))
    engines = {
        FAST: Contestant(outputs_only, options.threads, options.rate),
        GREEDY: Contestant(outputs_only, options.threads, None),
        CT2: Contestant(ctranslate2_engine, options.threads),
    }
    outputs = {name: [engine([one], 1)[0][0] for one in sentences] for name, engine in engines.items()}
    if outputs[FAST] != outputs[GREEDY]:
        sys.exit("Speculation must write what greedy search writes, but does not.")
    same = sum(a == b for a, b in zip(outputs[FAST], outputs[CT2], strict=True))
    print(f"outputs: --fast equals greedy on all {len(sentences)}, CTranslate2 on {same}")
    passes = passes_of(options.threads, options.rate, sentences)
    print(f"passes: {LENGTH * len(sentences)} tokens in {passes}, {LENGTH * len(sentences) / passes:.2f} a pass")
    runners = {name: runner(engine, sentences, 1, 1) for name, engine in engines.items()}
    report(
        compare("batch 1, greedy", race(runners, rounds=options.rounds), FAST),
        f"target tokens/s, {options.threads} threads, guesses right: {options.rate:.0%}",
        options.json,
    )


if __name__ == "__main__":
    main()
