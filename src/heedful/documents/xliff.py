"""XLIFF 1.2 and 2.x: a unit without a target gets one; targets that are there stay, unless of another language.

The target is a copy of the source with other words, so that every inline element of it is there. What inline elements
hold of another format (`ph`, `bpt` and the like) is no text.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from heedful.documents.document import Document, DocumentError, Segments
from heedful.documents.xml_tree import (
    XML_LANG,
    Element,
    PassageBuilder,
    Slot,
    Texts,
    language_base,
    local_name,
    parse_xml,
    write_xml,
)

WITH_TEXT = frozenset({"g", "mrk", "pc", "hi", "sub"})
"""Inline elements whose content is text."""

_OPEN_STATES = frozenset({"new", "needs-translation", "initial"})


def read(data: bytes, target: str) -> Document:
    """Read a file of units."""
    tree = parse_xml(data, "An XLIFF file")
    root = tree.getroot()
    if local_name(root) != "xliff":
        raise DocumentError(f"An XLIFF file must begin with <xliff>, but begins with <{local_name(root)}>.")
    is_first = not root.get("version", "1.2").startswith("2")
    texts = Texts()
    for unit, source, old in _units(root, is_first, target):
        fresh = _target_like(source, old, target)
        if old is not None:
            unit.replace(old, fresh)
        else:
            before = next((child for child in unit if local_name(child) == "seg-source"), source)
            fresh.tail = before.tail
            unit.insert(unit.index(before) + 1, fresh)
        builder = PassageBuilder()
        take_inline(fresh, (), builder)
        texts.add(builder)
    for holder in [root] if not is_first else [one for one in root.iter() if local_name(one) == "file"]:
        holder.set("target-language" if is_first else "trgLang", target)

    def write(translations: Sequence[Segments]) -> bytes:
        texts.put(translations)
        return write_xml(tree)

    return Document(tuple(texts.passages), write)


def take_inline(element: Element, key: tuple[Any, ...], builder: PassageBuilder) -> None:
    """Take the texts of a source or target, and of the inline elements that hold text."""
    builder.text(Slot(element), key)
    for child in element:
        if local_name(child) in WITH_TEXT:
            take_inline(child, (*key, id(child)), builder)
        elif local_name(child):
            builder.break_()
        builder.text(Slot(child, is_tail=True), key)


def _units(root: Element, is_first: bool, target: str) -> Iterator[tuple[Element, Element, Element | None]]:
    """Give what has to be translated: the unit, its source, and the target it has."""
    for unit in [one for one in root.iter() if local_name(one) == ("trans-unit" if is_first else "segment")]:
        above = [unit, *unit.iterancestors()]
        if any(one.get("translate") == "no" for one in above if one is not None):
            continue
        holder = next((one for one in above if local_name(one) == "file"), root) if is_first else root
        old_language = holder.get("target-language" if is_first else "trgLang")
        is_of_target = old_language is None or language_base(old_language) == language_base(target)
        parts = {local_name(child): child for child in unit}
        source, old = parts.get("source"), parts.get("target")
        if source is None:
            continue
        state = (old.get("state") if old is not None and is_first else unit.get("state")) or ""
        is_filled = old is not None and bool("".join(old.itertext()).strip() or len(old))
        if is_filled and is_of_target and state not in _OPEN_STATES:
            continue
        yield unit, source, old


def _target_like(source: Element, old: Element | None, target: str) -> Element:
    fresh = copy.deepcopy(source)
    fresh.tag = source.tag[: -len("source")] + "target"
    if XML_LANG in fresh.attrib:
        fresh.set(XML_LANG, target)
    fresh.tail = old.tail if old is not None else None
    return fresh
