"""Multipart forms: what clients send is read; anything else is refused, in time linear in its size."""

import contextlib
import time

import pytest

from heedful.serving.multipart import MultipartError, UploadedFile, parse_multipart

KIND = "multipart/form-data; boundary=x"


def form(*heads: bytes, content: bytes = b"v") -> bytes:
    return b"".join(b"--x\r\n" + head + b"\r\n\r\n" + content + b"\r\n" for head in heads) + b"--x--\r\n"


def named(rest: bytes) -> bytes:
    return b"Content-Disposition: form-data; " + rest


def test_fields_and_files_are_read_as_clients_write_them() -> None:
    body = form(
        named(b'name="q"'),
        b"content-type: text/plain; charset=utf-8\r\ncontent-disposition:form-data;name=target",
        named('name="file"; filename="Grüße \\"a\\".txt"\r\nContent-Type: text/plain'.encode()),
        named(b"name=\"file\"; filename*=utf-8''Gr%C3%BC%C3%9Fe.txt"),
        content="ü\r\n-- \r\nx".encode(),
    )
    text = "ü\r\n-- \r\nx"
    assert parse_multipart(body, 'Multipart/Form-Data; charset=utf-8; Boundary="x"') == [
        ("q", text),
        ("target", text),
        ("file", UploadedFile('Grüße "a".txt', text.encode())),
        ("file", UploadedFile("Grüße.txt", text.encode())),
    ]
    assert parse_multipart(b"--x--", KIND) == []


@pytest.mark.parametrize(
    ("body", "kind", "problem"),
    [
        (form(named(b"name=q")), "multipart/form-data", "boundary"),
        (form(named(b"name=q")), "multipart/form-data; boundary=", "boundary"),
        (form(named(b"name=q")), "multipart/form-data; boundary=" + "x" * 71, "boundary"),
        (form(named(b"name=q")), KIND + ";" * 60_000, "boundary"),
        (form(named(b"name=q")), KIND + "; boundary=y", "boundary"),
        (b"", KIND, "must end with its boundary"),
        (form(named(b"name=q"))[:-6], KIND, "must end with its boundary"),
        (form(*[named(b"name=q")] * 301), KIND, "at most 300 fields"),
        (b"--x\r\nno head--x--", KIND, "must end with its boundary"),
        (form(b"no colon"), KIND, "must name every field"),
        (form(named(b"")), KIND, "must name every field"),
        (form(named(b'name="q')), KIND, "must name every field"),
        (form(named(b"name=q; name=r")), KIND, "must name every field"),
        (form(b"Content-Disposition: attachment; name=q"), KIND, "must name every field"),
        (form(named(b'name="' + b"a" * 2_048 + b'"')), KIND, "must have a head of at most 2,048 bytes"),
        (form(b"A: b\r\n" * 100_000 + named(b"name=q")), KIND, "must have a head of at most 2,048 bytes"),
        (form(named(b"name=q"), content=b"\xff"), KIND, "must be in UTF-8"),
        (form(named(b"name=\xff")), KIND, "must be in UTF-8"),
        (form(named(b"name=q; filename*=utf-8''%ff")), KIND, "must be in UTF-8"),
        (form(named(b"name=q\r\nContent-Transfer-Encoding: base64")), KIND, "without an encoding"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_such_form_is_refused(body: bytes, kind: str, problem: str) -> None:
    with pytest.raises(MultipartError, match=problem):
        parse_multipart(body, kind)


def test_a_form_in_a_form_is_text() -> None:
    inner = form(named(b"name=q")).replace(b"--x", b"--y")
    body = form(named(b"name=q\r\nContent-Type: multipart/mixed; boundary=y"), content=inner)
    assert parse_multipart(body, KIND) == [("q", inner.decode())]


@pytest.mark.parametrize(
    "head",
    [
        named(b'name="a;' + b";" * 1_900 + b'"'),
        named(b"name=a" + b"; " * 900),
        named(b"; ".join(b"name*%d=a" % number for number in range(130))),
        named(b'name="' + b"\\" * 1_900 + b'"'),
        named(b'name="' + b'\\"' * 950),
        b"A:b\r\n" * 350 + named(b"name=a"),
        b"\r\n".join([b" " * 60] * 30),
        b":" * 2_000,
    ],
    ids=["quoted semicolons", "semicolons", "continued", "backslashes", "no end", "lines", "folded", "colons"],
)
def test_the_time_of_reading_is_linear(head: bytes) -> None:
    body = form(*[head] * 300)
    started = time.process_time()
    with contextlib.suppress(MultipartError):
        parse_multipart(body, KIND)
    assert time.process_time() - started < 0.5
