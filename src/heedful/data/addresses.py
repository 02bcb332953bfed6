"""Where shards lie: local files by name or pattern, and addresses of other places (`s3://`, `hf://`, `https://`, …).

Places beyond this machine are fsspec's, or pyarrow's where fsspec has no package for them; what they need beside that
is named. A file is opened decompressed, as its ending says. This file knows names and bytes, and no text.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from heedful.data.opening import DAMAGE, decompressing, open_bytes
from heedful.data.paths import resolve_data_path
from heedful.errors import DataError, MissingFileError

_LOOKED_AT = 1 << 16
_PATTERN = frozenset("*?[")


def is_remote(address: str) -> bool:
    """Say whether an address is no name of a local file."""
    return "://" in address


def find_shards(pattern: str) -> list[str]:
    """Return the addresses of the files that a pattern, a name, or a whole folder stands for, sorted by name.

    None at all is a `DataError`.
    """
    if not is_remote(pattern):
        return _local_shards(pattern)
    system, path = _system_of(pattern)
    with _reached(pattern):
        found = system.glob(path) if _PATTERN & set(path) else [path]
        if len(found) == 1 and system.isdir(found[0]):
            found = [name for name in system.ls(found[0], detail=False) if system.isfile(name)]
    if not found:
        raise DataError(f"{pattern} must name at least one file, but there is none.")
    return sorted(system.unstrip_protocol(name) for name in found)


def _local_shards(pattern: str) -> list[str]:
    path = resolve_data_path(pattern)
    if path.is_dir():
        found = [one for one in path.iterdir() if one.is_file() and not one.name.startswith(".")]
    elif path.exists() or not _PATTERN & set(pattern):
        found = [path]
    else:
        root = Path(path.anchor or ".")
        found = [one for one in root.glob(str(path.relative_to(root))) if one.is_file()]
    if not found:
        raise DataError(f"{pattern} must name at least one file, but there is none. Check the path, and HEEDFUL_DATA.")
    if not found[0].exists():
        raise MissingFileError(found[0])
    return sorted(map(str, found))


def suffixes_of(address: str) -> tuple[str, str]:
    """Return the ending that says what a file holds, and the one that says how it is compressed, "" for none."""
    name = PurePosixPath(address.partition("?")[0])
    if name.suffix in (".gz", ".xz", ".zst"):
        return PurePosixPath(name.stem).suffix.lower(), name.suffix
    return name.suffix.lower(), ""


@contextmanager
def open_address(address: str, *, decompressed: bool = True) -> Iterator[BinaryIO]:
    """Open a file for reading; what goes wrong with it is a `DataError`."""
    if not is_remote(address):
        with open_bytes(Path(address), decompressed=decompressed) as stream:
            yield stream
        return
    system, path = _system_of(address)
    with _reached(address), ExitStack() as stack:
        raw = stack.enter_context(system.open(path, "rb"))
        yield decompressing(raw, suffixes_of(address)[1] if decompressed else "", stack)


def identity_of(address: str) -> tuple[int, str]:
    """Return the size of a file, and a digest of it by its first and last 64 KiB: what can be had of many at once."""
    with open_address(address, decompressed=False) as stream:
        digest = hashlib.sha256(stream.read(_LOOKED_AT))
        num_bytes = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, num_bytes - _LOOKED_AT))
        digest.update(stream.read(_LOOKED_AT))
    digest.update(str(num_bytes).encode())
    return num_bytes, digest.hexdigest()


def _system_of(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    import fsspec

    try:
        return cast(tuple[Any, str], fsspec.url_to_fs(address))
    except ImportError as missing:
        from fsspec.implementations.arrow import ArrowFSWrapper
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem

        try:
            system, path = FileSystem.from_uri(address)
        except (ArrowException, ValueError):
            raise DataError(f"{address} cannot be read: {str(missing).rstrip('.')}.") from missing
        return ArrowFSWrapper(system), path
    except ValueError as error:
        raise DataError(f"{address} must begin with a known protocol, such as s3:// or hf://: {error}.") from error


@contextmanager
def _reached(address: str) -> Iterator[None]:
    """Turn what a place says of itself into a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{address} must exist, but does not.") from error
    except (OSError, *DAMAGE) as error:
        raise DataError(f"{address} cannot be read: {str(error).rstrip('.')}.") from error
