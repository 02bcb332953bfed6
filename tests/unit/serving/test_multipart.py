"""Forms with files: read as they were sent, byte by byte, and refused in a sentence where they are none."""

import contextlib
import random

import pytest

from heedful.serving.bodies import BadRequestError, fields_of
from heedful.serving.multipart import UploadedFile

KIND = 'multipart/form-data; boundary="x-y"'


def form(*fields: tuple[str, bytes]) -> bytes:
    return (
        b"".join(b"--x-y\r\n" + head.encode() + b"\r\n\r\n" + body + b"\r\n" for head, body in fields) + b"--x-y--\r\n"
    )


def test_texts_and_files_come_as_they_were_sent() -> None:
    content = bytes(range(256)) + b"\r\n--x-\r\n\r\n--x"
    body = form(
        ('Content-Disposition: form-data; name="target"', "dé".encode()),
        ('Content-Disposition: form-data; name="file"; filename="a b.txt"\r\nContent-Type: text/plain', content),
        ('Content-Disposition: form-data; name="q"', b"one"),
        ('Content-Disposition: form-data; name="q"', b"two\r\nlines"),
    )
    assert fields_of(body, KIND) == {
        "target": "dé",
        "file": UploadedFile("a b.txt", content),
        "q": ["one", "two\r\nlines"],
    }


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", KIND),
        (b"--x-y--", KIND),
        (b"--x-y\r\nno head", KIND),
        (form(("Content-Disposition: form-data", b"x")), KIND),
        (form(('Content-Disposition: attachment; name="a"', b"x")), KIND),
        (form(('Content-Disposition: form-data; name="a"', b"\xff")), KIND),
        (form(('Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64', b"x")), KIND),
        (form(('Content-Disposition: form-data; name="a"', b"x"))[:-10], KIND),
        (form(*[('Content-Disposition: form-data; name="a"', b"x")] * 400), KIND),
        (form(), "multipart/form-data"),
        (form(), "multipart/form-data; boundary=" + "x" * 100),
    ],
)
def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(BadRequestError, match=r"^The form must .*\.$"):
        fields_of(body, kind)


def test_a_damaged_form_is_read_or_refused() -> None:
    chance = random.Random(3)
    whole = form(('Content-Disposition: form-data; name="file"; filename="a.txt"', b"hello\r\n"))
    for _ in range(2_000):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        with contextlib.suppress(BadRequestError):
            fields_of(bytes(body), KIND)
