"""What was downloaded is read within bounds, by name, and held against its checksum."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from heedful.corpora.archives import ContentPin, FilePin, check_pin, read_content, read_tar_members
from heedful.errors import HeedfulError

TEXT = "Zwei junge Männer\n".encode() * 1000


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def write_tar(path: Path, members: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return path


def test_content_is_the_text_whatever_it_is_wrapped_in(tmp_path: Path) -> None:
    plain = tmp_path / "train.en"
    plain.write_bytes(TEXT)
    packed = tmp_path / "train.en.gz"
    packed.write_bytes(gzip.compress(TEXT))
    archive = write_zip(tmp_path / "train.zip", {"about.txt": b"?", "train.en": TEXT})
    for path in (plain, packed, archive):
        assert b"".join(read_content(path, "train.en", max_bytes=len(TEXT))) == TEXT


@pytest.mark.parametrize("level", [1, 9])
def test_a_content_pin_does_not_mind_the_compression(tmp_path: Path, level: int) -> None:
    path = tmp_path / "train.en.gz"
    path.write_bytes(gzip.compress(TEXT, level))
    check_pin(path, ContentPin(len(TEXT), hashlib.sha256(TEXT).hexdigest()))


@pytest.mark.parametrize("content", [TEXT[:-1], TEXT.replace(b"M", b"N", 1)])
def test_other_content_is_refused_with_both_checksums(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "train.en.gz"
    path.write_bytes(gzip.compress(content))
    expected, found = (hashlib.sha256(text).hexdigest() for text in (TEXT, content))
    with pytest.raises(HeedfulError) as caught:
        check_pin(path, ContentPin(len(TEXT), expected))
    assert str(caught.value) == (
        f"train.en.gz is not the file that was expected. Its content must have the sha256 {expected}, but has {found}."
    )


def test_a_file_pin_minds_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"archive")
    check_pin(path, FilePin("md5", hashlib.md5(b"archive").hexdigest()))
    path.write_bytes(b"archivf")
    with pytest.raises(HeedfulError, match="It must have the md5 "):
        check_pin(path, FilePin("md5", hashlib.md5(b"archive").hexdigest()))


@pytest.mark.parametrize("name", ["bomb.gz", "bomb.zip"])
def test_a_bomb_does_not_go_off(tmp_path: Path, name: str) -> None:
    zeros = bytes(50_000_000)
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(zeros, 1))
    else:
        write_zip(path, {"train.en": zeros})
    blocks: list[bytes] = []
    with pytest.raises(HeedfulError, match=r"it unpacks to more than 2,000,000 bytes\."):
        blocks.extend(read_content(path, "train.en", max_bytes=2_000_000))
    assert sum(map(len, blocks)) <= 2_000_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.gz", gzip.compress(TEXT)[:-9]),
        ("page.gz", b"<html>please log in</html>"),
        ("page.zip", b"<html>please log in</html>"),
    ],
    ids=["cut gzip", "no gzip", "no zip"],
)
def test_damage_is_a_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(HeedfulError, match=rf"{name} is not the file that was expected: it cannot be unpacked"):
        list(read_content(path, "train.en", max_bytes=10**6))


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"other": b""})
    with pytest.raises(HeedfulError, match=r"there is no deu\.txt in it"):
        list(read_content(path, "deu.txt", max_bytes=1))


def test_a_tar_archive_writes_nothing_and_links_lead_nowhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    names = {"../outside.txt": b"a", "/tmp/heedful-outside.txt": b"b", "a/b.txt": b"c"}
    path = write_tar(inside / "a.tar.gz", names, links={"a/link.txt": "/etc/passwd"})
    assert dict(read_tar_members(path, max_bytes=100)) == names
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["a.tar.gz"]
    assert not Path("/tmp/heedful-outside.txt").exists()


def test_the_members_of_a_tar_archive_have_one_bound_together(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar.gz", {"a": b"12345", "b": b"12345"})
    with pytest.raises(HeedfulError, match="unpacks to more than 9 bytes"):
        list(read_tar_members(path, max_bytes=9))


def test_a_cut_tar_archive_is_a_sentence(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar.gz", {str(n): hashlib.sha512(b"%d" % n).digest() * 20 for n in range(99)})
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(HeedfulError, match="it cannot be unpacked"):
        list(read_tar_members(path, max_bytes=10**6))
