"""Word's documents (.docx): paragraphs of the text, of tables, headers, footers, notes and text boxes are passages.

Word cuts a paragraph into runs wherever anything was ever edited; runs that look the same are one segment. Styles,
pictures, fields, comments and what tracked changes have deleted stay as they are.
"""

import re
from collections.abc import Hashable, Sequence

from lxml import etree

from heedful.documents.archives import read_archive
from heedful.documents.document import Document, DocumentError, Segments
from heedful.documents.xml_tree import XML_SPACE, Element, PassageBuilder, Slot, Texts, local_name, parse_xml, write_xml

_PART = re.compile(r"word/(?:document|header|footer|footnotes|endnotes)\d*\.xml")
_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_AROUND = frozenset(
    {"hyperlink", "smartTag", "ins", "moveTo", "sdt", "sdtContent", "fldSimple", "customXml", "dir", "bdo"}
)
_UNSEEN = frozenset(
    [
        "pPr",
        "rPr",
        "proofErr",
        "bookmarkStart",
        "bookmarkEnd",
        "commentRangeStart",
        "commentRangeEnd",
        "permStart",
        "permEnd",
        "del",
        "moveFrom",
        "sdtPr",
        "lastRenderedPageBreak",
        "moveFromRangeStart",
        "moveFromRangeEnd",
        "moveToRangeStart",
        "moveToRangeEnd",
    ]
)
_NO_LOOK = frozenset({"lang", "noProof", "rsid"})
"""Properties of a run that one does not see."""


def read(data: bytes, _: str) -> Document:
    """Read a document."""
    archive = read_archive(data, "DOCX")
    names = [name for name in archive.members if _PART.fullmatch(name)]
    if not any(name.startswith("word/document") for name in names):
        raise DocumentError("A DOCX file must have a text, but has none: word/document.xml is missing.")
    trees = {name: parse_xml(archive.members[name], f"The part {name}") for name in names}
    texts = Texts()
    for tree in trees.values():
        for element in tree.getroot().iter(*(f"{{{space}}}p" for space in _NAMESPACES)):
            builder = PassageBuilder()
            _walk(element, (), builder)
            texts.add(builder)

    def write(translations: Sequence[Segments]) -> bytes:
        texts.put(translations)
        for tree in trees.values():
            for element in tree.getroot().iter(*(f"{{{space}}}t" for space in _NAMESPACES)):
                if element.text != (element.text or "").strip():
                    element.set(XML_SPACE, "preserve")
        return archive.write({name: write_xml(tree) for name, tree in trees.items()})

    return Document(tuple(texts.passages), write)


def _walk(element: Element, around: tuple[Hashable, ...], builder: PassageBuilder) -> None:
    """Take the runs of a paragraph, also of those inside a link."""
    for child in element:
        name = local_name(child)
        if name == "r":
            _take_run(child, around, builder)
        elif name in _AROUND:
            _walk(child, (*around, id(child)) if name == "hyperlink" else around, builder)
        elif name and name not in _UNSEEN:
            builder.break_()


def _take_run(run: Element, around: tuple[Hashable, ...], builder: PassageBuilder) -> None:
    key = (_look(run), around)
    for child in run:
        name = local_name(child)
        if name == "t":
            builder.text(Slot(child), key)
        elif name and name not in _UNSEEN:
            builder.break_(is_line=name in ("br", "cr"))


def _look(run: Element) -> tuple[bytes, ...]:
    """Return what can be seen of the properties of a run."""
    properties = next((child for child in run if local_name(child) == "rPr"), ())
    return tuple(sorted(etree.tostring(one, with_tail=False) for one in properties if local_name(one) not in _NO_LOOK))
