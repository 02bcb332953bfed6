"""Texts of LibreOffice and others (.odt): paragraphs and headings are passages, also those of tables, notes and frames.

The program cuts a paragraph into spans wherever it was edited; spans whose style shows no difference are one segment.
Headers and footers are in the styles and are translated, too.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from heedful.documents.archives import read_archive
from heedful.documents.document import Document, DocumentError, Segments
from heedful.documents.xml_tree import Element, PassageBuilder, Slot, Texts, local_name, parse_xml, write_xml

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_UNSEEN = frozenset(
    [
        "bookmark",
        "bookmark-start",
        "bookmark-end",
        "soft-page-break",
        "change",
        "change-start",
        "change-end",
        "reference-mark-start",
        "reference-mark-end",
        "annotation-end",
    ]
)
_PARTS = ("content.xml", "styles.xml")


def read(data: bytes, _: str) -> Document:
    """Read a document."""
    archive = read_archive(data, "ODT")
    if "content.xml" not in archive.members:
        raise DocumentError("An ODT file must have a text, but has none: content.xml is missing.")
    trees = {name: parse_xml(archive.members[name], f"The part {name}") for name in _PARTS if name in archive.members}
    texts = Texts()
    for tree in trees.values():
        looks = _looks(tree)
        for element in tree.getroot().iter(f"{_TEXT}p", f"{_TEXT}h"):
            if any(local_name(above) == "tracked-changes" for above in element.iterancestors()):
                continue
            builder = PassageBuilder(is_collapsed=True)
            _walk(element, (), looks, builder)
            texts.add(builder)

    def write(translations: Sequence[Segments]) -> bytes:
        texts.put(translations)
        return archive.write({name: write_xml(tree) for name, tree in trees.items()})

    return Document(tuple(texts.passages), write)


def _walk(
    element: Element, key: tuple[Hashable, ...], looks: dict[str | None, Hashable], builder: PassageBuilder
) -> None:
    """Take the texts of a paragraph, and of the spans and links in it."""
    builder.text(Slot(element), key)
    for child in element:
        name = local_name(child)
        if name == "span":
            look = looks.get(child.get(f"{_TEXT}style-name"), child.get(f"{_TEXT}style-name"))
            _walk(child, (*key, look) if look else key, looks, builder)
        elif name in ("a", "meta"):
            _walk(child, (*key, id(child)) if name == "a" else key, looks, builder)
        elif name and name not in _UNSEEN:
            builder.break_(is_line=name == "line-break")
        builder.text(Slot(child, is_tail=True), key)


def _looks(tree: Any) -> dict[str | None, Hashable]:
    """Return for the automatic styles of text what can be seen of them: nothing of what only counts revisions."""
    looks: dict[str | None, Hashable] = {}
    for style in tree.getroot().iter(f"{_STYLE}style"):
        parent = style.getparent()
        if style.get(f"{_STYLE}family") != "text" or parent is None or local_name(parent) != "automatic-styles":
            continue
        properties = [
            (name, value)
            for child in style
            if isinstance(child.tag, str)
            for name, value in child.attrib.items()
            if not name.endswith(("}rsid", "}paragraph-rsid")) and "language" not in name and "country" not in name
        ]
        origin = style.get(f"{_STYLE}parent-style-name")
        looks[style.get(f"{_STYLE}name")] = (origin or "", *sorted(properties)) if properties or origin else ()
    return looks
