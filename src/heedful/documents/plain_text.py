"""Plain text: a line is a passage; lines that were broken to a width are one, and are broken again.

Blank lines, indentation and line ends stay as they are.
"""

import re
from collections.abc import Sequence

from heedful.documents.document import Document, Passage, Segments, decode_text
from heedful.documents.wrapping import is_wrapped, rewrap, unwrap

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


def read(data: bytes, _: str) -> Document:
    """Read text."""
    text, encoding = decode_text(data, "A text file")
    lines = [match.groups() for match in _LINE.finditer(text)]
    groups = _paragraphs([line for line, _ in lines])

    def write(translations: Sequence[Segments]) -> bytes:
        written = []
        for numbers, (translation,) in zip(groups, translations, strict=True):
            whole = [lines[number][0] for number in numbers]
            ends = [lines[number][1] for number in numbers]
            if len(numbers) == 1:
                written.append(translation + ends[0])
                continue
            indent = whole[0][: len(whole[0]) - len(whole[0].lstrip())]
            width = max(map(len, whole)) - len(indent)
            fresh = [indent + line for line in rewrap(translation.strip(), width)]
            written.append(ends[0].join(fresh) + ends[-1])
        return "".join(written).encode(encoding)

    return Document(tuple(Passage((_whole(lines, numbers),)) for numbers in groups), write)


def _whole(lines: Sequence[tuple[str, ...]], numbers: Sequence[int]) -> str:
    return lines[numbers[0]][0] if len(numbers) == 1 else unwrap([lines[number][0] for number in numbers])


def _paragraphs(lines: Sequence[str]) -> list[list[int]]:
    """Group the numbers of lines: those of a wrapped paragraph together, every other line alone."""
    groups: list[list[int]] = []
    block: list[int] = []
    for number, line in enumerate([*lines, ""]):
        is_like = not block or _indent(line) == _indent(lines[block[0]])
        if line.strip() and is_like and number < len(lines):
            block.append(number)
            continue
        is_one = is_wrapped([lines[one].strip() for one in block]) if len(block) > 1 else False
        groups += [block] if is_one else [[one] for one in block]
        block = []
        if number < len(lines):
            if line.strip():
                block = [number]
            else:
                groups.append([number])
    return groups


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
