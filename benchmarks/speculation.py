"""Speculation on the CPU: passes saved and time at batch 1, beside greedy search and CTranslate2, with the same output.

    python benchmarks/speculation.py MODEL SOURCES [--lines N] [--batches 1,8,64] [--threads N] [--rounds N]

MODEL is a translator with a drafter (`heedful draft`), SOURCES a text file, compressed or not;
configs/multi30k_base.toml names the commands for a model of the paper's base shape. Outputs are compared first: greedy
search and speculation must agree on every token of every line, alone and in batches. Then the first lines are
translated one at a time by three engines with the same 8-bit weights, in turn, each in a process of its own; what a
drafter takes is counted.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import ctranslate2
import torch

from decode_cpu import CT2, Sentences, runner
from heedful.data.opening import open_bytes
from heedful.decoding import Round, SearchRequest, Speculative
from heedful.interop.ctranslate2 import export_ctranslate2
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.padding import padded
from heedful.text.lines import read_lines
from heedful.text.tokenizer import Tokenizer
from stables import Contestant
from table import compare, race, report

GREEDY, FAST = "Heedful int8 greedy", "Heedful int8 --fast"
TIMED = 100
"""Lines that are timed."""


def heedful_engine(model: Path, threads: int, fast: bool) -> Callable[[Sentences, int], list[list[int]]]:
    """Greedy search over the model, step by step or with its drafter."""
    run = counting_engine(model, threads, fast)
    return lambda sentences, _: run(sentences)[0]


def counting_engine(model: Path, threads: int, fast: bool) -> Callable[[Sentences], tuple[list[list[int]], int]]:
    """Do that, and count the passes of all outputs together."""
    torch.set_num_threads(threads)
    translator = load_translator(model, quantize="int8", fast=fast)
    tokenizer, generator = translator.tokenizer, translator.generator
    rounds: list[Round] = []
    if isinstance(generator, Speculative):
        generator = replace(generator, on_round=rounds.append)

    def run(sentences: Sentences) -> tuple[list[list[int]], int]:
        ids, mask = padded(sentences, tokenizer.pad_id)
        request = SearchRequest(
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
            beam_size=1,
            forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id),
            max_lengths=[len(sentence) + 50 for sentence in sentences],
        )
        rounds.clear()
        found = [hypotheses[0] for hypotheses in generator.generate(ids, mask, request)]
        written = [one.token_ids for one in found]
        return written, len(rounds) or sum(len(one.token_ids) + (one.finish_reason == "eos") for one in found)

    return run


def ctranslate2_engine(model: Path, threads: int) -> Callable[[Sentences, int], list[list[int]]]:
    """CTranslate2 with the same weights, as its documentation advises for a CPU: int8, all threads on one sentence."""
    folder = load_model_folder(model, TranslatorDescription)
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    with tempfile.TemporaryDirectory() as workplace:
        out = Path(workplace) / "model"
        export_ctranslate2(folder, out, "int8")
        translator = ctranslate2.Translator(
            str(out), device="cpu", compute_type="int8", inter_threads=1, intra_threads=threads
        )
    number_of = {piece: number for number, piece in enumerate(tokenizer.target.vocabulary)}

    def run(sentences: Sentences, beam_size: int) -> list[list[int]]:
        pieces = [[tokenizer.source.vocabulary[token] for token in sentence[:-1]] for sentence in sentences]
        found = translator.translate_batch(
            pieces, beam_size=beam_size, max_decoding_length=max(map(len, sentences)) + 50, max_batch_size=0
        )
        return [[number_of[piece] for piece in one.hypotheses[0]] for one in found]

    return run


def check_sameness(model: Path, threads: int, sentences: Sequence[list[int]], batches: Sequence[int]) -> None:
    """Compare the outputs of greedy search and speculation at every batch size, and count passes."""
    greedy, fast = (counting_engine(model, threads, way) for way in (False, True))
    for batch in batches:
        passes = {False: 0, True: 0}
        for start in range(0, len(sentences), batch):
            some = list(sentences[start : start + batch])
            (expected, steps), (found, rounds) = greedy(some), fast(some)
            if expected != found:
                sys.exit(f"Speculation must write what greedy search writes, but does not from line {start + 1} on.")
            passes[False] += steps
            passes[True] += rounds
        saved = passes[False] / passes[True]
        print(f"batch {batch}: {len(sentences)} outputs the same, {saved:.2f} times fewer passes an output")


def main() -> None:
    """Compare outputs, count passes, race."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--batches", default="1,8,64")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tokenizer = load_translator(options.model, quantize="int8").tokenizer
    with open_bytes(options.sources) as file:
        lines = list(islice(read_lines(file), options.lines))
    sentences = tokenizer.encode_source_batch(lines, None)
    check_sameness(options.model, options.threads, sentences, [int(batch) for batch in options.batches.split(",")])
    engines = {
        FAST: Contestant(heedful_engine, options.model, options.threads, True),
        GREEDY: Contestant(heedful_engine, options.model, options.threads, False),
        CT2: Contestant(ctranslate2_engine, options.model, options.threads),
    }
    timed = sentences[:TIMED]
    outputs = {name: [engine([one], 1)[0][0] for one in timed] for name, engine in engines.items()}
    same = sum(a == b for a, b in zip(outputs[FAST], outputs[CT2], strict=True))
    print(f"CTranslate2 writes the same in {same} of {len(timed)} lines")
    runners = {name: runner(engine, timed, 1, 1) for name, engine in engines.items()}
    rows = compare("batch 1, greedy", race(runners, rounds=options.rounds), FAST)
    report(rows, f"target tokens/s, {options.threads} threads", options.json)


if __name__ == "__main__":
    main()
