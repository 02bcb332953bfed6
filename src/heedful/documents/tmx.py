"""Translation memories (.tmx): a unit that has no variant in the target language gets one, beside those it has."""

import copy
from collections.abc import Sequence

from heedful.documents.document import Document, DocumentError, Segments
from heedful.documents.xliff import take_inline
from heedful.documents.xml_tree import (
    XML_LANG,
    Element,
    PassageBuilder,
    Texts,
    language_base,
    local_name,
    parse_xml,
    write_xml,
)


def read(data: bytes, target: str) -> Document:
    """Read a memory."""
    tree = parse_xml(data, "A TMX file")
    root = tree.getroot()
    if local_name(root) != "tmx":
        raise DocumentError(f"A TMX file must begin with <tmx>, but begins with <{local_name(root)}>.")
    header = next((child for child in root if local_name(child) == "header"), None)
    source_language = language_base(header.get("srclang") if header is not None else None)
    texts = Texts()
    for unit in [one for one in root.iter() if local_name(one) == "tu"]:
        variants = [child for child in unit if local_name(child) == "tuv"]
        if not variants or any(_language(variant) == language_base(target) for variant in variants):
            continue
        source = next((one for one in variants if _language(one) == source_language), variants[0])
        fresh = copy.deepcopy(source)
        fresh.attrib.pop("lang", None)
        fresh.set(XML_LANG, target)
        fresh.tail, variants[-1].tail = variants[-1].tail, unit.text
        unit.insert(unit.index(variants[-1]) + 1, fresh)
        for segment in (child for child in fresh if local_name(child) == "seg"):
            builder = PassageBuilder()
            take_inline(segment, (), builder)
            texts.add(builder)

    def write(translations: Sequence[Segments]) -> bytes:
        texts.put(translations)
        return write_xml(tree)

    return Document(tuple(texts.passages), write)


def _language(variant: Element) -> str:
    return language_base(variant.get(XML_LANG) or variant.get("lang"))
