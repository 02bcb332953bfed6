"""Reading what was downloaded: gzip, zip and tar, without ever unpacking one.

Members are read by name into a stream, so no path inside an archive can lead anywhere on this machine, and every
stream has a bound, so a small file cannot unfold into a full disk. `check_pin` holds a file, or what is in it,
against the checksum it is known by. This file knows bytes; it knows nothing of corpora.
"""

import gzip
import hashlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias, cast

from heedful.errors import HeedfulError

_BLOCK = 1 << 20
# RuntimeError is zipfile's word for an encrypted member, NotImplementedError its word for a compression it lacks.
_DAMAGE = (
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    zipfile.BadZipFile,
    tarfile.TarError,
    RuntimeError,
    NotImplementedError,
)


@dataclass(frozen=True)
class FilePin:
    """The file as it is published has this checksum."""

    algorithm: str
    hexdigest: str


@dataclass(frozen=True)
class ContentPin:
    """What is in the file, decompressed, has this length and sha256, however it was compressed."""

    num_bytes: int
    sha256: str
    member: str = ""  # of a zip archive


Pin: TypeAlias = FilePin | ContentPin


def check_pin(path: Path, pin: Pin) -> None:
    """Refuse a file that is not the one the pin knows."""
    match pin:
        case FilePin(algorithm, expected):
            with path.open("rb") as stream:
                found = _digest(iter(lambda: stream.read(_BLOCK), b""), algorithm)
        case ContentPin(num_bytes, expected, member):
            algorithm = "sha256"
            found = _digest(read_content(path, member, max_bytes=num_bytes), algorithm)
    if found != expected:
        whose = "It" if isinstance(pin, FilePin) else "Its content"
        raise HeedfulError(
            f"{path.name} is not the file that was expected. {whose} must have the {algorithm} {expected}, "
            f"but has {found}."
        )


def read_content(path: Path, member: str = "", *, max_bytes: int) -> Iterator[bytes]:
    """Yield what is in a file, block by block: the text of a .gz, a named member of a .zip, any other file itself."""
    num_bytes = 0
    with _reading(path), _open(path, member) as stream:
        while block := stream.read(_BLOCK):
            num_bytes += len(block)
            if num_bytes > max_bytes:
                raise _too_large(path, max_bytes)
            yield block


def read_tar_members(path: Path, *, max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every regular file of a compressed tar archive; links and devices are passed over.

    `max_bytes` bounds all of them together.
    """
    left = max_bytes
    with _reading(path), tarfile.open(path, mode="r|*") as archive:
        for member in archive:
            if not member.isreg():
                continue
            left -= member.size
            if left < 0:
                raise _too_large(path, max_bytes)
            stream = archive.extractfile(member)
            if stream is not None:
                yield member.name, stream.read()


@contextmanager
def _open(path: Path, member: str) -> Iterator[IO[bytes]]:
    match path.suffix:
        case ".gz":
            with gzip.open(path) as stream:
                yield cast(IO[bytes], stream)
        case ".zip":
            with zipfile.ZipFile(path) as archive:
                if member not in archive.namelist():
                    raise HeedfulError(f"{path.name} is not the file that was expected: there is no {member} in it.")
                with archive.open(member) as stream:
                    yield stream
        case _:
            with path.open("rb") as stream:
                yield stream


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn the complaints of the decompressors into one sentence."""
    try:
        yield
    except _DAMAGE as error:
        raise HeedfulError(
            f"{path.name} is not the file that was expected: it cannot be unpacked ({error})."
        ) from error


def _digest(blocks: Iterable[bytes], algorithm: str) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _too_large(path: Path, max_bytes: int) -> HeedfulError:
    return HeedfulError(f"{path.name} is not the file that was expected: it unpacks to more than {max_bytes:,} bytes.")
