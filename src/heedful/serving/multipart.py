"""Forms with files in them (multipart/form-data, RFC 7578), read from a body that is whole and bounded already.

The body is cut at its boundary, and each head is read by one expression that never goes back: the time is linear in the
body, whatever it says. The parser of mails in the standard library takes half a minute for a megabyte of semicolons,
and Starlette's needs another package. Knows no fields by name.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

_MOST_PARTS = 300
_LONGEST_HEAD = 2_048
_LONGEST_BOUNDARY = 70
_LONGEST_TYPE = 512
_PARAMETER = re.compile(r';[ \t]*([\w-]+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^";\s]*))[ \t]*')
_ESCAPED = re.compile(r"\\(.)")
_PLAIN = ("binary", "8bit", "7bit")


class MultipartError(ValueError):
    """A body that is no such form; the message goes on after "The form …"."""


@dataclass(frozen=True)
class UploadedFile:
    """A file as a client sends it; nothing of its name is trusted."""

    name: str
    content: bytes


def parse_multipart(body: bytes, content_type: str) -> list[tuple[str, str | UploadedFile]]:
    """Return the fields of a form in order: texts, and files."""
    boundary = ""
    if len(content_type) <= _LONGEST_TYPE:
        boundary = _parameters(content_type.strip()).get("boundary", "")
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii():
        raise MultipartError("must name its boundary")
    delimiter = b"\r\n--" + boundary.encode("ascii")
    _, *parts = (b"\r\n" + body).split(delimiter, _MOST_PARTS + 1)
    if not parts or not parts[-1].startswith(b"--"):
        raise MultipartError(f"must end with its boundary, after at most {_MOST_PARTS} fields")
    return [_field(part) for part in parts[:-1]]


def _field(part: bytes) -> tuple[str, str | UploadedFile]:
    head, blank, content = part.partition(b"\r\n\r\n")
    if not blank or len(head) > _LONGEST_HEAD:
        raise MultipartError(f"must have a head of at most {_LONGEST_HEAD:,} bytes and a blank line in every field")
    try:
        headers = _headers(head.decode("utf-8"))
        disposition = headers.get("content-disposition", "")
        about = _parameters(disposition)
        if disposition.partition(";")[0].strip().lower() != "form-data" or "name" not in about:
            raise MultipartError("must name every field")
        if headers.get("content-transfer-encoding", "binary").lower() not in _PLAIN:
            raise MultipartError("must have its fields as they are, without an encoding")
        if "filename*" in about:
            encoded = about["filename*"].rpartition("'")[2]
            return about["name"], UploadedFile(unquote(encoded, errors="strict"), content)
        if "filename" in about:
            return about["name"], UploadedFile(about["filename"], content)
        return about["name"], content.decode("utf-8")
    except UnicodeDecodeError:
        raise MultipartError("must be in UTF-8") from None


def _headers(head: str) -> dict[str, str]:
    """Read the lines of a head; the first is what stands behind the boundary, which says nothing."""
    lines = (line.partition(":") for line in head.split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in lines}


def _parameters(header: str) -> dict[str, str]:
    """Read what stands behind the first semicolon of a header; none where anything of it is not as it must be."""
    found: dict[str, str] = {}
    at = len(header.partition(";")[0])
    while at < len(header):
        match = _PARAMETER.match(header, at)
        if match is None or match[1].lower() in found:
            return {}
        found[match[1].lower()] = match[3] if match[2] is None else _ESCAPED.sub(r"\1", match[2])
        at = match.end()
    return found
