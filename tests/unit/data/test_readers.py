"""Readers: every format and compression gives the same pairs, every fault a sentence with its place."""

import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from heedful.config.data import JsonlCorpus, LineCorpus, TsvCorpus
from heedful.data.readers import EncodingReport, Pair, read_pairs
from heedful.errors import DataError
from heedful.text.lines import MAX_LINE_BYTES, read_lines


def _lines(folder: Path, source: bytes, target: bytes) -> LineCorpus:
    (folder / "a.en").write_bytes(source)
    (folder / "a.de").write_bytes(target)
    return LineCorpus(source=str(folder / "a.en"), target=str(folder / "a.de"))


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_pairs_come_in_order_with_empty_lines_kept(
    tmp_path: Path, suffix: str, compress: Callable[..., Any] | type
) -> None:
    path = tmp_path / f"pairs.tsv{suffix}"
    path.write_bytes(compress("x\ta\u2028b\tA\r\nx\t\t\nx\tc\tC".encode()))
    corpus = TsvCorpus(kind="tsv", path=str(path), source_column=1, target_column=2)
    assert list(read_pairs(corpus)) == [Pair("a\u2028b", "A", 1), Pair("", "", 2), Pair("c", "C", 3)]


def test_unequal_files_are_refused_with_both_counts_and_the_line(tmp_path: Path) -> None:
    corpus = _lines(tmp_path, b"1\n2\n3\n4\n", b"1\n2\n")
    with pytest.raises(DataError) as refusal:
        list(read_pairs(corpus))
    assert str(refusal.value) == (
        f"The two files of a corpus must have equally many lines, but {tmp_path}/a.en has 4 and {tmp_path}/a.de has 2: "
        f"{tmp_path}/a.de ends after line 2, {tmp_path}/a.en goes on for 2 lines."
    )


def test_counts_of_unequal_files_are_exact_whichever_is_longer(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 1 and .* has 3: .*a\.en ends after line 1, .* 2 lines\.$"):
        list(read_pairs(_lines(tmp_path, b"1\n", b"1\n2\n3")))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", ":1: a line must be a JSON object, but is not"),
        ("[]", ":1: a line must be a JSON object, but is something else."),
        ('{"source": "a"}', ':1: the object must have the key "target", but has "source".'),
        ('{"source": "a", "target": "b"}\n{"source": 1, "target": ""}', ':2: "source" must be text, but is int.'),
        ("", "must hold at least one pair, but"),
    ],
)
def test_faults_of_json_lines_name_file_and_line(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(content)
    with pytest.raises(DataError) as refusal:
        list(read_pairs(JsonlCorpus(kind="jsonl", path=str(path))))
    assert sentence in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_missing_damaged_and_narrow_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.tsv must exist, but does not"):
        list(read_pairs(TsvCorpus(kind="tsv", path=str(tmp_path / "a.tsv"))))
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"a\tb\n" * 1000)[:-20])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(read_pairs(TsvCorpus(kind="tsv", path=str(tmp_path / "b.tsv.gz"))))
    (tmp_path / "c.tsv").write_text("a\tb\nalone\n")
    with pytest.raises(DataError, match=r"c\.tsv:2: a line must have at least 2 tab-separated columns, but has 1\."):
        list(read_pairs(TsvCorpus(kind="tsv", path=str(tmp_path / "c.tsv"))))


def test_bad_encoding_is_reported_with_line_numbers(tmp_path: Path) -> None:
    report = EncodingReport()
    pairs = list(read_pairs(_lines(tmp_path, b"\xff\nb\n", b"A\nB\n"), report))
    assert pairs[0].source == "\ufffd"
    assert report.bad_lines == {str(tmp_path / "a.en"): (1, [1])}


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path: Path, suffix: str) -> None:
    content = b"short\n" + b"x" * (MAX_LINE_BYTES + 1)
    compress = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[suffix]
    names = [tmp_path / f"a.en{suffix}", tmp_path / "a.de"]
    names[0].write_bytes(compress(content))
    names[1].write_bytes(b"kurz\nkurz\n")
    with pytest.raises(DataError) as caught:
        list(read_pairs(LineCorpus(source=str(names[0]), target=str(names[1]))))
    assert str(caught.value) == (
        f"{names[0]}:2: a line must have at most 16,777,216 bytes, but has more. "
        "Check that the file is text with line ends, one sentence or document a line."
    )


def test_a_line_of_the_largest_size_is_read(tmp_path: Path) -> None:
    for ending in (b"", b"\n"):
        assert [len(line) for line in read_lines(io.BytesIO(b"x" * MAX_LINE_BYTES + ending))] == [MAX_LINE_BYTES]
