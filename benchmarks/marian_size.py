"""The bundled translator beside a model of opus-mt's shape in CTranslate2: size, start-up, memory, words a second.

    python benchmarks/marian_size.py [--lines N] [--rounds N] [--beam N]

An opus-mt model of base size (6 + 6 layers of width 512, 8 heads, 2,048 inside, a vocabulary of 58,101 pieces) is made
with `transformers` and weights drawn by chance, and converted by CTranslate2 into 8 bits: weights do not change how
large a model is or how long a step takes. Its outputs are made as long as ours, token for token: CTranslate2 is held to
the same number of steps for each sentence, ours runs as it does for users. Both have one thread and the same English
sentences of Tatoeba's test set (`heedful data tatoeba`), one at a time. The pieces are made up as well: every sentence
becomes as many as our tokenizer makes of it, and the peer does without cutting text at all. Each is a process of its
own; times are of the processor, and laps alternate.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from heedful.config.data import TsvCorpus
from heedful.data.readers import read_pairs
from heedful.storage.locate import find_model_folder

_VOCABULARY = 58_101


def make_marian(folder: Path) -> None:
    """Make a model of opus-mt's shape and convert it."""
    import torch
    from ctranslate2.converters import TransformersConverter
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=_VOCABULARY,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        max_position_embeddings=512,
        activation_function="swish",
        static_position_embeddings=True,
        scale_embedding=True,
        tie_word_embeddings=True,
        pad_token_id=_VOCABULARY - 1,
        eos_token_id=0,
        bos_token_id=0,
        decoder_start_token_id=_VOCABULARY - 1,
        forced_eos_token_id=0,
    )
    source = folder / "marian"
    MarianMTModel(config).save_pretrained(source)
    pieces = {"</s>": 0, "<unk>": 1, **{f"p{number}": number for number in range(2, _VOCABULARY - 1)}}
    (source / "vocab.json").write_text(json.dumps({**pieces, "<pad>": _VOCABULARY - 1}))
    for side in ("source.spm", "target.spm"):
        _write_sentencepiece(source / side)
    MarianTokenizer.from_pretrained(source)  # refused now rather than in the middle of the conversion
    TransformersConverter(str(source)).convert(str(folder / "ct2"), quantization="int8")


def _write_sentencepiece(path: Path) -> None:
    """Write a small SentencePiece model, which the converter opens but does not use."""
    import io

    import sentencepiece

    model = io.BytesIO()
    lines = iter(["the quick brown fox jumps over the lazy dog", "ein kleines Modell"] * 50)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    path.write_bytes(model.getvalue())


OURS = r"""
import json, re, sys, time
before = time.process_time()
import heedful
translator = heedful.load(device="cpu")
import torch; torch.set_num_threads(1)
texts, beam = json.loads(sys.stdin.readline()), int(sys.argv[1])
first = translator.translate_detailed(texts[:1], to="de", from_="en", beam_size=beam)
started = time.process_time() - before
print(json.dumps({"started": started}), flush=True)
for line in sys.stdin:
    began = time.process_time()
    made = [translator.translate_detailed([text], to="de", from_="en", beam_size=beam)[0] for text in texts]
    seconds = time.process_time() - began
    lengths = [sum(len(unit.alternatives[0].tokens) for unit in one.units) for one in made]
    read = [len(translator.tokenizer.encode_source(text, "de")) - 1 for text in texts]
    peak = int(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1]) / 1024
    print(json.dumps({"seconds": seconds, "lengths": lengths, "read": read, "peak": peak}), flush=True)
"""

THEIRS = r"""
import json, re, sys, time
before = time.process_time()
import ctranslate2
translator = ctranslate2.Translator(sys.argv[2], device="cpu", compute_type="int8", intra_threads=1, inter_threads=1)
task, beam = json.loads(sys.stdin.readline()), int(sys.argv[1])
def run(number, length):
    source = [f"p{2 + (7919 * number + 31 * place) % 58000}" for place in range(number_of[number])] + ["</s>"]
    translator.translate_batch([source], beam_size=beam, min_decoding_length=length, max_decoding_length=length)
number_of = [count - 1 for count in task["read"]]
run(0, max(task["lengths"][0], 1))
print(json.dumps({"started": time.process_time() - before}), flush=True)
for line in sys.stdin:
    began = time.process_time()
    for number, length in enumerate(task["lengths"]):
        run(number, max(length, 1))
    seconds = time.process_time() - began
    peak = int(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1]) / 1024
    print(json.dumps({"seconds": seconds, "peak": peak}), flush=True)
"""


class Contestant:
    """A process that says how long it took to start, and does a lap when it is told to."""

    def __init__(self, script: str, task: object, *arguments: str) -> None:
        command = [sys.executable, "-c", script, *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.started = float(self._ask(json.dumps(task))["started"])

    def lap(self) -> dict[str, object]:
        """Translate everything once."""
        return self._ask("go")

    def _ask(self, line: str) -> dict[str, object]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer: dict[str, object] = json.loads(self._process.stdout.readline())
        return answer

    def leave(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def num_bytes(folder: Path) -> int:
    """Count what a folder holds."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Run both and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beam", type=int, default=4)
    given = parser.parse_args()
    corpus = TsvCorpus(kind="tsv", path="data/tatoeba/eng-deu.test.tsv.gz")
    every = list(dict.fromkeys(pair.source for pair in read_pairs(corpus)))
    texts = every[:: max(1, len(every) // given.lines)][: given.lines]
    num_words = sum(len(text.split()) for text in texts)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_marian(folder)
        ours = Contestant(OURS, texts, str(given.beam))
        warm = ours.lap()
        theirs = Contestant(
            THEIRS, {"read": warm["read"], "lengths": warm["lengths"]}, str(given.beam), str(folder / "ct2")
        )
        theirs.lap()
        laps = [(ours.lap(), theirs.lap()) for _ in range(given.rounds)]
        speeds = [num_words / statistics.median(float(str(lap[side]["seconds"])) for lap in laps) for side in (0, 1)]
        peaks = [float(str(laps[-1][side]["peak"])) for side in (0, 1)]
        sizes = [num_bytes(find_model_folder("bundled", "translation")) / 1e6, num_bytes(folder / "ct2") / 1e6]
        ours.leave()
        theirs.leave()
    print(f"{len(texts)} sentences, {num_words} words, beam {given.beam}, one thread, processor time")
    print(f"{'':<34} {'Heedful':>10} {'Marian':>10} {'ratio':>7}")
    for name, (mine, peer) in {
        "size, MB": sizes,
        "start to first translation, s": (ours.started, theirs.started),
        "peak memory, MB": peaks,
        "words a second": speeds,
    }.items():
        print(f"{name:<34} {mine:>10,.2f} {peer:>10,.2f} {mine / peer:>6.2f}x")


if __name__ == "__main__":
    main()
