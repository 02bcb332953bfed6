"""Sentence ends in hand-written paragraphs of four languages: abbreviations, initials, numbers, quotations, lists."""

from pathlib import Path

import pytest
from benchmarks.sentence_ends import read_hard

from heedful.text.sentences import split_sentences

FOLDER = Path(__file__).parent / "sentence_ends"
PARAGRAPHS = [(path.stem, *one) for path in sorted(FOLDER.glob("*.txt")) for one in read_hard(path)]


@pytest.mark.parametrize(("language", "title", "sentences"), PARAGRAPHS)
def test_a_hard_paragraph_is_cut_where_a_reader_cuts_it(language: str, title: str, sentences: list[str]) -> None:
    text = ("" if language == "zh" else " ").join(sentences)
    assert [part.strip() for part in split_sentences(text)] == sentences, title


@pytest.mark.parametrize("language", ["en", "de", "fr", "zh"])
def test_there_are_enough_of_each_language(language: str) -> None:
    assert sum(len(sentences) for code, _, sentences in PARAGRAPHS if code == language) >= 60


@pytest.mark.parametrize(
    "text", ["I met Phil. He left.", "I said no. Then I left.", "Où il est. Je reste.", "Er ist da. Max kam."]
)
def test_words_that_look_like_abbreviations_end_sentences(text: str) -> None:
    assert len(split_sentences(text)) == 2
