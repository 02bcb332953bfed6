"""XML as a tree whose texts can be replaced: read so that nothing outside it is touched, and cut into passages.

Entities are not resolved, no DTD is loaded, nothing comes from the network, and a file that defines entities of its own
is refused. Formatting is told by a key: neighbouring texts of one key are one segment, whose translation goes into the
first of them and leaves the others empty, so that every element stays where it is.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from heedful.documents.document import LINE_BREAK, DocumentError, Marks, Passage, Segments
from heedful.documents.safeguard import is_translatable

Element = Any
"""An element of lxml, which has no types."""

XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_xml(data: bytes, name: str) -> Any:
    """Read XML; `name` is for the sentence that says what is wrong with it."""
    if _ENTITY.search(data.replace(b"\0", b"")):
        raise DocumentError(f"{name} must define no entities, but does. Such files can be made to do harm.")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        strip_cdata=False,
    )
    try:
        return etree.fromstring(data, parser).getroottree()
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        line = getattr(error, "lineno", None)
        place = f", in line {line:,}" if line else ""
        raise DocumentError(f"{name} must be well-formed XML, but is not{place}.") from None


def write_xml(tree: Any) -> bytes:
    """Write a tree in the encoding it came in."""
    about = tree.docinfo
    declared: bytes = etree.tostring(
        tree, xml_declaration=True, encoding=about.encoding or "UTF-8", standalone=about.standalone
    )
    return declared


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace; nothing for a comment or an instruction."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def language_base(code: str | None) -> str:
    """Return the language of a code such as "en-US"."""
    return re.split("[-_]", (code or "").lower())[0]


@dataclass
class Slot:
    """A place in a tree where text stands: inside an element, or after it."""

    element: Element
    is_tail: bool = False

    @property
    def text(self) -> str:
        """What stands there."""
        return (self.element.tail if self.is_tail else self.element.text) or ""

    def put(self, text: str) -> None:
        """Let other text stand there; what XML cannot hold is left out."""
        text = _NO_XML.sub("", text)
        if self.is_tail:
            self.element.tail = text
        else:
            self.element.text = text


@dataclass
class Texts:
    """Collects the passages of trees, in order, and puts their translations in."""

    passages: list[Passage] = field(default_factory=list)
    _slots: list[list[list[Slot]]] = field(default_factory=list)
    """For each passage, for each segment."""

    def add(self, builder: "PassageBuilder") -> None:
        """Take a passage, if there are words in it."""
        if builder.groups and is_translatable("".join(slot.text for group in builder.groups for slot in group.slots)):
            self.passages.append(builder.passage())
            self._slots.append([group.slots for group in builder.groups])

    def put(self, translations: Sequence[Segments]) -> None:
        """Replace all texts by their translations."""
        for groups, segments in zip(self._slots, translations, strict=True):
            for slots, segment in zip(groups, segments, strict=True):
                slots[0].put(segment)
                for slot in slots[1:]:
                    slot.put("")


@dataclass
class _Group:
    """Neighbouring slots of one formatting."""

    key: Hashable
    slots: list[Slot]
    breaks: list[bool]
    """Things that stand alone between this group and the one before: for each whether it is the end of a line."""


@dataclass
class PassageBuilder:
    """Makes one passage of texts and of what stands between them."""

    groups: list[_Group] = field(default_factory=list)
    is_collapsed: bool = False
    """Whether any white space is one space, as in HTML."""

    _breaks: list[bool] = field(default_factory=list)

    def text(self, slot: Slot, key: Hashable) -> None:
        """Take a text of a formatting."""
        if not slot.text:
            return
        is_blank = slot.text.isspace()
        if is_blank and not self.groups:
            return
        if self.groups and not self._breaks and (is_blank or self.groups[-1].key == key):
            self.groups[-1].slots.append(slot)
        else:
            self.groups.append(_Group(key, [slot], self._breaks))
        self._breaks = []

    def break_(self, *, is_line: bool = False) -> None:
        """Take something that stands alone: the end of a line, a picture."""
        if self.groups:
            self._breaks.append(is_line)

    def passage(self) -> Passage:
        """Return the passage; the formatting it begins and ends with, or that of most characters, needs no marks."""
        sizes: dict[Hashable, int] = {}
        segments = [self._read(group.slots) for group in self.groups]
        for group, segment in zip(self.groups, segments, strict=True):
            sizes[group.key] = sizes.get(group.key, 0) + len(segment)
        first, last = self.groups[0].key, self.groups[-1].key
        base = first if first == last else max(sizes, key=lambda key: sizes[key])
        numbering, marks, current = Marks(), [], self.groups[0].key
        for group in self.groups[1:]:
            is_changed = group.key != current
            mark = numbering.closing() if is_changed and current != base else ""
            mark += "".join(LINE_BREAK if is_line else numbering.single() for is_line in group.breaks)
            mark += numbering.opening() if is_changed and group.key != base else ""
            marks.append(mark)
            current = group.key
        return Passage(tuple(segments), tuple(marks))

    def _read(self, slots: Sequence[Slot]) -> str:
        raw = "".join(slot.text for slot in slots)
        if not self.is_collapsed:
            return raw
        words = " ".join(raw.split())
        return (" " if raw[:1].isspace() else "") + words + (" " if words and raw[-1:].isspace() else "")
