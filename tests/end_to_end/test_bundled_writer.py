"""The language model that ships with the package: whole, small, at home in English, and honest about itself."""

from pathlib import Path

import pytest

from heedful.files import verify_manifest
from heedful.insight.text_trace import trace_text
from heedful.storage.locate import bundled_folder
from heedful.tasks.language_modeling.model import TextModel, load_text_model
from tests.support.commands import Command

ROOT = Path(__file__).parents[2]
CARD = (ROOT / "docs" / "bundled-writer.md").read_text(encoding="utf-8")
PARAGRAPH = b"""The town lies on the southern bank of the river, about two hours from the capital. In the middle of the
nineteenth century a railway was built, and many people moved there to work in the new factories. Today most of them are
closed, and the old buildings are used as schools and museums. Every summer there is a music festival in the park."""
"""Written for this test: nobody has learned from it."""


@pytest.fixture(scope="module")
def writer() -> TextModel:
    return load_text_model(device="cpu")


def test_it_is_small_and_whole() -> None:
    folder = bundled_folder("language_modeling")
    assert folder is not None
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 4_000_000
    verify_manifest(folder)


def test_it_expects_english(writer: TextModel) -> None:
    expected = writer.score(PARAGRAPH).bits_per_byte
    assert expected < 1.75
    shuffled = b" ".join(sorted(PARAGRAPH.split()))
    assert writer.score(shuffled).bits_per_byte > expected + 0.5, "order is half of it"


def test_it_goes_on_with_words_and_sentences(writer: TextModel) -> None:
    known = {word for word in PARAGRAPH.lower().decode().replace(",", "").replace(".", "").split() if len(word) <= 4}
    text = b"".join(writer.generate("In the year", max_tokens=200, temperature=0.7, seed=3)).decode()
    words = text.lower().replace(",", "").replace(".", "").split()
    assert len(words) > 80
    assert text.count(".") >= 3
    assert sum(word in known for word in words) > 0.15 * len(words), text


def test_what_it_read_and_what_it_expects_are_shown_with_their_spaces(writer: TextModel) -> None:
    text = "The city was founded in the north.\nIt is old, too."
    whole = trace_text(writer, text)
    assert "".join(whole.read) == "\n" + text
    assert "".join(trace_text(writer, text, num_read=5).read) == "".join(whole.read[-5:])
    after_a_word = [choice.text for choice in trace_text(writer, "The city was").expected[-1]]
    assert " the" in after_a_word
    after_a_line = [choice.text for choice in trace_text(writer, "The city was old.\n").expected[-1]]
    assert "The" in after_a_line


def test_the_command_writes_at_once_and_the_same_with_a_seed(heedful: Command, tmp_path: Path) -> None:
    first, again = (heedful("generate", "The old man", "--seed", "7", cwd=tmp_path) for _ in range(2))
    assert first.returncode == 0, first.stderr.decode()
    assert first.stderr == b""
    assert first.stdout == again.stdout
    assert len(first.stdout) > 300


@pytest.mark.parametrize("prompt", ["", " ", "🎬 好", "\n\n", "x" * 5000])
def test_any_beginning_is_written_on(prompt: str, heedful: Command, tmp_path: Path) -> None:
    result = heedful("generate", "-", "--seed", "1", "--max-tokens", "20", stdin=prompt.encode(), cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    result.stdout.decode()  # no half characters


def test_its_card_says_what_it_is() -> None:
    folder = bundled_folder("language_modeling")
    assert folder is not None
    assert (folder / "README.md").read_text(encoding="utf-8") == CARD, "export it again with --card"
    for named in ("Wikipedia", "CC BY-SA", "bits per byte", "configs/bundled_writer.toml", "What it is not good for"):
        assert named in CARD
