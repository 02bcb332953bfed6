"""JSON catalogues of messages: every value that is a text is a passage; keys, order and layout stay.

What begins with "@" describes messages (as in ARB files) and is left alone, and so are values that are no words: codes,
paths, colours.
"""

import json
import re
from collections.abc import Iterator, Sequence

from heedful.documents.document import Document, DocumentError, Passage, Segments, decode_text
from heedful.documents.safeguard import is_translatable

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]')
_CODE = re.compile(r"\S*[/_\\#@:=<>]\S*|[a-z]+[A-Z]\w*|[\w-]+(?:\.[\w-]+)+|[a-z]{2}-[A-Z]{2}")


def read(data: bytes, target: str) -> Document:
    """Read a catalogue."""
    text, encoding = decode_text(data, "A JSON catalogue")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DocumentError(f"A JSON catalogue must be JSON, but is not{place}.") from None
    if not isinstance(content, dict | list):
        raise DocumentError("A JSON catalogue must be an object or a list of messages, but is a single value.")
    is_escaped = text.isascii() and "\\u" in text
    found = list(_values(text, target))

    def write(translations: Sequence[Segments]) -> bytes:
        rest = iter(translations)
        written, position = [], 0
        for start, end, value, is_fixed in found:
            fresh = value if is_fixed else next(rest)[0]
            written += [text[position:start], json.dumps(fresh, ensure_ascii=is_escaped)]
            position = end
        return "".join([*written, text[position:]]).encode(encoding, "replace")

    return Document(tuple(Passage((value,)) for _, _, value, is_fixed in found if not is_fixed), write)


def _values(text: str, target: str) -> Iterator[tuple[int, int, str, bool]]:
    """Find the texts to be replaced in valid JSON: start, end, the text, and whether that is what it becomes."""
    tokens = list(_TOKEN.finditer(text))
    hidden: list[bool] = []  # for each object or list one is in, whether it describes messages
    key = ""
    for number, token in enumerate(tokens):
        sign = token[0]
        if sign in "{[":
            hidden.append(key.startswith("@") or (bool(hidden) and hidden[-1]))
            key = "" if sign == "{" else key
        elif sign in "}]":
            hidden.pop()
            key = ""
        elif sign[0] == '"':
            value = json.loads(sign, strict=False)
            if number + 1 < len(tokens) and tokens[number + 1][0] == ":":
                key = value
            elif key == "@@locale":
                yield token.start(), token.end(), target, True
            elif not hidden[-1] and not key.startswith("@") and _has_words(value):
                yield token.start(), token.end(), value, False


def _has_words(value: str) -> bool:
    return is_translatable(value) and not _CODE.fullmatch(value) and not _has_half_character(value)


def _has_half_character(value: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in value)
