"""Forms with files in them (multipart/form-data, RFC 7578), read from a body that is whole and bounded already.

The body is cut at its boundary and nothing else is interpreted, so the time is linear in it. Knows no fields by name.
"""

from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser

_MOST_PARTS = 300
_LONGEST_HEAD = 8_192
_LONGEST_BOUNDARY = 70


class MultipartError(ValueError):
    """A body that is no such form; the message goes on after "The form …"."""


@dataclass(frozen=True)
class UploadedFile:
    """A file as a client sends it; nothing of its name is trusted."""

    name: str
    content: bytes


def parse_multipart(body: bytes, content_type: str) -> list[tuple[str, str | UploadedFile]]:
    """Return the fields of a form in order: texts, and files."""
    header = Message()
    header["content-type"] = content_type
    given = header.get_param("boundary")
    boundary = given if isinstance(given, str) else ""
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii():
        raise MultipartError("must name its boundary")
    delimiter = b"\r\n--" + boundary.encode("ascii")
    _, *parts = (b"\r\n" + body).split(delimiter, _MOST_PARTS + 2)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise MultipartError(f"must end with its boundary, after at most {_MOST_PARTS} fields")
    return [_field(part) for part in parts[:-1]]


def _field(part: bytes) -> tuple[str, str | UploadedFile]:
    head, blank, content = part.lstrip(b" \t").partition(b"\r\n\r\n")
    if not blank or not head.startswith(b"\r\n") or len(head) > _LONGEST_HEAD:
        raise MultipartError("must have a head and a blank line in every field")
    try:
        about = HeaderParser().parsestr(head[2:].decode("utf-8"))
        name = about.get_param("name", header="content-disposition")
        file_name = about.get_filename()
        if about.get_content_disposition() != "form-data" or not isinstance(name, str):
            raise MultipartError("must name every field")
        if about.get("content-transfer-encoding", "binary").lower() not in ("binary", "8bit", "7bit"):
            raise MultipartError("must have its fields as they are, without an encoding")
        return name, content.decode("utf-8") if file_name is None else UploadedFile(file_name, content)
    except UnicodeDecodeError:
        raise MultipartError("must be in UTF-8") from None
