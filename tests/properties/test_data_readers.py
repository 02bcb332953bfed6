"""Readers: any text in any format and compression comes back, and damage is a sentence, never a traceback."""

import gzip
import json
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config.data import Corpus, JsonlCorpus, LineCorpus, TsvCorpus
from heedful.data.readers import read_pairs
from heedful.errors import DataError

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
# Text as a line of a file can hold it; a carriage return at its end would belong to the end of the line.
lines = st.text(st.characters(exclude_characters="\n\ufeff", exclude_categories=["Cs"])).map(
    lambda line: line.rstrip("\r")
)
cells = lines.map(lambda line: line.replace("\t", " "))
suffixes = st.sampled_from(sorted(COMPRESSIONS))


def write(folder: str, name: str, text: str, suffix: str) -> str:
    path = Path(folder) / f"{name}{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](text.encode()))
    return str(path)


def sides(corpus: Corpus) -> list[tuple[str, str]]:
    pairs = list(read_pairs(corpus))
    assert [pair.line for pair in pairs] == list(range(1, len(pairs) + 1))
    return [(pair.source, pair.target) for pair in pairs]


@given(st.lists(st.tuples(lines, lines), min_size=1), suffixes, suffixes, st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=60)
def test_aligned_lines_come_back(pairs: list[tuple[str, str]], one: str, other: str, end: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = write(folder, "source", "".join(f"{pair[0]}{end}" for pair in pairs), one)
        target = write(folder, "target", "".join(f"{pair[1]}{end}" for pair in pairs), other)
        assert sides(LineCorpus(source=source, target=target)) == pairs


@given(st.lists(st.tuples(cells, cells), min_size=1), suffixes)
@settings(max_examples=60)
def test_columns_come_back(pairs: list[tuple[str, str]], suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, "pairs.tsv", "".join(f"{target}\tx\t{source}\n" for source, target in pairs), suffix)
        assert sides(TsvCorpus(kind="tsv", path=path, source_column=2, target_column=0)) == pairs


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1), suffixes, st.booleans())
@settings(max_examples=60)
def test_objects_come_back_with_every_character_json_can_spell(
    pairs: list[tuple[str, str]], suffix: str, ascii_only: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        records = [json.dumps({"a": source, "b": target}, ensure_ascii=ascii_only) for source, target in pairs]
        path = write(folder, "pairs.jsonl", "".join(f"{record}\n" for record in records), suffix)
        assert sides(JsonlCorpus(kind="jsonl", path=path, source_key="a", target_key="b")) == pairs


def read_or_refuse(corpus: Corpus) -> str | None:
    try:
        assert len(sides(corpus)) <= 50
    except DataError as error:
        return str(error)
    return None


@given(st.sampled_from([".gz", ".xz", ".zst"]), st.data())
@settings(max_examples=150)
def test_a_damaged_file_is_read_or_refused_with_a_sentence(suffix: str, data: st.DataObject) -> None:
    content = bytearray(COMPRESSIONS[suffix](b"".join(b"line %d\tzeile %d\n" % (n, n) for n in range(50))))
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pairs.tsv{suffix}"
        path.write_bytes(content)
        said = read_or_refuse(TsvCorpus(kind="tsv", path=str(path)))
        assert said is None or (str(path) in said and said.endswith("."))
