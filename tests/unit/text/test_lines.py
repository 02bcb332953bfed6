"""Lines in and out, at the bytes where others go wrong."""

import io

import pytest

from heedful.errors import DataError
from heedful.text import lines
from heedful.text.lines import one_line, read_lines


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\r\r\n", ["a\r"]),
        ("a\u2028b\u0085c\x0bd\n".encode(), ["a\u2028b\u0085c\x0bd"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
    ],
)
def test_a_line_ends_at_a_newline_and_nowhere_else(data: bytes, expected: list[str]) -> None:
    reader = read_lines(io.BytesIO(data))
    assert list(reader) == expected
    assert (reader.num_lines, reader.num_bad) == (len(expected), 0)


def test_bytes_that_are_no_text_are_replaced_and_counted() -> None:
    reader = read_lines(io.BytesIO(b"good\n" + b"b\xffd\n" * 12))
    assert list(reader) == ["good", *["b\ufffdd"] * 12]
    assert (reader.num_lines, reader.num_bad, reader.bad_lines) == (13, 12, list(range(2, 12)))


def test_a_line_beyond_the_bound_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 8)
    assert list(read_lines(io.BytesIO(b"12345678\n12345678"))) == ["12345678", "12345678"]
    with pytest.raises(DataError) as caught:
        list(read_lines(io.BytesIO(b"1\n123456789"), "corpus.en"))
    assert str(caught.value) == (
        "corpus.en:2: a line must have at most 8 bytes, but has more. "
        "Check that the file is text with line ends, one sentence or document a line."
    )


def test_written_as_one_line_it_has_no_end_that_any_reader_sees() -> None:
    text = "a\nb\rc\x0bd\x0ce\x1cf\x1dg\x1eh\x85i\u2028j\u2029k\tl"
    assert one_line(text) == "a b c d e f g h i j k\tl"
    assert len(one_line(text).splitlines()) == 1
    assert one_line("plain 文") == "plain 文"
