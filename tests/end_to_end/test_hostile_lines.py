"""Text that breaks other tools: the count and the order of lines are kept, and nothing crashes."""

import random
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from heedful import load
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import read_lines
from tests.support.commands import Command
from tests.support.small_run import SmallRun

PIECES = [
    "\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e", "\r", "\ufeff", "\x00", "\x7f", "\t", "\u200b",
    "\u00a0",
    "😀", "👩‍👩‍👧", "🇩🇪", "e\u0301", "ﬁ", "中文", "العربية", "\u202e", "\U0010ffff", "\ud7ff", "▁", "\ue000",
    "</s>", "<s>", "<pad>", "<unk>", "<0x0A>", "<2de>", "[MASK]", "\\n", "%s", "{}", "ten houses", " ", "",
]  # fmt: skip
ENDINGS = [b"\n", b"\n", b"\n", b"\r\n"]


def hostile_file(draw: random.Random) -> bytes:
    """Make a file of a few hostile lines; some have no final newline, some a mark, some bytes that are no UTF-8."""
    lines = []
    for _ in range(draw.randint(0, 4)):
        line = "".join(draw.choices(PIECES, k=draw.randint(0, 4))).encode()
        if draw.random() < 0.1:
            line += bytes(byte for byte in draw.randbytes(3) if byte != 0x0A)
        lines.append(line + draw.choice(ENDINGS))
    content = b"".join(lines)
    if draw.random() < 0.3:
        content = content.removesuffix(b"\n")
    return b"\xef\xbb\xbf" + content if draw.random() < 0.1 else content


def num_lines_of(content: bytes) -> int:
    """Count lines as `wc -l` does, and one more for text after the last newline."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    return content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


@pytest.fixture(scope="module")
def translator(small_run: SmallRun) -> Translator:
    return load(small_run.run, device="cpu", quantize="none")


def short(translator: Translator) -> Translator:
    """The same model with a low cap: what is said does not matter here, only that lines stay lines."""
    decoding = translator.decoding.model_copy(update={"extra_tokens": 0, "beam_size": 1})
    return replace(translator, decoding=decoding)


def test_ten_thousand_files_keep_the_count_and_the_order_of_their_lines(translator: Translator) -> None:
    draw = random.Random(20_260)
    files = [hostile_file(draw) for _ in range(10_000)]
    lines_of = [list(read_lines(BytesIO(content))) for content in files]
    for content, lines in zip(files, lines_of, strict=True):
        assert len(lines) == num_lines_of(content), content
    lines = [line for lines in lines_of for line in lines]
    outputs = [found.text for found in short(translator).translate_lines(lines, TranslationRequest())]
    assert len(outputs) == len(lines)
    assert all(output == "" for line, output in zip(lines, outputs, strict=True) if not line.strip())
    assert not any(output.splitlines()[1:] for output in outputs)
    known: dict[str, str] = {}
    for line, output in zip(lines, outputs, strict=True):
        assert known.setdefault(line, output) == output  # the same line anywhere gives the same answer: order is kept


def test_hostile_lines_through_stdin_of_the_real_process(heedful: Command, small_run: SmallRun) -> None:
    draw = random.Random(20_261)
    content = b"".join(line + b"\n" for _ in range(60) for line in hostile_file(draw).split(b"\n"))
    content += b"".join(piece.encode() + b"\n" for piece in PIECES)
    result = heedful("translate", "-m", small_run.run, "--beam", "1", stdin=content)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.count(b"\n") == content.count(b"\n")
    outputs = result.stdout.decode().split("\n")[:-1]
    assert not any(len(output.splitlines()) > 1 for output in outputs)
    assert "Traceback" not in result.stderr.decode()
    assert "not valid UTF-8" in result.stderr.decode()


@pytest.mark.parametrize("seed", range(3))
def test_hostile_files_through_the_real_process(
    heedful: Command, small_run: SmallRun, tmp_path: Path, seed: int
) -> None:
    """Three hundred files in few processes, end to end, each closed by a newline where it has none."""
    draw = random.Random(seed)
    files = [hostile_file(draw).removeprefix(b"\xef\xbb\xbf") for _ in range(100)]
    path = tmp_path / "in.txt"
    path.write_bytes(
        b"".join(content + (b"" if content.endswith(b"\n") or not content else b"\n") for content in files)
    )
    result = heedful("translate", "-m", small_run.run, "--beam", "1", stdin=path.read_bytes())
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.count(b"\n") == sum(num_lines_of(content) for content in files)


def test_a_megabyte_in_one_line_is_one_line(translator: Translator) -> None:
    quick = short(translator)
    text = "ten houses " * 80_000 + "^" * 120_000
    assert len(text) == 1_000_000
    [long, after] = quick.translate_lines([text, "ten houses"], TranslationRequest())
    assert len(long.text.splitlines()) == 1
    assert any("was translated in" in str(warning) for warning in long.warnings)
    assert after.text == quick.translate("ten houses")
