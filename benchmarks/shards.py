"""Training batches from shards beside the same pairs in one store: the first, all of them, resumed in epoch 2.

    .venv/bin/python benchmarks/shards.py PAIRS.tsv FOLDER --shards 200 --pairs 2000

Writes so many shards of so many pairs each, the file again from its beginning where it is too short, and tokenises them
with the bundled tokenizer into FOLDER/cache. Times are those of one process that does nothing else with the batches.
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

from heedful.config.data import DataConfig, ShardCorpus
from heedful.config.translation import TranslationRun
from heedful.data.store import prepare_store
from heedful.data.stream import BatchStream, prefetch
from heedful.storage.locate import find_model_folder
from heedful.tasks.translation.sharded_data import prepare_shards
from heedful.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096


def write_shards(pairs: Path, folder: Path, num_shards: int, num_pairs: int) -> None:
    """Cut a file of pairs into shards."""
    folder.mkdir(parents=True)
    lines = cycle(pairs.read_bytes().splitlines(keepends=True))
    for number in range(num_shards):
        data = b"".join(b"%d %s" % (number, line) for line in islice(lines, num_pairs))
        (folder / f"shard-{number:05d}.tsv.gz").write_bytes(gzip.compress(data, 1))


def laps(stream: object, first: int, last: int) -> dict[str, float]:
    """Take batches as training does; return how many a second, and the longest wait."""
    batches, slowest, start = prefetch(stream, first), 0.0, time.perf_counter()
    next(batches)
    begin = before = time.perf_counter()
    for _ in range(last - first - 1):
        next(batches)
        now = time.perf_counter()
        slowest, before = max(slowest, now - before), now
    lasted = time.perf_counter() - begin
    return {
        "first after": round(begin - start, 2),
        "batches a second": round((last - first - 1) / lasted, 1),
        "longest wait": round(slowest, 3),
    }


def say(stage: str, **found: object) -> None:
    """Print what a stage found, with the memory this process has had at most."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"stage": stage, **found, "MB": memory}), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=200)
    parser.add_argument("--pairs", dest="num_pairs", type=int, default=2000)
    parser.add_argument("--stage", default="all", help="of the process that is started for each")
    options = parser.parse_args()
    os.environ["HEEDFUL_CACHE"] = str(options.folder / "cache")
    if options.stage == "all":
        if not (options.folder / "shards").exists():
            write_shards(options.pairs, options.folder / "shards", options.shards, options.num_pairs)
        for stage in ("cold", "warm", "resumed", "memory"):
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--stage", stage], check=True)
        return
    corpus = ShardCorpus(kind="shards", path=str(options.folder / "shards"))
    data = DataConfig(source_language="en", target_language="de", train=[corpus], validation=[corpus])
    run = TranslationRun.model_validate({"name": "shards", "data": data, "training": {"batch_tokens": BATCH_TOKENS}})
    tokenizer = Tokenizer.from_json((find_model_folder("bundled") / "tokenizer.json").read_text(encoding="utf-8"))
    start = time.perf_counter()
    if options.stage == "memory":
        store = prepare_store(data, tokenizer)
        ids = {"bos_id": tokenizer.bos_id, "pad_id": tokenizer.pad_id}
        plain = BatchStream(store, batch_tokens=BATCH_TOKENS, seed=run.seed, **ids)
        prepared = time.perf_counter() - start
        say("memory", prepared=round(prepared, 1), **laps(plain, 0, plain.num_batches(0)))
        return
    stream = prepare_shards(run, tokenizer, lambda _: None)
    prepared = round(time.perf_counter() - start, 2)
    ends = [0, 0, 0]
    if options.stage != "cold":
        position = 0
        for epoch in range(3):  # steps of 50: near enough to the end of an epoch
            while stream.epoch_of(position) <= epoch:
                position += 50
            ends[epoch] = position
    if options.stage == "cold":
        position = 0
        batches, start = prefetch(stream, 0), time.perf_counter()
        while stream.epoch_of(position) == 0:
            next(batches)
            position += 1
        say("cold", prepared=prepared, seconds=round(time.perf_counter() - start, 1), batches=position)
    elif options.stage == "warm":
        say("warm", prepared=prepared, **laps(stream, 0, ends[1]))
    else:
        say("resumed", prepared=prepared, **laps(stream, (ends[1] + ends[2]) // 2, (ends[1] + ends[2]) // 2 + 20))


if __name__ == "__main__":
    main()
