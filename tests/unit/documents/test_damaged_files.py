"""Damaged and hostile files of every kind: read, or refused with a sentence; soon, and with nothing else touched."""

import io
import random
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heedful.documents.document import DocumentError
from heedful.documents.formats import format_of
from heedful.documents.safeguard import in_rounds, run_rounds
from tests.support.documents import SAMPLES, shout

NUM_DAMAGED = 200


def damaged(data: bytes, seed: int) -> Iterator[bytes]:
    """Turn bytes, cut ends off, take pieces out, and put others in."""
    chance = random.Random(seed)
    for number in range(NUM_DAMAGED):
        wrong = bytearray(data)
        match number % 4:
            case 0:
                for _ in range(chance.randint(1, 20)):
                    wrong[chance.randrange(len(wrong))] ^= 1 << chance.randrange(8)
            case 1:
                del wrong[chance.randrange(len(wrong)) :]
            case 2:
                start = chance.randrange(len(wrong))
                del wrong[start : start + chance.randint(1, 200)]
            case _:
                start = chance.randrange(len(wrong))
                wrong[start:start] = chance.randbytes(chance.randint(1, 50))
        yield bytes(wrong)


def damaged_inside(data: bytes, seed: int) -> Iterator[bytes]:
    """Damage what an archive holds, so that it can be unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    texts = [name for name in members if name.endswith(("ml", ".ncx", ".opf"))]
    for number in range(NUM_DAMAGED):
        chosen = texts[number % len(texts)]
        wrong = next(iter([list(damaged(members[chosen], seed + number))[number]]))
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, wrong if name == chosen else content)
        yield written.getvalue()


def outcome(name: str, data: bytes) -> str:
    try:
        document = format_of(name).read(data, "de")
        document.write([one.segments for one in run_rounds(in_rounds(document.passages), shout)])
    except DocumentError as refusal:
        sentence = str(refusal)
        assert sentence[0].isupper()
        assert sentence.endswith((".", "?"))
        return sentence
    return ""


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_read_or_refused_with_a_sentence(name: str) -> None:
    for data in damaged(SAMPLES[name], seed=7):
        outcome(name, data)


@pytest.mark.parametrize("name", ["letter.docx", "letter.odt", "letter.epub"])
def test_so_is_an_archive_with_damage_inside(name: str) -> None:
    for data in damaged_inside(SAMPLES[name], seed=8):
        outcome(name, data)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe\x00", b"PK\x03\x04", b"%PDF-1.7", b"\n" * 1000, b"{}"])
def test_a_file_of_another_kind_is_read_or_refused_with_a_sentence(name: str, data: bytes) -> None:
    outcome(name, data)


@pytest.mark.parametrize("name", ["letter.docx", "letter.odt", "letter.epub", "units.xlf", "memory.tmx", "film.srt"])
def test_a_file_that_is_plainly_something_else_is_refused(name: str) -> None:
    assert outcome(name, b"%PDF-1.7 hello")


def with_member(data: bytes, name: str, content: bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as after:
        for one in before.namelist():
            if one != name:
                after.writestr(one, before.read(one))
        after.writestr(name, content)
    return written.getvalue()


LAUGHS = b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_neither_expanded_nor_loaded(encoding: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    for definition in (f'<!ENTITY x SYSTEM "file://{secret}">', '<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;&x;">'):
        hostile = f"<!DOCTYPE xliff [{definition}]><xliff version='1.2'><file><body>"
        hostile += "<trans-unit><source>See &x; there</source></trans-unit></body></file></xliff>"
        assert "entities" in outcome("a.xlf", hostile.encode(encoding))
    unit = '<tu><tuv xml:lang="en"><seg>Hello</seg></tuv></tu>'
    dtd = f'<!DOCTYPE tmx SYSTEM "file://{secret}"><tmx><body>{unit}</body></tmx>'
    document = format_of("a.tmx").read(dtd.encode(), "de")
    assert b"canary" not in document.write([("Hallo",)])


def test_an_archive_that_unpacks_to_too_much_is_refused_at_once() -> None:
    bomb = with_member(SAMPLES["letter.docx"], "word/media/bomb.bin", bytes(200 << 20))
    started = time.process_time()
    assert "at most" in outcome("a.docx", bomb)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "member", ["../evil.xml", "/etc/evil.xml", "word/../../evil.xml", "C:/evil.xml", "..\\evil.xml"]
)
def test_a_name_that_leads_out_of_an_archive_is_refused(member: str) -> None:
    assert "elsewhere" in outcome("a.docx", with_member(SAMPLES["letter.docx"], member, b"x"))


HOSTILE = {
    "a.html": ["<", "<a ", '<a "', "<!--", "<p", "</", "&", "<b>x", "<![CDATA[", "<script>", "<svg><svg>", "a='"],
    "a.md": [
        "[",
        "[a](",
        "`",
        "``",
        "*",
        "**a",
        "![",
        "> ",
        "- ",
        "|",
        "_a",
        "<a",
        "[^",
        "\\",
        "   x",
        "a |",
        "-|",
        "# ",
        "`a``b",
    ],
    "a.txt": ["a", "a@", "{", "{a,", "%(", "$", " ", "\n", "http://", "www."],
    "a.srt": ["1\n00:00:01,000 --> 00:00:02,000\n", "<", "{\\", "00:"],
    "a.po": ['msgid "', "#", '"\n', '\\"', 'msgid "a"\nmsgstr ""\n'],
    "a.json": ["[", '{"a":', '"', '"\\'],
}


@pytest.mark.parametrize(("name", "unit"), [(name, unit) for name, units in HOSTILE.items() for unit in units])
def test_the_time_is_linear_in_a_hostile_file(name: str, unit: str) -> None:
    def seconds(size: int) -> float:
        data = ((unit * size)[:size]).encode()
        started = time.process_time()
        outcome(name, data)
        return time.process_time() - started

    short = max(min(seconds(5_000) for _ in range(3)), 0.001)
    assert min(seconds(40_000) for _ in range(2)) < 40 * short  # eight times the size; a square would be 64 times
