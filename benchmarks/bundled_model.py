"""The bundled translator as a user meets it: how soon it answers, how fast it is, how large.

    python benchmarks/bundled_model.py [--threads N] [--rounds N] [--cpu-time]

Starts the real command in processes of its own, and times it from outside; loads the model in fresh processes that
have torch already; translates English sentences of Tatoeba's test set (`heedful data tatoeba`) into German, one by one
and 32 at a time, with the search settings of the model. Words are those of the source, as spaces divide it. Medians of
several rounds. On a machine that has other work to do, --cpu-time counts the time of the processor instead of the
clock's; with one thread and an idle machine the two are nearly the same.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from heedful.config.data import TsvCorpus
from heedful.data.paths import resolve_data_path
from heedful.data.readers import read_pairs
from heedful.evaluation.speed import measure_speed
from heedful.storage.locate import find_model_folder

LOAD = (
    "import time, torch; started = time.clock(); "
    "import heedful; heedful.load(device='cpu'); print(time.clock() - started)"
)
COMMAND = ["-m", "heedful", "translate", "Where is the station?", "--to", "zh"]


def children_time() -> float:
    """Seconds the processor has spent on processes this one started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def seconds_of_command(clock: Callable[[], float]) -> float:
    """Run the command once, from nothing to its exit."""
    started = clock()
    subprocess.run([sys.executable, *COMMAND], check=True, capture_output=True)
    return clock() - started


def seconds_of_loading(clock: str) -> float:
    """Load the model in a process of its own, after torch."""
    script = LOAD.replace("clock", clock)
    return float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Measure everything and print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    import torch

    torch.set_num_threads(given.threads)
    from heedful import load

    outside, inside = (children_time, "process_time") if given.cpu_time else (time.perf_counter, "perf_counter")
    folder = find_model_folder(None)
    print(f"threads: {given.threads}, time: {'of the processor' if given.cpu_time else 'of the clock'}")
    print(f"size: {sum(file.stat().st_size for file in folder.iterdir()):,} bytes")
    print(f"command, first run: {seconds_of_command(outside):.2f} s")
    print(f"command, again: {statistics.median(seconds_of_command(outside) for _ in range(given.rounds)):.2f} s")
    print(f"loading, after torch: {statistics.median(seconds_of_loading(inside) for _ in range(given.rounds)):.2f} s")

    corpus = TsvCorpus(kind="tsv", path=str(resolve_data_path("data/tatoeba/eng-deu.test.tsv.gz")))
    sentences = list(dict.fromkeys(pair.source for pair in read_pairs(corpus)))[:256]
    num_words = sum(len(sentence.split()) for sentence in sentences)
    translator = load(device="cpu")
    for beam_size in (1, translator.decoding.beam_size):
        for batch in (1, 32):

            def work(batch: int = batch, beam_size: int = beam_size) -> int:
                for start in range(0, len(sentences), batch):
                    translator.translate(sentences[start : start + batch], from_="en", to="de", beam_size=beam_size)
                return num_words

            speed = measure_speed(work, num_runs=given.rounds, clock=getattr(time, inside))
            per_sentence = 1000 * statistics.median(speed.seconds) / len(sentences)
            print(
                f"beam {beam_size}, {batch} at a time: {speed.tokens_per_second:,.0f} words/s, "
                f"{per_sentence:.1f} ms a sentence"
            )


if __name__ == "__main__":
    main()
