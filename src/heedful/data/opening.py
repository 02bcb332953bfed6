"""Opening data files: plain or compressed as their names say, and what is wrong with one said in a sentence."""

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from heedful.errors import DataError, MissingFileError

DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)
"""What reading a damaged file raises."""


def is_compressed(path: Path) -> bool:
    """Say whether a file is decompressed when it is read."""
    return path.suffix in (".gz", ".xz", ".zst")


@contextmanager
def open_bytes(path: Path, *, decompressed: bool = True) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed as its suffix says; faults of the file become sentences."""
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(path.open("rb"))
            yield decompressing(raw, path.suffix if decompressed else "", stack)
    except FileNotFoundError as error:
        raise MissingFileError(path) from error
    except IsADirectoryError as error:
        raise DataError(f"{path} must be a file, but is a folder.") from error
    except PermissionError as error:
        raise DataError(f"The file {path} must be readable, but permission was denied.") from error
    except DAMAGE as error:
        raise damaged(path, error) from error


def decompressing(raw: BinaryIO, suffix: str, stack: ExitStack) -> BinaryIO:
    """Return what reads a stream decompressed, as the suffix of its name says; `stack` closes it."""
    match suffix:
        case ".gz":
            return cast(BinaryIO, stack.enter_context(gzip.open(raw)))
        case ".xz":
            return cast(BinaryIO, stack.enter_context(lzma.open(raw)))
        case ".zst":
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            return cast(BinaryIO, stack.enter_context(io.BufferedReader(reader)))
        case _:
            return raw


def damaged(path: Path, error: Exception) -> DataError:
    """Say that a file is not what its ending says."""
    return DataError(f"The file {path} must be whole {path.suffix} data, but is damaged or cut off: {error}.")
