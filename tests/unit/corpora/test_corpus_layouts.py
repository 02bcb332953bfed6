"""From the files of publishers to the files of configs."""

import gzip
import hashlib
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from heedful.config.data import TsvCorpus
from heedful.corpora.layouts import (
    lay_out_enwik8,
    lay_out_imdb,
    lay_out_multi30k,
    lay_out_tatoeba,
    tatoeba_split,
)
from heedful.corpora.multi30k import RAW, TOKENIZED, raw_file, tokenized_file
from heedful.data.readers import read_parallel
from heedful.errors import HeedfulError

CREDIT = "CC-BY 2.0 (France) Attribution: tatoeba.org #1 (CK) & #2 (Someone)"


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def write_pairs(downloads: Path, language: str, text: str) -> None:
    with zipfile.ZipFile(downloads / f"{language}-eng.zip", "w") as archive:
        archive.writestr("_about.txt", "from tatoeba.org")
        archive.writestr(f"{language}.txt", text)


def lines_of(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]


@pytest.mark.parametrize(
    ("english", "split"),
    [
        ("Excuse me.", "test"),
        ("Tom swims.", "dev"),
        ("Hi.", "train"),
        ("excuse ME.", "test"),
    ],
)
def test_a_sentence_is_in_the_split_it_has_always_been_in(english: str, split: str) -> None:
    assert tatoeba_split(english) == split


def test_the_splits_have_their_shares() -> None:
    counts = Counter(tatoeba_split(f"Sentence {number}.") for number in range(100_000))
    assert counts[None] == pytest.approx(1500, rel=0.1)
    assert counts["test"] == pytest.approx(1500, rel=0.1)
    assert counts["dev"] == pytest.approx(1000, rel=0.1)


def test_no_english_sentence_is_in_two_splits_across_languages(downloads: Path, folder: Path) -> None:
    for start, language in enumerate(("deu", "fra")):
        rows = [f"Line {number}.\tZeile {number}.\t{CREDIT}" for number in range(start * 500, start * 500 + 2000)]
        write_pairs(downloads, language, "\n".join(rows) + "\n")
    lay_out_tatoeba(downloads, folder, languages=("deu", "fra"))
    splits: dict[str, set[str]] = {}
    for path in folder.iterdir():
        for line in lines_of(path):
            splits.setdefault(line.split("\t")[0], set()).add(path.name.split(".")[1])
    assert {len(names) for names in splits.values()} == {1}
    assert len(splits) == sum(tatoeba_split(f"Line {number}.") is not None for number in range(2500))


def test_tatoeba_keeps_order_and_characters_and_drops_credits_repetitions_and_torn_lines(
    downloads: Path, folder: Path
) -> None:
    hello, again = f"Hi.\tHallo!\t{CREDIT}\r\n", f"Hi.\tHallo!\t{CREDIT}\n"
    write_pairs(downloads, "deu", f"{hello}Hi.\tGrüß\u2028Gott!\t{CREDIT}\n{again}\ntorn\n\tnothing\nRun!\tLauf!")
    lay_out_tatoeba(downloads, folder, languages=("deu",))
    assert lines_of(folder / "eng-deu.train.tsv.gz") == ["Hi.\tHallo!", "Hi.\tGrüß\u2028Gott!", "Run!\tLauf!"]
    corpus = TsvCorpus(kind="tsv", path=str(folder / "eng-deu.train.tsv.gz"))
    assert read_parallel(corpus)[1] == ["Hallo!", "Grüß\u2028Gott!", "Lauf!"]


@pytest.mark.parametrize("text", ["", "no tab\n"])
def test_a_file_without_pairs_is_refused(downloads: Path, folder: Path, text: str) -> None:
    write_pairs(downloads, "deu", text)
    with pytest.raises(HeedfulError, match=r"deu\.txt in deu-eng\.zip must hold lines of English, a tab"):
        lay_out_tatoeba(downloads, folder, languages=("deu",))


def test_the_same_downloads_give_the_same_bytes(downloads: Path, tmp_path: Path) -> None:
    write_pairs(downloads, "deu", "Hi.\tHallo!\n")
    digests = set()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        lay_out_tatoeba(downloads, tmp_path / name, languages=("deu",))
        digests.add(hashlib.sha256((tmp_path / name / "eng-deu.train.tsv.gz").read_bytes()).hexdigest())
    assert len(digests) == 1


def write_reviews(downloads: Path, names: list[str]) -> None:
    with tarfile.open(downloads / "aclImdb_v1.tar.gz", "w:gz") as archive:
        for name in names:
            content = f"{name} <br /> „schön“ ".encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_imdb_has_the_negative_first_and_goes_by_number(downloads: Path, folder: Path) -> None:
    reviews = [f"aclImdb/{split}/{label}" for split in ("train", "test") for label in ("pos", "neg")]
    names = [f"{place}/{review}.txt" for place in reviews for review in ("10_1", "9_4", "0_3")]
    write_reviews(downloads, [*names, "aclImdb/README", "aclImdb/train/unsup/0_0.txt", "../aclImdb/train/neg/1_1.txt"])
    lay_out_imdb(downloads, folder, reviews_per_label=3)
    rows = [json.loads(line) for line in lines_of(folder / "train.jsonl.gz")]
    assert [(row["label"], row["stars"]) for row in rows] == [(label, n) for label in ("neg", "pos") for n in (3, 4, 1)]
    assert rows[0]["text"] == "aclImdb/train/neg/0_3.txt <br /> „schön“ "
    assert "„" in lines_of(folder / "test.jsonl.gz")[0]


def test_imdb_with_a_review_missing_is_refused(downloads: Path, folder: Path) -> None:
    write_reviews(downloads, ["aclImdb/train/neg/0_3.txt"])
    with pytest.raises(HeedfulError, match=r"must hold 1 reviews? in train/pos, but holds 0"):
        lay_out_imdb(downloads, folder, reviews_per_label=1)


def test_enwik8_keeps_its_bytes(downloads: Path, folder: Path) -> None:
    content = bytes(range(256)) * 9000
    with zipfile.ZipFile(downloads / "enwik8.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("enwik8", content)
    lay_out_enwik8(downloads, folder)
    assert lzma.decompress((folder / "enwik8.xz").read_bytes()) == content


def test_multi30k_is_laid_out_raw_and_tokenised(downloads: Path, folder: Path) -> None:
    for name in RAW:
        (downloads / raw_file(name)[0].rsplit("/", 1)[-1]).write_bytes(gzip.compress(f"raw {name}\n".encode()))
    for name in TOKENIZED:
        (downloads / tokenized_file(name)[0].rsplit("/", 1)[-1]).write_bytes(f"tokenised {name}\n".encode())
    lay_out_multi30k(downloads, folder)
    assert lines_of(folder / "test_2016_flickr.cs.gz") == ["raw test_2016_flickr.cs"]
    assert lines_of(folder / "tok" / "val.de.gz") == ["tokenised val.de"]
    assert len(list(folder.rglob("*.gz"))) == len(RAW) + len(TOKENIZED) == 36


def test_the_committed_configs_read_files_that_the_layout_makes() -> None:
    made = {f"data/multi30k/{name}.gz" for name in RAW} | {f"data/multi30k/tok/{name}.gz" for name in TOKENIZED}
    configs = Path(__file__).parents[3] / "configs"
    read = {
        path for file in configs.glob("*.toml") for path in re.findall(r'"(data/multi30k/[^"]+)"', file.read_text())
    }
    assert read
    assert read <= made
