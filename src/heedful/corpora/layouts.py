"""From the files publishers offer to the files configs read: one function a corpus.

A layout reads from the folder of downloads and writes into an empty folder that nobody sees yet. It is a pure
function of the downloads, down to the bytes: the gzip files carry no date. Rows keep the order of their publisher.
"""

import hashlib
import json
import lzma
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from heedful.corpora.archives import read_content, read_tar_members
from heedful.corpora.multi30k import RAW, TOKENIZED, tokenized_name
from heedful.corpora.writing import write_gzip
from heedful.errors import HeedfulError

Split: TypeAlias = Literal["train", "dev", "test"]

_REVIEW = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d+)_(\d+)\.txt")
_MAX_TEXT_BYTES = 1_000_000_000
# Level 1 takes a third of the time of the usual 6 for a file a fifth larger.
_XZ_PRESET = 1


def lay_out_multi30k(downloads: Path, folder: Path) -> None:
    """Write SPLIT.LANGUAGE.gz, and the tokenised form below tok/."""
    for name in RAW:
        shutil.copyfile(downloads / f"{name}.gz", folder / f"{name}.gz")
    (folder / "tok").mkdir()
    for name in TOKENIZED:
        text = read_content(downloads / tokenized_name(name), max_bytes=_MAX_TEXT_BYTES)
        write_gzip(folder / "tok" / f"{name}.gz", text)


def lay_out_tatoeba(downloads: Path, folder: Path, *, languages: Sequence[str]) -> None:
    """Write eng-LANGUAGE.SPLIT.tsv.gz: an English sentence, a tab, its translation."""
    for language in languages:
        lines: dict[Split, list[bytes]] = {"train": [], "dev": [], "test": []}
        for english, translation in _read_pairs(downloads / f"{language}-eng.zip", f"{language}.txt"):
            split = tatoeba_split(english)
            if split is not None:
                lines[split].append(f"{english}\t{translation}\n".encode())
        for name, rows in lines.items():
            write_gzip(folder / f"eng-{language}.{name}.tsv.gz", rows)


def tatoeba_split(english: str) -> Split | None:
    """Say to which split the pairs of an English sentence belong: a matter of its hash, the same in every language.

    So no English sentence is in two splits, not even across languages, and none ever moves, however the corpus
    grows. Of 1,000 shares 15 are test and 10 are dev. The first 15 belong to no split: the figures we publish were
    measured without them, and whoever trains on these files must not have seen them either.
    """
    share = int.from_bytes(hashlib.sha256(english.lower().encode()).digest(), "big") % 1000
    if share < 15:
        return None
    if share < 30:
        return "test"
    return "dev" if share < 40 else "train"


def lay_out_imdb(downloads: Path, folder: Path, *, reviews_per_label: int) -> None:
    """Write {train,test}.jsonl.gz: `text`, `label` (pos or neg) and `stars`, the negative first, by their numbers."""
    archive = downloads / "aclImdb_v1.tar.gz"
    reviews: dict[tuple[str, str], dict[int, bytes]] = {
        (split, label): {} for split in ("train", "test") for label in ("neg", "pos")
    }
    for name, content in read_tar_members(archive, max_bytes=_MAX_TEXT_BYTES):
        if (found := _REVIEW.fullmatch(name)) is not None:
            split, label, number, stars = found.groups()
            fields = {"text": content.decode(), "label": label, "stars": int(stars)}
            reviews[split, label][int(number)] = json.dumps(fields, ensure_ascii=False).encode() + b"\n"
    for (split, label), numbered in reviews.items():
        if len(numbered) != reviews_per_label:
            raise HeedfulError(
                f"{archive.name} must hold {reviews_per_label:,} reviews in {split}/{label}, but holds "
                f"{len(numbered):,}: it is not the file that was expected."
            )
    for split in ("train", "test"):
        rows = (reviews[split, label][number] for label in ("neg", "pos") for number in sorted(reviews[split, label]))
        write_gzip(folder / f"{split}.jsonl.gz", rows)


def lay_out_enwik8(downloads: Path, folder: Path) -> None:
    """Write enwik8.xz."""
    with lzma.open(folder / "enwik8.xz", "wb", preset=_XZ_PRESET) as stream:
        for block in read_content(downloads / "enwik8.zip", "enwik8", max_bytes=_MAX_TEXT_BYTES):
            stream.write(block)


def _read_pairs(archive: Path, member: str) -> Iterator[tuple[str, str]]:
    """Yield every different pair of a file of English, tab, translation, tab, attribution."""
    try:
        text = b"".join(read_content(archive, member, max_bytes=_MAX_TEXT_BYTES)).decode()
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{member} in {archive.name} must be UTF-8 text, but is not: {error}.") from error
    seen: set[tuple[str, str]] = set()
    for line in text.split("\n"):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) >= 2 and all(columns[:2]) and (pair := (columns[0], columns[1])) not in seen:
            seen.add(pair)
            yield pair
    if not seen:
        raise HeedfulError(f"{member} in {archive.name} must hold lines of English, a tab and a translation; none is.")
