"""Markdown: paragraphs, headings, items and cells are passages; code, addresses and all signs of the format stay.

Lines of a paragraph are one passage and are written in lines of the same width. Not looked into: front matter, fenced
and indented code, blocks of HTML, definitions of links.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from heedful.documents.document import Document, Marks, Passage, Segments, decode_text, join
from heedful.documents.safeguard import is_translatable
from heedful.documents.wrapping import rewrap, unwrap

_FENCE = re.compile(r"\s{0,3}(?:[>\s]*)(`{3,}|~{3,})")
_UNTOUCHED = re.compile(
    r"\s*$"  # blank
    r"|\s*\[[^\]]+\]:\s"  # the definition of a link
    r"|\s{0,3}(?:[-*_]\s*+){3,}+$|\s{0,3}=+\s*$|\s{0,3}-+\s*$"  # a rule, the underline of a heading
    r"|\s*+(?:\|\s*+)?:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+$"  # the line under a table's head
    r"|\s{0,3}</?[A-Za-z!]"  # HTML
)
_PREFIX = re.compile(
    r"(?:\s{0,3}>\s?)*\s*(?:#{1,6}\s+|(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?(?:\[\^[^\]]+\]:\s*)?"
)
_INDENTED = re.compile(r"(?: {4}|\t)")
_INLINE = re.compile(
    r"(`+)(?!`).*?(?<!`)\1(?!`)"  # code
    r"|!?\[(?=[^\[\]]*+\][(\[])"  # where a link begins
    r"|\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\]\[[^\]]*\]"  # and ends
    r"|\[\^[^\[\]]++\]"  # a footnote
    r"|<[A-Za-z/!][^<>]*>"  # an address or a tag
    r"|\*{1,3}|~~|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)"  # emphasis
    r"|\\[^\w\s]"
)
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_HARD_BREAK = ("  ", "\\")
_EMPHASIS = re.compile(r"\*{1,3}|~~|_{1,3}")


@dataclass(frozen=True)
class _Block:
    """Neighbouring lines that are one passage, or a cell of one."""

    first: str
    """What stands before its first line, such as "- "."""

    others: str
    """What stands before the other lines, such as spaces."""

    tokens: tuple[str, ...]
    width: int
    end: str
    """The line end; within a row of a table what follows the cell."""


def read(data: bytes, _: str) -> Document:
    """Read Markdown."""
    text, encoding = decode_text(data, "A Markdown file")
    lines = [(match[1], match[2]) for match in _LINE.finditer(text) if match[0]]
    parts: list[str | tuple[_Block, Passage]] = []
    for kind, numbers in _blocks([line for line, _ in lines]):
        own = [lines[number] for number in numbers]
        if kind == "row":
            parts += _row(*own[0])
        elif kind == "text":
            parts += _paragraph(own)
        else:
            parts += ["".join(line + end for line, end in own)]
    passages = tuple(part[1] for part in parts if not isinstance(part, str))

    def write(translations: Sequence[Segments]) -> bytes:
        rest = iter(translations)
        return "".join(part if isinstance(part, str) else _written(part[0], next(rest)) for part in parts).encode(
            encoding
        )

    return Document(passages, write)


def _blocks(lines: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Cut the lines into blocks: "text", "row" or "kept"."""
    blocks: list[tuple[str, list[int]]] = []
    fence: str | None = None
    is_matter = bool(lines) and lines[0].rstrip() in ("---", "+++")
    is_html, is_open = False, False
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if is_matter and number:
            blocks.append(("kept", [number]))
            is_matter = line.rstrip() not in ("---", "+++", "...")
        elif is_matter or fence is not None:
            blocks.append(("kept", [number]))
            if fence is not None and found and found[1].startswith(fence) and not line.strip("> \t`~"):
                fence = None
        elif found:
            fence, is_open = found[1], False
            blocks.append(("kept", [number]))
        elif is_html or _UNTOUCHED.match(line) or (_INDENTED.match(line) and _follows_blank(lines, number, blocks)):
            is_html = bool(line.strip()) and (is_html or bool(re.match(r"\s{0,3}</?[A-Za-z!]", line)))
            is_open = False
            blocks.append(("kept", [number]))
        elif line.strip().startswith("|") or (line.count("|") > 1 and not is_open):
            blocks.append(("row", [number]))
            is_open = False
        elif is_open and _goes_on(lines[number - 1], line):
            blocks[-1][1].append(number)
        else:
            blocks.append(("text", [number]))
            is_open = not line.lstrip().startswith("#")
    return blocks


