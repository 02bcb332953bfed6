r"""Subtitles, SubRip (.srt) and WebVTT (.vtt): a cue is a passage; its number, times and settings stay.

A sentence that is broken over the lines of a cue is translated whole and broken again; lines that begin with a dash are
of different speakers and stay apart. Tags (`<i>`, `<v Ann>`, `{\an8}`) stay where they stand.
"""

import re
from collections.abc import Sequence

from heedful.documents.document import Document, DocumentError, Marks, Passage, Segments, decode_text, join
from heedful.documents.wrapping import break_into, unwrap

_TIMES = re.compile(r"\s*(?:\d+:)?\d{1,2}:\d\d[,.]\d{1,3}\s*-->\s*(?:\d+:)?\d{1,2}:\d\d[,.]\d{1,3}")
_TAG = re.compile(r"<(/?)[A-Za-z\d][^<>]*>|\{\\[^{}]*\}")
_CLOSING = re.compile(r"(?:\s*</[^<>]*>)+")
_OPENING = re.compile(r"(?:<[A-Za-z][^<>]*>\s*)+\Z")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_SPEAKERS = ("-", "–", "—", "－")


def read(data: bytes, _: str) -> Document:
    """Read subtitles of either kind."""
    text, encoding = decode_text(data, "A subtitle file")
    lines = [(match[1], match[2]) for match in _LINE.finditer(text) if match[0]]
    groups = [part for group in _cues([line for line, _ in lines]) for part in _speakers(lines, group)]
    if not groups and not any(_TIMES.match(line) for line, _ in lines):
        raise DocumentError(
            'A subtitle file must have cues with times ("00:00:01,000 --> 00:00:02,500"), but has none.'
        )
    made = [_passage([lines[number][0] for number in group]) for group in groups]

    def write(translations: Sequence[Segments]) -> bytes:
        fresh = {number: line for number, (line, _) in enumerate(lines)}
        for group, (tags, _), segments in zip(groups, made, translations, strict=True):
            # Spaces inside a tag are no place to break a line at.
            whole = join([" ".join(segment.splitlines()) for segment in segments], [t.replace(" ", "\0") for t in tags])
            broken = [line.replace("\0", " ") for line in _with_their_tags(break_into(whole, len(group)))]
            # A cue ends at a blank line: what is left over is the last line's, and none stays empty.
            for number, line in zip(group, broken, strict=False):
                fresh[number] = line.replace("-->", "→")
            for number in group[len(broken) :]:
                fresh[number] = ""
        dropped = {number for group in groups for number in group if not fresh[number].strip()}
        kept = [fresh[number] + end for number, (_, end) in enumerate(lines) if number not in dropped]
        return "".join(kept).encode(encoding)

    return Document(tuple(passage for _, passage in made), write)


def _with_their_tags(lines: Sequence[str]) -> list[str]:
    """Put tags back to the words that a break parted them from: closing ones behind, opening ones before."""
    settled = list(lines[:1])
    for line in lines[1:]:
        closing = _CLOSING.match(line)
        if closing is not None:
            settled[-1] = settled[-1].rstrip() + closing[0].replace(" ", "")
            line = line[closing.end() :].lstrip()
        opening = _OPENING.search(settled[-1])
        if opening is not None:
            settled[-1] = settled[-1][: opening.start()].rstrip()
            line = opening[0].replace(" ", "") + line
        settled.append(line)
    return [line for line in settled if line]


def _cues(lines: Sequence[str]) -> list[list[int]]:
    """Group the numbers of the lines that are text of one cue."""
    groups: list[list[int]] = []
    is_inside = False
    for number, line in enumerate(lines):
        if _TIMES.match(line):
            is_inside = True
            groups.append([])
        elif not line.strip():
            is_inside = False
        elif is_inside:
            groups[-1].append(number)
    return [group for group in groups if group]


def _speakers(lines: Sequence[tuple[str, str]], group: list[int]) -> list[list[int]]:
    """Cut the lines of a cue where another speaker begins."""
    parts: list[list[int]] = []
    for number in group:
        if not parts or lines[number][0].lstrip().startswith(_SPEAKERS):
            parts.append([])
        parts[-1].append(number)
    return parts


def _passage(lines: Sequence[str]) -> tuple[list[str], Passage]:
    """Make a passage of the lines of a cue; the tags in it come with it."""
    whole = unwrap(lines)
    segments, tags, marks, numbering, start = [], [], [], Marks(), 0
    for match in _TAG.finditer(whole):
        segments.append(whole[start : match.start()])
        tags.append(match[0])
        is_closing, is_opening = match[1] == "/", match[0][0] == "<" and not match[0][1].isdigit()
        marks.append(numbering.closing() if is_closing else numbering.opening() if is_opening else numbering.single())
        start = match.end()
    return tags, Passage((*segments, whole[start:]), tuple(marks))
