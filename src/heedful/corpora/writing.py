"""How corpora are written: gzip without a date, so that the same text always is the same bytes."""

import gzip
from collections.abc import Iterable
from pathlib import Path


def write_gzip(path: Path, blocks: Iterable[bytes]) -> None:
    """Write a compressed file."""
    with path.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
        for block in blocks:
            stream.write(block)