def _follows_blank(lines: Sequence[str], number: int, blocks: Sequence[tuple[str, list[int]]]) -> bool:
    """Say whether an indented line is code: after a blank line or other code, and not inside a list."""
    if number and lines[number - 1].strip():
        return blocks[-1][0] == "kept" and bool(_INDENTED.match(lines[number - 1]))
    for kind, numbers in reversed(blocks):
        before = lines[numbers[0]]
        if kind == "text" or not before.strip():
            if before.strip():
                return not re.match(r"\s*(?:[-*+]|\d{1,9}[.)])\s", before) and not before.startswith(" ")
            continue
        return True
    return True


def _goes_on(before: str, line: str) -> bool:
    """Say whether a line goes on with the paragraph of the line before it."""
    prefix = _PREFIX.match(line)
    return not before.endswith(_HARD_BREAK) and (
        not prefix or not prefix[0].strip() or _is_same_quote(before, prefix[0])
    )


def _is_same_quote(before: str, prefix: str) -> bool:
    return set(prefix) <= {">", " "} and before.lstrip().startswith(">") and before.count(">") >= prefix.count(">")


def _paragraph(lines: Sequence[tuple[str, str]]) -> list[str | tuple[_Block, Passage]]:
    prefixes = [_prefix(line) for line, _ in lines]
    bodies = [line[len(prefix) :] for prefix, (line, _) in zip(prefixes, lines, strict=True)]
    last = bodies[-1]
    tail = last[len(last.rstrip()) :] + lines[-1][1]
    if last.rstrip().endswith("\\") and len(lines) >= 1 and lines[-1][1]:
        tail = "\\" + tail
        bodies[-1] = last.rstrip()[:-1]
    if prefixes[0].strip().startswith("#"):  # a heading may be closed by the same signs
        core = bodies[-1].rstrip().rstrip("#")
        if core.endswith((" ", "\t")):
            bodies[-1], tail = core.rstrip(), bodies[-1].rstrip()[len(core.rstrip()) :] + tail
    whole = unwrap(bodies) if len(bodies) > 1 else bodies[0].rstrip()
    tokens, passage = _passage(whole)
    if not is_translatable(passage.text):
        return ["".join(line + end for line, end in lines)]
    others = prefixes[1] if len(prefixes) > 1 else ""
    width = max(len(line) for line, _ in lines) if len(lines) > 1 else 0
    separator = lines[0][1] if len(lines) > 1 else ""
    return [(_Block(prefixes[0], separator + others, tokens, width, tail), passage)]


def _row(line: str, end: str) -> list[str | tuple[_Block, Passage]]:
    """Cut a row of a table into its cells."""
    parts: list[str | tuple[_Block, Passage]] = []
    for number, cell in enumerate(re.split(r"(?<!\\)\|", line)):
        tokens, passage = _passage(cell.strip())
        before = ("|" if number else "") + cell[: len(cell) - len(cell.lstrip())]
        after = cell[len(cell.rstrip()) :] if cell.strip() else ""
        parts.append(
            (_Block(before, "", tokens, 0, after), passage) if is_translatable(passage.text) else before + cell.lstrip()
        )
    return [*parts, end]


def _prefix(line: str) -> str:
    found = _PREFIX.match(line)
    return found[0] if found else ""


def _passage(text: str) -> tuple[tuple[str, ...], Passage]:
    """Make a passage of a text; the signs of the format in it come with it."""
    segments, tokens, marks, numbering, start = [], [], [], Marks(), 0
    open_signs: list[str] = []
    for match in _INLINE.finditer(text):
        token = match[0]
        segments.append(text[start : match.start()])
        tokens.append(token)
        start = match.end()
        if token in ("[", "![") or (_EMPHASIS.fullmatch(token) and token not in open_signs):
            open_signs.append(token)
            marks.append(numbering.opening())
        elif token.startswith("]") or token in open_signs:
            while open_signs and open_signs.pop() not in (token, "[", "!["):
                pass
            marks.append(numbering.closing())
        else:
            marks.append(numbering.single())
    return tuple(tokens), Passage((*segments, text[start:]), tuple(marks))


def _written(block: _Block, segments: Segments) -> str:
    whole = join([" ".join(segment.split("\n")) for segment in segments], block.tokens)
    if not block.width:
        return block.first + whole + block.end
    # Spaces inside code and addresses are no place to break a line at.
    tokens = [token.replace(" ", "\0") for token in block.tokens]
    whole = join([" ".join(segment.split("\n")) for segment in segments], tokens)
    lines = rewrap(whole, max(20, block.width - len(block.first)))
    return block.first + block.others.join(lines).replace("\0", " ") + block.end
