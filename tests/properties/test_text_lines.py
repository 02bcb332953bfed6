"""Lines: whatever the bytes, what goes in as line i comes out as line i."""

import io
import random

from hypothesis import given
from hypothesis import strategies as st

from heedful.data.line_blocks import LineBlocks, lines_of
from heedful.text.lines import one_line, read_lines

_HOSTILE = [
    "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\x00", "\ufeff", "🏳️‍🌈",
    "</s>", "<pad>", "▁", "\u202e", "a", " ", "我",
]  # fmt: skip


def test_ten_thousand_hostile_files_keep_count_and_order() -> None:
    random_source = random.Random(7)
    for number in range(10_000):
        lines = ["".join(random_source.choices(_HOSTILE, k=random_source.randrange(6))) for _ in range(number % 7)]
        ending = random_source.choice(["\n", "\r\n"])
        content = ending.join(lines) + (ending if number % 2 and lines else "")
        mark = b"\xef\xbb\xbf" if number % 3 == 0 else b""
        # A file that does not end its last, empty line does not have it; a mark inside the text is text.
        expected = [line.removesuffix("\r") for line in content.split("\n")]
        if expected[-1] == "" and not content.endswith("\r"):
            expected.pop()
        if not mark and expected:
            expected[0] = expected[0].removeprefix("\ufeff")
            if not expected[0] and content == "\ufeff":
                expected = []
        assert list(read_lines(io.BytesIO(mark + content.encode()))) == expected


@given(st.lists(st.binary().map(lambda raw: raw.replace(b"\n", b"")), max_size=8))
def test_any_bytes_keep_the_number_of_lines(lines: list[bytes]) -> None:
    reader = read_lines(io.BytesIO(b"".join(line + b"\n" for line in lines)))
    assert len(list(reader)) == reader.num_lines == len(lines)


def test_lines_that_are_not_utf8_are_counted_with_their_numbers() -> None:
    reader = read_lines(io.BytesIO(b"good\n\xff\nx\xe4y\n"))
    assert list(reader) == ["good", "\ufffd", "x\ufffdy"]
    assert (reader.num_bad, reader.bad_lines) == (2, [2, 3])


@given(st.text())
def test_one_line_is_one_line_for_every_reader(text: str) -> None:
    safe = one_line(text)
    assert len(safe) == len(text)
    assert len(safe.splitlines()) <= 1


@given(
    st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"\xef\xbb\xbf", "\u2028".encode(), b"\xff", b"\xe6"])),
    st.integers(1, 4),
    st.sampled_from([None, 1, 5]),
)
def test_blocks_of_lines_have_the_same_lines(parts: list[bytes], most_lines: int, most_bytes: int | None) -> None:
    content = b"".join(parts)
    reader, blocks = read_lines(io.BytesIO(content)), LineBlocks(io.BytesIO(content), "name")
    expected, found, bad = list(reader), list[str](), list[int]()
    while block := blocks.take(most_lines, most_bytes):
        lines, bad_here = lines_of(block, "name", len(found) + 1)
        assert len(lines) <= most_lines
        found += lines
        bad += bad_here
        assert blocks.num_lines == len(found)
    assert found == expected
    assert (len(bad), bad[:10]) == (reader.num_bad, reader.bad_lines)
