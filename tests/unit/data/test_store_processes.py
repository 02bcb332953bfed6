"""Stores built by several processes: the same bytes whatever their number, and no process outlives its work."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from heedful.config.data import AugmentationConfig, DataConfig, FilterConfig, JsonlCorpus, TokenizerConfig, TsvCorpus
from heedful.data.encoding_worker import EncodingSetup, block_message, setup_message
from heedful.data.filters import FilterReport, PairFilter
from heedful.data.pair_encoding import Making
from heedful.data.processes import Message, Start, start_workers
from heedful.data.readers import LINES_AT_ONCE, read_pairs
from heedful.data.store import SubwordDropout, TokenStore
from heedful.data.store_building import blocks_of, fill_store
from heedful.errors import DataError, HeedfulError
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer
from tests.support.small_corpus import ENGLISH, GERMAN, WriteCorpus

_ODD = ["", "  ", "x " * 40, "我們 著名，", "naïve ﬁn", "Stop. Go, now!"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn_tokenizer(TokenizerConfig(vocab_size=340), ENGLISH, GERMAN, ["de", "fr"])


@pytest.fixture
def data(write_corpus: WriteCorpus, tmp_path: Path) -> DataConfig:
    """Two corpora of several blocks, with empty, long, uneven and repeated pairs."""
    draw = random.Random(5)
    sources = [draw.choice([*ENGLISH, *_ODD]) + draw.choice(["", " again", " 7"]) for _ in range(2 * LINES_AT_ONCE + 9)]
    targets = [draw.choice([*GERMAN, *_ODD]) for _ in sources]
    (tmp_path / "more.tsv").write_text("".join(f"{line}\t{line[::-1]}\n" for line in targets), encoding="utf-8")
    train = [
        write_corpus("lines", sources, targets),
        TsvCorpus(kind="tsv", path=str(tmp_path / "more.tsv"), target_language="fr"),
    ]
    filters = FilterConfig(max_tokens=60, max_ratio=3.0, drop_duplicates=True)
    return DataConfig(train=train, validation=train, filters=filters, target_language="de")


def _filled(folder: Path, data: DataConfig, tokenizer: Tokenizer, num_processes: int) -> dict[str, bytes]:
    folder.mkdir()
    fill_store(folder, data, tokenizer, SubwordDropout(0.1, 1), num_processes)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_number_of_processes_changes_no_byte(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    alone = _filled(tmp_path / "1", data, tokenizer, 1)
    for number in (2, 3):
        assert _filled(tmp_path / str(number), data, tokenizer, number) == alone


def test_registers_and_made_pairs_are_the_same_whatever_the_number_of_processes(
    data: DataConfig, tmp_path: Path
) -> None:
    registers = [("formal", "de"), ("technical", "fr")]
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=340), ENGLISH, GERMAN, ["de", "fr"], registers=registers)
    train = [
        one.model_copy(update={"in_register": name})
        for one, name in zip(data.train, ("formal", "technical"), strict=True)
    ]
    shares = AugmentationConfig(joined=0.1, copies=0.1, capitals=0.1, no_full_stop=0.1, typing_errors=0.1)
    data = data.model_copy(update={"train": train, "augmentation": shares, "register_rate": 0.25})
    alone = _filled(tmp_path / "1", data, tokenizer, 1)
    assert _filled(tmp_path / "2", data, tokenizer, 2) == alone
    store = TokenStore(tmp_path / "1")
    assert store.report.num_made > 1000
    assert f" and {store.report.num_made:,} made of them" in store.report.sentence()
    assert store.source_words is not None
    for corpus, (register, language) in enumerate(registers):
        chosen = np.flatnonzero(store.corpus_ids == corpus)
        tags = np.array([store.source(int(index))[0] for index in chosen])
        told = tokenizer.in_register(register).tag_of(language)
        assert set(tags) == {tokenizer.tag_of(language), told}
        assert (tags == told).mean() == pytest.approx(0.25, abs=0.03)
        for index in chosen[:50]:  # with subword dropout, too: the first word is the tag
            words = store.source_words.words[int(index)]
            cut = store.source_words.table.segment(words[:1], np.zeros(1, dtype=np.int64))
            assert cut.tolist() == [store.source(int(index))[0]]


def test_a_store_is_what_pairs_one_by_one_make_it(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    _filled(tmp_path / "store", data, tokenizer, 2)
    store, pair_filter, kept, reports = TokenStore(tmp_path / "store"), PairFilter(data.filters), [], []
    for number, (corpus, language) in enumerate(zip(data.train, ("de", "fr"), strict=True)):
        pair_filter.report = FilterReport()
        for pair in read_pairs(corpus):
            source, target = tokenizer.encode_source(pair.source, language), tokenizer.encode_target(pair.target)
            if pair_filter.reason_against(pair.source, pair.target, len(source), len(target)) is None:
                kept.append((number, source, target))
        reports.append(pair_filter.report)
    assert store.reports == reports
    assert all(count for count in store.report.left_out.values())
    numbers = store.corpus_ids.tolist()
    assert [(numbers[n], store.source(n).tolist(), store.target(n).tolist()) for n in range(len(store))] == kept


def test_a_fault_found_by_a_worker_names_file_and_line(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"source": "a", "target": "b"}\n' * LINES_AT_ONCE + "{}\n")
    corpus = JsonlCorpus(kind="jsonl", path=str(path))
    with pytest.raises(DataError, match=rf'pairs\.jsonl:{LINES_AT_ONCE + 1}: the object must have the key "source"'):
        _filled(tmp_path / "store", DataConfig(train=[corpus], validation=[corpus], target_language="de"), tokenizer, 2)


def test_a_worker_that_ends_is_said_in_a_sentence() -> None:
    ends_at_once = "heedful.data.paths"
    with (
        start_workers(Start(ends_at_once, Message({})), 1) as workers,
        pytest.raises(HeedfulError, match="must live until it is done, but has ended"),
    ):
        list(workers.map([Message({})]))


_BUILDING = """
import sys
from pathlib import Path
from heedful.config.data import AugmentationConfig, FilterConfig
from heedful.data.encoding_worker import EncodingSetup, setup_message
from heedful.data.pair_encoding import Making
from heedful.data.processes import Start, start_workers
setup = EncodingSetup(
    Path(sys.argv[1]).read_text(), FilterConfig(), with_words=False, making=Making(AugmentationConfig(), 1.0, 0)
)
with start_workers(Start("heedful.data.encoding_worker", setup_message(setup)), 2):
    print("started", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="asks /proc for the children of a process")
def test_workers_end_with_whoever_started_them_even_if_that_is_killed(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_json(), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", _BUILDING, str(tmp_path / "tokenizer.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as builder:
        assert builder.stdout is not None
        assert builder.stdout.readline() == b"started\n"
        children = Path(f"/proc/{builder.pid}/task/{builder.pid}/children").read_text().split()
        assert len(children) == 2
        os.kill(builder.pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while any(_is_alive(child) for child in children):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _is_alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_that_is_killed_is_replaced_and_its_item_done_again(data: DataConfig, tokenizer: Tokenizer) -> None:
    setup = EncodingSetup(tokenizer.to_json(), data.filters, with_words=True, making=Making(data.augmentation, 0.5, 0))
    given = [block_message(block) for block in blocks_of(data, tokenizer)]
    with start_workers(Start("heedful.data.encoding_worker", setup_message(setup)), 2, warm_up=given[0]) as workers:
        expected = list(workers.map(given))
        for worker in list(workers._all):
            worker.kill()
        assert list(workers.map(given)) == expected
        assert workers.num_lost == 2
