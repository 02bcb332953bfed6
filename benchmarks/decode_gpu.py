"""Decoding on a GPU: our recorded search and Hugging Face's Marian, with the same weights in the same run.

    python benchmarks/decode_gpu.py [--rounds N] [--corpus N] [--lines FILE] [--json FILE]

The model has the paper's base shape and 32,000 tokens (successor.py); every sentence gets the same fixed number of
tokens, so tokens a second compare like with like. Before anything is timed the outputs are compared, greedy and with a
beam, in fp32 and in bf16: in fp32 all must agree on every token; in bf16, where each engine rounds in its own order, on
nine sentences of ten. Then they take turns. Where some did not agree, the benchmark fails.

With --corpus N, the bundled model translates N lines from English into German, as text: tokenising, batching by length
and spelling included. The peer is its export, read by AutoModelForSeq2SeqLM and AutoTokenizer, in a loop over sorted
batches of 512 in bf16; it gets a part of the lines, since rates are compared.
"""

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

import heedful
from heedful.config.presets import transformer_base
from heedful.decoding import Recorded, SearchRequest, Stepwise
from heedful.engines.cuda.transformer import FixedTransformer
from heedful.interop import export_huggingface
from heedful.models.transformer import Transformer
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import load_model_folder
from marian_peer import generated, marian_of
from successor import BOS, EOS, PAD, UNK, build_successor_model, draw_sentences
from table import Row, compare, race, report

VOCAB, LENGTH = 32_000, 32
OURS, STEPWISE, HF = "Heedful bf16", "Heedful fp32 stepwise", "Hugging Face bf16"
OURS_FLOAT, HF_FLOAT = "Heedful fp32", "Hugging Face fp32"
LINES = Path(__file__).parent / "everyday_sentences.tsv"

Sentences = list[list[int]]
Engine = Callable[[Sentences, int], list[list[int]]]


def pad(sentences: Sentences) -> tuple[Tensor, Tensor]:
    """Lay sentences side by side on the GPU: ids and mask, [batch, source_len]."""
    longest = max(map(len, sentences))
    ids = torch.tensor([[*sentence, *[PAD] * (longest - len(sentence))] for sentence in sentences]).cuda()
    return ids, ids != PAD


@cache
def base_model() -> Transformer:
    """The model that all have the weights of."""
    return build_successor_model(VOCAB, transformer_base())


def heedful_engine(dtype: torch.dtype, *, recorded: bool = True) -> Engine:
    """Our search over our model."""
    model = copy.deepcopy(base_model()).cuda()
    generator = Recorded(FixedTransformer(model, dtype), model) if recorded else Stepwise(model)

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
        return [hypotheses[0].token_ids for hypotheses in generator.generate(ids, mask, request)]

    return run


def hugging_face_engine(dtype: torch.dtype) -> Engine:
    """`MarianMTModel.generate` with our weights."""
    theirs = marian_of(base_model()).to("cuda", dtype)

    def run(sentences: Sentences, beam_size: int) -> list[list[int]]:
        return generated(theirs, *pad(sentences), beam_size=beam_size, length=LENGTH)

    return run


def disagreements(engines: dict[str, Engine], sentences: Sentences) -> list[str]:
    """Compare outputs; return who must agree and does not."""
    wrong = []
    for beam_size in (1, 4):
        outputs = {name: engine(sentences, beam_size) for name, engine in engines.items()}
        assert all(len(output) == LENGTH for found in outputs.values() for output in found), "all write LENGTH tokens"
        print(f"beam {beam_size}: {len({tuple(it) for it in outputs[OURS]})} outputs of {len(sentences)} are different")
        pairs = ((OURS_FLOAT, STEPWISE, 1.0), (OURS_FLOAT, HF_FLOAT, 1.0), (OURS, OURS_FLOAT, 0.9), (OURS, HF, 0.9))
        for a, b, least in pairs:
            share = sum(x == y for x, y in zip(outputs[a], outputs[b], strict=True)) / len(sentences)
            print(f"  {a} = {b}: {share:.1%}")
            if share < least:
                wrong.append(f"beam {beam_size}: {a} and {b} must agree on {least:.0%}, but do on {share:.1%}.")
        alone = [engines[OURS]([sentence], beam_size)[0] for sentence in sentences[:32]]
        same = sum(x == y for x, y in zip(alone, outputs[OURS], strict=False))
        print(f"  {OURS}: alone as among {len(sentences)}: {same} of {len(alone)}", flush=True)
    return wrong


