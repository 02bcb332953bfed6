"""Documents that are ZIP archives: read within bounds, in memory, and written again with some members changed.

Nothing is unpacked to disk, so no name in an archive can lead anywhere; names that try are refused all the same. Order
and compression of the members stay, which e-book readers and office programs rely on.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from heedful.documents.document import DocumentError

MAX_MEMBERS = 5_000
MAX_UNPACKED_BYTES = 128 << 20
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
)
"""What Python says of an archive that is damaged, of another kind, or locked."""


@dataclass(frozen=True)
class Archive:
    """The members of an archive, in order."""

    members: dict[str, bytes]
    _infos: tuple[zipfile.ZipInfo, ...]

    def write(self, changed: Mapping[str, bytes]) -> bytes:
        """Write the archive with other content in some members."""
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            for info in self._infos:
                month, day = info.date_time[1:3]
                date = info.date_time if 1 <= month <= 12 and 1 <= day <= 31 else _FIRST_DAY
                fresh = zipfile.ZipInfo(info.filename, date)
                fresh.compress_type = info.compress_type
                fresh.external_attr = info.external_attr
                archive.writestr(fresh, changed.get(info.filename, self.members[info.filename]))
        return written.getvalue()


def read_archive(data: bytes, kind: str) -> Archive:
    """Read all members; `kind` is for the sentence that says what is wrong."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _check(infos, kind)
            members = {info.filename: archive.read(info) for info in infos}
    except DocumentError:
        raise
    except _DAMAGED:
        remedy = "It may be damaged, or locked with a password."
        raise DocumentError(f"A {kind} file must be a ZIP archive that can be read, but is not. {remedy}") from None
    return Archive(members, tuple(infos))


def _check(infos: list[zipfile.ZipInfo], kind: str) -> None:
    if len(infos) > MAX_MEMBERS:
        raise DocumentError(f"A {kind} file must have at most {MAX_MEMBERS:,} parts, but has {len(infos):,}.")
    if sum(info.file_size for info in infos) > MAX_UNPACKED_BYTES:
        raise DocumentError(f"A {kind} file must unpack to at most {MAX_UNPACKED_BYTES:,} bytes, but has more.")
    names = [info.filename for info in infos]
    for name in names:
        if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or ":" in name[:3]:
            raise DocumentError(f"A {kind} file must have parts inside it only, but one is named to lie elsewhere.")
    if len(set(names)) < len(names):
        raise DocumentError(f"A {kind} file must have each part once, but has two of one name.")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise DocumentError(f"A {kind} file must be compressed as all programs can read it, but is not.")
