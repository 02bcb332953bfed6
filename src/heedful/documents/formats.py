"""The kinds of files that can be translated: how each is told by the end of its name, and who reads it.

Readers are imported when a file of their kind comes, so that what needs no XML works without the package for it.
"""

from dataclasses import dataclass
from pathlib import PurePath

from heedful.documents import html, json_catalogue, markdown, plain_text, po, subtitles
from heedful.documents.document import Document, DocumentError, Read
from heedful.errors import UserError

MAX_FILE_BYTES = 100 << 20


def _docx(data: bytes, target: str) -> Document:
    from heedful.documents import docx

    return docx.read(data, target)


def _odt(data: bytes, target: str) -> Document:
    from heedful.documents import odt

    return odt.read(data, target)


def _epub(data: bytes, target: str) -> Document:
    from heedful.documents import epub

    return epub.read(data, target)


def _xliff(data: bytes, target: str) -> Document:
    from heedful.documents import xliff

    return xliff.read(data, target)


def _tmx(data: bytes, target: str) -> Document:
    from heedful.documents import tmx

    return tmx.read(data, target)


@dataclass(frozen=True)
class Format:
    """A kind of file."""

    name: str
    suffixes: tuple[str, ...]
    media_type: str
    reader: Read

    def read(self, data: bytes, target: str) -> Document:
        """Read a file that is to be translated into a language; raises `DocumentError`."""
        if len(data) > MAX_FILE_BYTES:
            raise DocumentError(f"A file must have at most {MAX_FILE_BYTES:,} bytes, but has {len(data):,}.")
        try:
            return self.reader(data, target)
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.startswith("heedful"):
                raise
            package = missing.name.partition(".")[0]
            remedy = "Install it: pip install 'heedful[files]'."
            raise UserError(f"{self.name} files need the package {package}. {remedy}") from None
        except RecursionError:
            raise DocumentError(f"A {self.name} file must not be nested so deeply.") from None


FORMATS = (
    Format("text", (".txt",), "text/plain", plain_text.read),
    Format("Markdown", (".md", ".markdown"), "text/markdown", markdown.read),
    Format("HTML", (".html", ".htm", ".xhtml"), "text/html", html.read),
    Format("SubRip", (".srt",), "application/x-subrip", subtitles.read),
    Format("WebVTT", (".vtt",), "text/vtt", subtitles.read),
    Format("PO", (".po", ".pot"), "text/x-gettext-translation", po.read),
    Format("XLIFF", (".xlf", ".xliff"), "application/xliff+xml", _xliff),
    Format("TMX", (".tmx",), "application/x-tmx+xml", _tmx),
    Format("JSON", (".json", ".arb"), "application/json", json_catalogue.read),
    Format("DOCX", (".docx",), "application/vnd.openxmlformats-officedocument.wordprocessingml.document", _docx),
    Format("ODT", (".odt",), "application/vnd.oasis.opendocument.text", _odt),
    Format("EPUB", (".epub",), "application/epub+zip", _epub),
)
_BY_SUFFIX = {suffix: kind for kind in FORMATS for suffix in kind.suffixes}


def has_known_ending(name: str) -> bool:
    """Say whether a name ends as those of files that can be translated."""
    return PurePath(name).suffix.lower() in _BY_SUFFIX


def format_of(name: str) -> Format:
    """Return the kind of a file by its name."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in _BY_SUFFIX:
        known = ", ".join(_BY_SUFFIX)
        found = f"ends in {suffix}" if suffix else "has no ending"
        raise DocumentError(f"A file to be translated must end in one of {known}, but this one {found}.")
    return _BY_SUFFIX[suffix]