def runner(engine: Engine, sentences: Sentences, batch: int, beam_size: int) -> Callable[[], tuple[int, float]]:
    """Return what translates all sentences, `batch` at a time, and counts tokens and seconds."""

    def run() -> tuple[int, float]:
        began = time.perf_counter()
        outputs = []
        for start in range(0, len(sentences), batch):
            outputs += engine(sentences[start : start + batch], beam_size)
        torch.cuda.synchronize()
        return sum(map(len, outputs)), time.perf_counter() - began

    return run


def race_corpus(num_lines: int, lines_file: Path, beam_size: int) -> list[Row]:
    """Translate a corpus with the bundled model, as text, on both sides; rates in lines a second."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    texts = [line.split("\t")[0] for line in lines_file.read_text(encoding="utf-8").splitlines()]
    texts = (texts * (num_lines // len(texts) + 1))[:num_lines]
    ours = heedful.load(device="cuda")
    path = find_model_folder(None)
    with tempfile.TemporaryDirectory() as workplace:
        export_huggingface(load_model_folder(path, TranslatorDescription), Path(workplace) / "theirs")
        tokenizer = AutoTokenizer.from_pretrained(Path(workplace) / "theirs")
        theirs = AutoModelForSeq2SeqLM.from_pretrained(Path(workplace) / "theirs").to("cuda", torch.bfloat16).eval()

    @torch.inference_mode()
    def peer(some: list[str]) -> list[str]:
        order = sorted(range(len(some)), key=lambda number: -len(some[number]))
        done = [""] * len(some)
        for start in range(0, len(order), 512):
            numbers = order[start : start + 512]
            batch = tokenizer([f"<2de> {some[number]}" for number in numbers], padding=True, return_tensors="pt")
            longest = batch["input_ids"].size(1) + ours.decoding.extra_tokens
            output = theirs.generate(**batch.to("cuda"), num_beams=beam_size, max_new_tokens=longest)
            for number, text in zip(numbers, tokenizer.batch_decode(output, skip_special_tokens=True), strict=True):
                done[number] = text
        return done

    def rate(translate: Callable[[list[str]], list[str]], some: list[str]) -> tuple[float, list[str]]:
        translate(some[:2048])
        began = time.perf_counter()
        found = translate(some)
        return len(some) / (time.perf_counter() - began), found

    mine, found = rate(lambda some: ours.translate(some, from_="en", to="de", beam_size=beam_size), texts)
    their_part = texts[: max(2048, num_lines // 20)]
    other, expected = rate(peer, their_part)
    same = sum(a == b for a, b in zip(found, expected, strict=False)) / len(their_part)
    print(f"corpus, beam {beam_size}: {num_lines:,} lines by us, {len(their_part):,} by them, {same:.1%} the same")
    return [Row(HF, f"corpus, beam {beam_size}", mine, other, mine / other)]


def main() -> None:
    """Check that all engines compute the same model, then race them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--corpus", type=int, default=0)
    parser.add_argument("--lines", type=Path, default=LINES)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("This benchmark needs a CUDA device, and there is none.")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    sentences = draw_sentences(VOCAB, 512, torch.Generator().manual_seed(1))
    engines = {
        OURS: heedful_engine(torch.bfloat16),
        OURS_FLOAT: heedful_engine(torch.float32),
        STEPWISE: heedful_engine(torch.float32, recorded=False),
        HF: hugging_face_engine(torch.bfloat16),
        HF_FLOAT: hugging_face_engine(torch.float32),
    }
    wrong = disagreements(engines, sentences)
    rows: list[Row] = []
    for batch, chosen, rounds in ((1, sentences[:4], options.rounds), (64, sentences[:128], 3), (512, sentences, 3)):
        for beam_size in (1, 4):
            cell = f"batch {batch}, beam {beam_size}"
            runners = {name: runner(engine, chosen, batch, beam_size) for name, engine in engines.items()}
            rates = race(runners, rounds=rounds)
            rows += compare(cell, {name: rates[name] for name in (OURS, HF, STEPWISE)}, OURS)
            rows += compare(f"{cell}, fp32", {name: rates[name] for name in (OURS_FLOAT, HF_FLOAT)}, OURS_FLOAT)
            print(cell, {name: round(rate) for name, rate in rates.items()}, flush=True)
    report(rows, "target tokens/s", None)
    if options.corpus:
        rows += race_corpus(options.corpus, options.lines, 4)
        report(rows[-1:], "lines/s", None)
    if options.json is not None:
        report(rows, "target tokens/s, corpus: lines/s", options.json)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
