"""A whole corpus: fetched, checked, laid out in one step, and left alone when it is there."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from heedful.corpora.archives import ContentPin, read_content
from heedful.corpora.catalogue import PUBLIC_CORPORA, Download, PublicCorpus, find_corpus
from heedful.corpora.download import BackOff
from heedful.corpora.fetch import data_folder, fetch_corpus
from heedful.corpora.progress import PlainDownloadDisplay
from heedful.data.paths import resolve_data_path
from heedful.errors import HeedfulError, UserError
from tests.support.publisher import File, Publisher, publishing

TEXTS = {"train.en": b"Two dogs play.\n", "train.de": b"Zwei Hunde spielen.\n"}
PATHS = {name: f"example.org/corpus/{name}" for name in TEXTS}


def lay_out(downloads: Path, folder: Path) -> None:
    (folder / "plain").mkdir()
    for name in TEXTS:
        (folder / "plain" / name).write_bytes(b"".join(read_content(downloads / name, max_bytes=100)))


CORPUS = PublicCorpus(
    name="dogs",
    description="dogs that play",
    num_bytes=36,
    source="https://example.org/corpus",
    licence="CC BY 4.0",
    downloads=tuple(
        Download(f"https://{PATHS[name]}", 100, ContentPin(len(text), hashlib.sha256(text).hexdigest()))
        for name, text in TEXTS.items()
    ),
    lay_out=lay_out,
)


def serve() -> dict[str, File]:
    return {PATHS[name]: File(text) for name, text in TEXTS.items()}


def fetch(publisher: Publisher | str, out: Path, corpus: PublicCorpus = CORPUS) -> bool:
    with (out.parent / "stderr.txt").open("a") as stream:
        return fetch_corpus(
            corpus,
            out,
            listener=PlainDownloadDisplay(stream),
            mirror=publisher if isinstance(publisher, str) else publisher.url,
            back_off=BackOff(num_retries=0),
        )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_a_corpus_is_laid_out_with_its_licence_and_where_it_came_from(out: Path) -> None:
    with publishing(serve()) as publisher:
        assert fetch(publisher, out)
    assert (out / "dogs" / "plain" / "train.de").read_bytes() == TEXTS["train.de"]
    assert "Licence: CC BY 4.0" in (out / "dogs" / "NOTICE.txt").read_text()
    provenance = json.loads((out / "dogs" / "provenance.json").read_text())
    assert [item["url"] for item in provenance["downloads"]] == [f"{publisher.url}/{path}" for path in PATHS.values()]
    assert provenance["downloads"][0]["sha256"] == hashlib.sha256(TEXTS["train.en"]).hexdigest()
    assert set(provenance["files"]) == {"NOTICE.txt", "plain/train.de", "plain/train.en"}
    assert [path.name for path in out.iterdir()] == ["dogs"]


def test_a_second_run_needs_no_network(out: Path) -> None:
    with publishing(serve()) as publisher:
        fetch(publisher, out)
        before = (out / "dogs" / "provenance.json").read_bytes()
    assert not fetch(publisher, out)
    assert (out / "dogs" / "provenance.json").read_bytes() == before


def test_a_wrong_checksum_lays_out_nothing_and_is_forgotten(out: Path) -> None:
    with publishing(serve()) as publisher:
        publisher.files[PATHS["train.de"]] = File(b"Zwei Katzen spielen\n")
        with pytest.raises(HeedfulError, match=r"train\.de is not the file that was expected.* nothing was laid out"):
            fetch(publisher, out)
        assert [path.name for path in out.iterdir()] == [".download-dogs"]
        publisher.files |= serve()
        assert fetch(publisher, out)
        # The file that was right was kept.
        assert [path for path, _ in publisher.requests].count(f"/{PATHS['train.en']}") == 1


def test_downloads_that_cannot_be_laid_out_are_not_kept(out: Path) -> None:
    def refuse(downloads: Path, folder: Path) -> None:
        (folder / "half").write_bytes(b"")
        raise HeedfulError("It is torn.")

    with publishing(serve()) as publisher:
        with pytest.raises(HeedfulError, match=r"It is torn\. The downloads were removed; nothing was laid out\."):
            fetch(publisher, out, replace(CORPUS, lay_out=refuse))
        assert list(out.iterdir()) == []


def test_what_a_killed_layout_left_is_swept(out: Path) -> None:
    (out / ".dogs.partial-0123").mkdir(parents=True)
    (out / ".cats.partial-0123").mkdir()
    with publishing(serve()) as publisher:
        fetch(publisher, out)
    assert sorted(path.name for path in out.iterdir()) == [".cats.partial-0123", "dogs"]


def test_a_folder_of_somebody_else_is_left_alone(out: Path) -> None:
    (out / "dogs").mkdir(parents=True)
    (out / "dogs" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match=r"it holds no readable provenance\.json\. Move the folder away"):
        fetch("http://127.0.0.1:9", out)
    assert [path.name for path in (out / "dogs").iterdir()] == ["mine.txt"]


def test_an_altered_or_missing_file_is_named(out: Path) -> None:
    with publishing(serve()) as publisher:
        fetch(publisher, out)
    train = out / "dogs" / "plain" / "train.en"
    train.write_bytes(b"Two cats play.\n")
    with pytest.raises(UserError, match=r"train\.en has been altered since it was fetched"):
        fetch(publisher, out)
    train.unlink()
    with pytest.raises(UserError, match=r"must hold plain/train\.en, but the file is missing"):
        fetch(publisher, out)


def test_two_at_once_do_not_write_the_same_part(out: Path) -> None:
    (out / ".download-dogs").mkdir(parents=True)
    with (out / ".download-dogs" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="is in use by another command"):
            fetch("http://127.0.0.1:9", out)


@pytest.mark.parametrize("mirror", ["ftp://example.org", "/srv/mirror", "file:///srv/mirror"])
def test_a_mirror_must_speak_http(out: Path, mirror: str) -> None:
    with pytest.raises(UserError, match=r"`--from` must be an address that begins with http:// or https://"):
        fetch(mirror, out)


def test_a_disk_whose_files_cannot_be_locked_is_a_sentence(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(HeedfulError, match=r"could not be locked: No locks available\. Choose an `--out`"):
        fetch("http://127.0.0.1:9", out)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(HeedfulError, match="could not be written: "):
        fetch("http://127.0.0.1:9", tmp_path / "data")


def test_the_default_folder_is_where_configs_look(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    assert data_folder() / "x" == resolve_data_path("data/x")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    assert data_folder() / "x" == resolve_data_path("data/x") == tmp_path / "x"


@pytest.mark.parametrize("corpus", PUBLIC_CORPORA, ids=lambda corpus: corpus.name)
def test_the_table_is_sound(corpus: PublicCorpus) -> None:
    assert find_corpus(corpus.name) is corpus
    names = [item.name for item in corpus.downloads]
    assert len(set(names)) == len(names) == len({item.url for item in corpus.downloads})
    assert all(urlsplit(item.url).scheme in ("http", "https") for item in corpus.downloads)
    # What travels unencrypted is known by its sha256.
    assert all(isinstance(item.pin, ContentPin) for item in corpus.downloads if item.url.startswith("http:"))
    assert sum(item.max_bytes for item in corpus.downloads) >= corpus.num_bytes


def test_an_unknown_corpus_gets_the_nearest_name() -> None:
    with pytest.raises(UserError) as caught:
        find_corpus("tatoba")
    assert str(caught.value) == (
        "The corpus must be one of multi30k, tatoeba, imdb, enwik8, general, but is tatoba. Did you mean tatoeba?"
    )


def test_nothing_is_left_of_a_layout_that_found_no_room(out: Path) -> None:
    def no_room(downloads: Path, folder: Path) -> None:
        shutil.copyfile(downloads / "train.en", folder / "train.en")
        with Path("/dev/full").open("wb", buffering=0) as full:
            full.write(b"x")

    with publishing(serve()) as publisher:
        with pytest.raises(HeedfulError, match=r"could not be written: No space left on device\. Free some space"):
            fetch(publisher, out, replace(CORPUS, lay_out=no_room))
        assert [path.name for path in out.iterdir()] == [".download-dogs"]
        assert fetch(publisher, out)
        assert len(publisher.requests) == len(TEXTS)
