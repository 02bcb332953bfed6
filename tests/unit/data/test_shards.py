"""Shards of every kind give the same rows, wherever they lie, and their faults are sentences."""

import gzip
import json
import lzma
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from heedful.data.addresses import find_shards, identity_of
from heedful.data.shards import read_rows
from heedful.errors import DataError

PAIRS = [("one\u2028two", "eins"), ("", "leer"), ("你好", "naïve"), ("a b", "c"), ("last", "zuletzt")]
SOURCES, TARGETS = [list(side) for side in zip(*PAIRS, strict=True)]


def _shards(folder: Path) -> dict[str, tuple[str | int, ...]]:
    """Write the same pairs in every way; return the columns of each."""
    tsv = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()
    jsonl = "".join(json.dumps({"s": source, "t": target}) + "\n" for source, target in PAIRS).encode()
    (folder / "a.tsv").write_bytes(tsv)
    (folder / "a.tsv.gz").write_bytes(gzip.compress(tsv))
    (folder / "a.tsv.xz").write_bytes(lzma.compress(tsv))
    (folder / "a.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(jsonl))
    table = pa.table({"s": SOURCES, "t": TARGETS})
    pq.write_table(table, folder / "a.parquet", row_group_size=2)
    nested = pa.table({"translation": [{"en": source, "de": target} for source, target in PAIRS]})
    pq.write_table(nested, folder / "b.parquet")
    with pa.ipc.new_file(folder / "a.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=2)
    with pa.ipc.new_stream(folder / "b.arrow", table.schema) as stream:
        stream.write_table(table)
    named = ("s", "t")
    plain: dict[str, tuple[str | int, ...]] = dict.fromkeys(("a.tsv", "a.tsv.gz", "a.tsv.xz"), (0, 1))
    plain |= {"a.jsonl.zst": named, "a.parquet": named}
    return {**plain, "b.parquet": ("translation.en", "translation.de"), "a.arrow": named, "b.arrow": (0, 1)}


@pytest.mark.parametrize("rows_at_once", [2, 100])
def test_every_kind_of_shard_gives_the_same_rows(tmp_path: Path, rows_at_once: int) -> None:
    for name, columns in _shards(tmp_path).items():
        rows = list(read_rows(str(tmp_path / name), columns, rows_at_once))
        assert [text for one in rows for text in one.columns[0]] == SOURCES, name
        assert [text for one in rows for text in one.columns[1]] == TARGETS, name
        assert [one.first_row for one in rows] == list(range(1, 6, rows_at_once))


def test_a_pattern_a_folder_and_an_address_name_the_same_shards(tmp_path: Path) -> None:
    for name in ("s1.txt", "s0.txt"):
        (tmp_path / name).write_text(name + "\n")
    local = [str(tmp_path / name) for name in ("s0.txt", "s1.txt")]
    assert find_shards(str(tmp_path / "s*.txt")) == find_shards(str(tmp_path)) == local
    memory = fsspec.filesystem("memory")
    for name in ("s1.txt.gz", "s0.txt.gz"):
        memory.pipe(f"/jobs/{name}", gzip.compress(name.encode() + b"\n"))
    found = find_shards("memory://jobs/s*.gz")
    assert [next(read_rows(one, (0,), 9)).columns[0] for one in found] == [["s0.txt.gz"], ["s1.txt.gz"]]
    assert identity_of(found[0])[0] == memory.size("/jobs/s0.txt.gz")
    assert identity_of(found[0]) != identity_of(found[1])


@pytest.mark.parametrize(
    ("name", "columns", "sentence"),
    [
        ("a.parquet", ("source", "t"), 'must have a column "source", but has s, t'),
        ("a.tsv", (0, 7), "a line must have at least 8 tab-separated columns, but has 2"),
        ("a.jsonl.zst", ("s", "x"), '"x" must be text, but is missing'),
        ("none.tsv", (0, 1), "must exist, but does not"),
        ("cut.parquet", ("s",), "must be whole parquet data"),
        ("memory://jobs/none.tsv", (0,), "must exist, but does not"),
        ("nowhere://x/y.tsv", (0,), "must begin with a known protocol"),
    ],
)
def test_a_fault_is_a_sentence(tmp_path: Path, name: str, columns: tuple[str | int, ...], sentence: str) -> None:
    _shards(tmp_path)
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    with pytest.raises(DataError, match=sentence):
        list(read_rows(name if "://" in name else str(tmp_path / name), columns, 100))
