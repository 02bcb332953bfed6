"""E-books (.epub): the pages in them, as html.py takes pages, and the table of contents; the language is set.

Pictures, styles, fonts and the order of the book stay as they are.
"""

import re
from collections.abc import Sequence

from heedful.documents.archives import read_archive
from heedful.documents.document import Document, DocumentError, Passage, Segments, decode_text
from heedful.documents.html import read_source

_PAGES = (".xhtml", ".html", ".htm", ".ncx")
_LANGUAGE = re.compile(r"(<(?:\w+:)?language(?:\s[^<>]*)?>)[^<>]*(</)")


def read(data: bytes, target: str) -> Document:
    """Read a book."""
    archive = read_archive(data, "EPUB")
    if "META-INF/container.xml" not in archive.members:
        raise DocumentError("An EPUB file must say where its parts are, but META-INF/container.xml is missing.")
    pages = {
        name: read_source(decode_text(content, f"The page {name}")[0], target)
        for name, content in archive.members.items()
        if name.lower().endswith(_PAGES)
    }
    if not pages:
        raise DocumentError("An EPUB file must have pages, but has none.")
    packages = {
        name: _LANGUAGE.sub(rf"\g<1>{target}\g<2>", decode_text(content, f"The part {name}")[0]).encode()
        for name, content in archive.members.items()
        if name.lower().endswith(".opf")
    }
    passages: tuple[Passage, ...] = tuple(passage for page in pages.values() for passage in page.passages)

    def write(translations: Sequence[Segments]) -> bytes:
        rest = iter(translations)
        written = {name: page.write([next(rest) for _ in page.passages]) for name, page in pages.items()}
        return archive.write({**packages, **written})

    return Document(passages, write)
