"""`heedful translate FILE` as a process: beside its source, whole or not at all, over nothing, and on after a kill."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command_server import command_server
from tests.support.commands import Command
from tests.support.documents import SAMPLES

LINES = [f"Tom has {number} apples." for number in range(1, 261)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in SAMPLES.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def said(result: "subprocess.CompletedProcess[bytes]") -> str:
    text = result.stderr.decode()
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_of_every_kind_is_translated_beside_its_source(name: str, folder: Path, heedful: Command) -> None:
    stem, ending = name.split(".")
    result = heedful("translate", name, "--from", "en", "--to", "de", "--beam", "1", cwd=folder)
    assert result.returncode == 0, said(result)
    assert result.stdout == b""
    assert f"{stem}.de.{ending}: " in said(result)
    written = folder / f"{stem}.de.{ending}"
    assert written.read_bytes() not in (b"", SAMPLES[name])
    assert (folder / name).read_bytes() == SAMPLES[name]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*SAMPLES, written.name])


def test_nothing_is_overwritten(folder: Path, heedful: Command) -> None:
    (folder / "letter.de.txt").write_text("mine")
    for more in ([], ["--out", "letter.txt"], ["--out", "letter.de.txt"]):
        result = heedful("translate", "letter.txt", "--to", "de", *more, cwd=folder)
        assert result.returncode == 2
        assert "must not exist yet" in said(result)
    assert (folder / "letter.de.txt").read_text() == "mine"
    assert (folder / "letter.txt").read_bytes() == SAMPLES["letter.txt"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.docx"], "The file nowhere.docx must exist, but does not."),
        (["letter.txt", "Hello there"], 'letter.txt is a file and "Hello there" is none'),
        (["report.pdf"], "but this one ends in .pdf"),
        (["letter.txt", "page.md", "--out", "x.txt"], "`--out` must be used with one file"),
        (["Hello", "--resume"], "`--resume` must be used with a file"),
        (["letter.txt", "--json"], "`--json` must be used with texts"),
        (["broken.docx"], "broken.docx: A DOCX file must be a ZIP archive that can be read, but is not."),
        (["german.txt"], 'german.txt is in "de" already'),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    arguments: list[str], sentence: str, folder: Path, heedful: Command
) -> None:
    (folder / "report.pdf").write_bytes(b"%PDF")
    (folder / "broken.docx").write_bytes(SAMPLES["letter.docx"][:900])
    (folder / "german.txt").write_text("Das Wetter ist heute sehr schön, und wir gehen in den Park.\n")
    before = sorted(folder.iterdir())
    result = heedful("translate", *arguments, "--to", "de", cwd=folder)
    assert result.returncode == 2
    assert sentence in said(result)
    assert sorted(folder.iterdir()) == before


def test_a_damaged_file_stops_none_of_the_others(folder: Path, heedful: Command) -> None:
    (folder / "broken.docx").write_bytes(SAMPLES["letter.docx"][:900])
    words = ["broken.docx", "letter.txt", "--from", "en", "--to", "de"]
    result = heedful("translate", *words, cwd=folder)
    assert result.returncode == 2
    assert "A DOCX file must be a ZIP archive" in said(result)
    assert "Not translated: broken.docx. The other files are done." in said(result)
    assert (folder / "letter.de.txt").exists()
    assert not (folder / "broken.de.docx").exists()


def test_what_is_asked_of_texts_is_asked_of_files_too(tmp_path: Path, heedful: Command) -> None:
    (tmp_path / "pets.txt").write_text("The dog sleeps in the house.\n")
    (tmp_path / "terms.tsv").write_text("dog\tKöter\n")
    words = ["translate", "pets.txt", "--from", "en", "--to", "de", "--glossary", "terms.tsv"]
    result = heedful(*words, cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert "Köter" in (tmp_path / "pets.de.txt").read_text()


def test_a_text_that_ends_like_a_file_is_still_a_text(folder: Path, heedful: Command) -> None:
    result = heedful("translate", "Where is my letter.txt", "--from", "en", "--to", "de", cwd=folder)
    assert result.returncode == 0, said(result)
    assert result.stdout.strip()


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, heedful: Command) -> None:
    (tmp_path / "long.txt").write_text("\n".join(LINES) + "\n")
    words = ["translate", "long.txt", "--from", "en", "--to", "de", "--beam", "1"]
    assert heedful(*words, "--out", "whole.txt", cwd=tmp_path).returncode == 0
    journal = tmp_path / ".long.de.txt.journal"
    process = command_server().start(*words, cwd=tmp_path)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") > 1):
        assert process.poll() is None
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert not (tmp_path / "long.de.txt").exists()
    refused = heedful(*words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--resume" in said(refused)
    with journal.open("ab") as torn:
        torn.write(b'{"passage": 200, "segm')
    result = heedful(*words, "--resume", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert "of them before" in said(result)
    assert (tmp_path / "long.de.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert not journal.exists()
    assert "there already" in said(heedful(*words, "--resume", cwd=tmp_path))


def test_a_journal_of_another_file_is_refused(tmp_path: Path, heedful: Command) -> None:
    (tmp_path / "a.txt").write_text("Good morning, my friends.\n")
    (tmp_path / ".a.de.txt.journal").write_text('{"journal": 1, "sha256": "0"}\n')
    result = heedful("translate", "a.txt", "--from", "en", "--to", "de", "--resume", cwd=tmp_path)
    assert result.returncode == 2
    assert "but is of others" in said(result)


def test_without_the_package_for_xml_a_sentence_says_what_to_install(folder: Path, heedful: Command) -> None:
    (folder / "lxml.py").write_text("raise ModuleNotFoundError(\"No module named 'lxml'\", name='lxml')\n")
    result = heedful("translate", "letter.docx", "--to", "de", cwd=folder, PYTHONPATH=str(folder))
    assert result.returncode == 2
    assert "DOCX files need the package lxml. Install it: pip install 'heedful[files]'." in said(result)
    result = heedful("translate", "letter.txt", "--from", "en", "--to", "de", cwd=folder, PYTHONPATH=str(folder))
    assert result.returncode == 0, said(result)
