"""Decoding on the CPU: Heedful's 8-bit engine, CTranslate2's, and Hugging Face's Marian, with the same weights.

    python benchmarks/decode_cpu.py [--threads N] [--rounds N] [--json FILE]

The model has the paper's base shape and 32,000 tokens (successor.py). Every engine has a process of its own and gets
the same sentences, the same threads and the same fixed number of tokens to write, so tokens a second compare like with
like. Before anything is timed the greedy outputs are compared: in fp32 Heedful and Hugging Face must agree on every
token; the two 8-bit engines round differently, and must agree on nine sentences of ten. If they do not, the benchmark
fails.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import ctranslate2
import torch
from torch import Tensor

from heedful.config.presets import transformer_base
from heedful.decoding import SearchRequest, Stepwise
from heedful.engines.int8.engine import Int8Transformer
from heedful.interop.ctranslate2 import export_ctranslate2
from marian_peer import generated, marian_of
from stables import Contestant
from successor import BOS, EOS, PAD, UNK, as_folder, build_successor_model, draw_sentences
from table import Row, compare, race, report

VOCAB, LENGTH = 32_000, 32
OURS, FLOATS, CT2, HF = "Heedful int8", "Heedful fp32", "CTranslate2 int8", "Hugging Face Marian fp32"

Sentences = list[list[int]]
Engine = Callable[[Sentences, int], list[list[int]]]


def pad(sentences: Sentences) -> tuple[Tensor, Tensor]:
    """Lay sentences side by side: ids and mask, [batch, source_len]."""
    longest = max(map(len, sentences))
    ids = torch.tensor([[*sentence, *[PAD] * (longest - len(sentence))] for sentence in sentences])
    return ids, ids != PAD


def heedful_engine(threads: int, quantized: bool) -> Engine:
    """Our search over our model, as bytes or as floats."""
    torch.set_num_threads(threads)
    floats = build_successor_model(VOCAB, transformer_base())
    model = Int8Transformer(floats, threads=threads) if quantized else floats

    def run(sentences: Sentences, beam_size: int) -> list[list[int]]:
        ids, mask = pad(sentences)
        request = SearchRequest(
            bos_id=BOS,
            eos_id=EOS,
            forbidden_ids=(PAD, BOS, UNK),
            beam_size=beam_size,
            length_penalty=0.6,
            max_lengths=[LENGTH] * len(sentences),
            min_length=LENGTH,
        )
        found = Stepwise(model).generate(ids, mask, request)
        return [hypotheses[0].token_ids for hypotheses in found]

    return run


def ctranslate2_engine(threads: int) -> Engine:
    """CTranslate2 as its documentation advises for a CPU: int8, all threads on one batch."""
    with tempfile.TemporaryDirectory() as workplace:
        folder = Path(workplace) / "model"
        export_ctranslate2(
            as_folder(build_successor_model(VOCAB, transformer_base()), transformer_base()), folder, "int8"
        )
        translator = ctranslate2.Translator(
            str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=threads
        )

    def run(sentences: Sentences, beam_size: int) -> list[list[int]]:
        pieces = [[f"w{token}" for token in sentence[:-1]] for sentence in sentences]  # it adds the end itself
        results = translator.translate_batch(
            pieces,
            beam_size=beam_size,
            length_penalty=0.6,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
            max_batch_size=0,
        )
        return [[int(piece[1:]) for piece in result.hypotheses[0]] for result in results]

    return run


def hugging_face_engine(threads: int) -> Engine:
    """`MarianMTModel.generate` with our weights."""
    torch.set_num_threads(threads)
    theirs = marian_of(build_successor_model(VOCAB, transformer_base()))

    def run(sentences: Sentences, beam_size: int) -> list[list[int]]:
        return generated(theirs, *pad(sentences), beam_size=beam_size, length=LENGTH)

    return run


def check_agreement(engines: dict[str, Contestant], sentences: Sentences) -> None:
    """Compare greedy outputs; stop the benchmark when engines that must agree do not."""
    outputs = {name: engine(sentences, 1)[0] for name, engine in engines.items()}
    assert all(len(output) == LENGTH for found in outputs.values() for output in found), "all write LENGTH tokens"

    def agreement(a: str, b: str) -> float:
        return sum(x == y for x, y in zip(outputs[a], outputs[b], strict=True)) / len(sentences)

    print(f"greedy outputs of {len(sentences)} sentences, {len({tuple(o) for o in outputs[OURS]})} of them different:")
    for pair, least in (((FLOATS, HF), 1.0), ((OURS, FLOATS), 0.9), ((OURS, CT2), 0.9)):
        share = agreement(*pair)
        print(f"  {pair[0]} = {pair[1]}: {share:.0%}")
        if share < least:
            sys.exit(f"They must agree on {least:.0%} of the sentences: the engines do not compute the same model.")


def runner(engine: Contestant, sentences: Sentences, batch: int, beam_size: int) -> Callable[[], tuple[int, float]]:
    """Return what translates all sentences, `batch` at a time, and counts tokens and seconds."""

    def run() -> tuple[int, float]:
        laps = [engine(sentences[start : start + batch], beam_size) for start in range(0, len(sentences), batch)]
        return sum(len(output) for outputs, _ in laps for output in outputs), sum(seconds for _, seconds in laps)

    return run


def main() -> None:
    """Check that all engines compute the same model, then race them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    sentences = draw_sentences(VOCAB, 32, torch.Generator().manual_seed(1))
    engines = {
        OURS: Contestant(heedful_engine, options.threads, True),
        CT2: Contestant(ctranslate2_engine, options.threads),
        HF: Contestant(hugging_face_engine, options.threads),
    }
    floats = Contestant(heedful_engine, options.threads, False)
    check_agreement(engines | {FLOATS: floats}, sentences)
    floats.leave()
    rows: list[Row] = []
    for batch, chosen in ((1, sentences[:4]), (32, sentences)):
        for beam_size in (1, 4):
            runners = {name: runner(engine, chosen, batch, beam_size) for name, engine in engines.items()}
            rows += compare(f"batch {batch}, beam {beam_size}", race(runners, rounds=options.rounds), OURS)
    report(rows, f"target tokens/s, {options.threads} threads", options.json)


if __name__ == "__main__":
    main()
