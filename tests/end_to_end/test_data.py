"""`heedful data` as a process, against a server on this machine: exit codes, sentences, and what lies there after."""

import gzip
import io
import json
import signal
import time
import zipfile
from pathlib import Path

import pytest

from tests.support.command_server import command_server
from tests.support.commands import Command
from tests.support.publisher import File, publishing

LANGUAGES = ("deu", "fra", "cmn")


def pairs_archive(language: str, num_lines: int = 400, *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    rows = [f"Line {number}.\t{language} {number}.\tCC-BY 2.0 (France)" for number in range(num_lines)]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr(f"{language}.txt", "\n".join(rows) + "\n")
    return buffer.getvalue()


def tatoeba_files() -> dict[str, File]:
    return {f"www.manythings.org/anki/{name}-eng.zip": File(pairs_archive(name)) for name in LANGUAGES}


def test_without_a_name_the_corpora_are_listed_with_size_licence_and_source(heedful: Command) -> None:
    result = heedful("data")
    assert result.returncode == 0
    text = result.stdout.decode()
    for phrase in ("multi30k", "about 84 MB", "CC BY 2.0 FR", "http://mattmahoney.net/dc/"):
        assert phrase in text
    listed = [json.loads(line) for line in heedful("data", "--json").stdout.splitlines()]
    assert [corpus["name"] for corpus in listed] == ["multi30k", "tatoeba", "imdb", "enwik8", "general"]
    assert "https://www.manythings.org/anki/cmn-eng.zip" in listed[1]["urls"]


def test_a_corpus_goes_where_configs_look_and_a_second_run_does_nothing(heedful: Command, tmp_path: Path) -> None:
    folder = tmp_path / "corpora"
    with publishing(tatoeba_files()) as publisher:
        environment = {"HEEDFUL_DATA": str(folder), "HEEDFUL_DATA_MIRROR": publisher.url}
        first = heedful("data", "tatoeba", cwd=tmp_path, **environment)
        assert first.returncode == 0, first.stderr.decode()
    said = first.stderr.decode()
    assert "Licence: CC BY 2.0 FR: name tatoeba.org" in said
    assert said.endswith(f"The corpus is in {folder}/tatoeba; provenance.json there says what was fetched and when.\n")
    assert first.stdout == b""
    train = gzip.decompress((folder / "tatoeba" / "eng-deu.train.tsv.gz").read_bytes())
    assert train.startswith(b"Line 0.\tdeu 0.\n")
    again = heedful("data", "tatoeba", "--json", cwd=tmp_path, **environment)
    assert again.returncode == 0
    assert json.loads(again.stdout) == {"corpus": "tatoeba", "folder": f"{folder}/tatoeba", "fetched": False}


def test_a_killed_download_goes_on_in_the_next_process(heedful: Command, tmp_path: Path) -> None:
    files = tatoeba_files()
    large = pairs_archive("deu", 60_000, compression=zipfile.ZIP_STORED)
    files["www.manythings.org/anki/deu-eng.zip"] = File(large, cut_after=[1_000_000])
    with publishing(files) as publisher:
        command = ("data", "tatoeba", "--out", "here", "--from", publisher.url)
        process = command_server().start(*command, cwd=tmp_path)
        part = tmp_path / "here" / ".download-tatoeba" / "deu-eng.zip.part"
        while not (part.exists() and part.stat().st_size == 1_000_000):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert not (tmp_path / "here" / "tatoeba").exists()
        result = heedful(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr.decode()
        assert "deu-eng.zip  " in result.stderr.decode()
        assert ", going on at " in result.stderr.decode()
        assert "bytes=1000000-" in publisher.ranges
    provenance = json.loads((tmp_path / "here" / "tatoeba" / "provenance.json").read_text())
    assert provenance["downloads"][0]["bytes"] == len(large)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("imdb", "ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"),
        ("enwik8", "mattmahoney.net/dc/enwik8.zip"),
    ],
)
def test_another_file_than_the_published_one_is_refused_with_1(
    heedful: Command, tmp_path: Path, name: str, path: str
) -> None:
    with publishing({path: File(pairs_archive("deu"))}) as publisher:
        result = heedful("data", name, "--out", tmp_path / "data", "--from", publisher.url)
    assert result.returncode == 1
    assert "is not the file that was expected" in result.stderr.decode()
    assert "nothing was laid out" in result.stderr.decode()
    assert b"Traceback" not in result.stderr
    assert not (tmp_path / "data" / name).exists()


@pytest.mark.parametrize(
    ("arguments", "exit_code", "fragment"),
    [
        (["multi30"], 2, "Did you mean multi30k?"),
        (["imdb", "--from", "ftp://example.org"], 2, "must be an address that begins with http:// or https://"),
        (["imdb", "--retries", "-1"], 2, "--retries"),
        (["multi30k", "--from", "http://127.0.0.1:9", "--retries", "0"], 1, "the server does not answer"),
    ],
)
def test_what_goes_wrong_is_a_sentence(
    heedful: Command, tmp_path: Path, arguments: list[str], exit_code: int, fragment: str
) -> None:
    result = heedful("data", *arguments, cwd=tmp_path)
    assert result.returncode == exit_code
    assert fragment in result.stderr.decode()
    assert b"Traceback" not in result.stderr


def test_a_missing_file_names_the_address(heedful: Command, tmp_path: Path) -> None:
    with publishing() as publisher:
        result = heedful("data", "enwik8", "--from", publisher.url, cwd=tmp_path)
    assert result.returncode == 1
    assert f"{publisher.url}/mattmahoney.net/dc/enwik8.zip could not be fetched: the server answers 404 Not Found" in (
        result.stderr.decode()
    )
