"""Sentence ends and long texts in parts: nothing lost, nothing too long, in a time that grows with the text alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.sentences import split_sentences, split_to_fit


@given(st.text(st.sampled_from("ab .!?。！\n”我…,1M")), st.integers(1, 9))
def test_parts_join_to_the_text_and_fit(text: str, longest: int) -> None:
    parts = split_to_fit(text, lambda part: len(part) <= longest)
    assert "".join(parts) == text == "".join(split_sentences(text))
    assert all(0 < len(part) <= longest for part in parts)


def test_a_long_text_without_a_space_takes_few_questions_a_part() -> None:
    asked = 0

    def fits(part: str) -> bool:
        nonlocal asked
        asked += 1
        return len(part) <= 100

    assert [len(part) for part in split_to_fit("^" * 10_050, fits)] == [100] * 100 + [50]
    assert asked < 320


@pytest.mark.parametrize(
    "sentences",
    [
        ['He said "no." ', "Then 3.5 m! ", "我来了。", "你呢？", "好"],
        [
            "Mr. Smith met Dr. J. R. R. Tolkien at 5 p.m. ",
            "They talked. ",
            "See No. 5. ",
            "I said no. ",
            "Then I left.",
        ],
        ["Am 3. Mai war ich z. B. in Berlin. ", "Im 19. Jahrhundert nicht. ", "Ich bin 12. ", "Du bist 13."],
        ["1. Buy milk. ", "Then go home.\n", "2. Sleep."],
        ["« Non ! » dit-il. ", "M. Dupont est là. ", "Où est-il ? ", "Je ne sais pas."],
        ["„Ja.“ ", "Er ging. ", "„Wirklich?“ fragte sie. ", "Dann kam er."],
        ["hello. ", "how are you? ", "fine. ", "thanks"],
        ["Wait... what? ", "No… it is fine. ", "“Really?” he asked. ", "He left (alone.) ", "Then"],
        ["你好!", "你呢?", "我很好；你呢。"],
        ["The U.S. Army came. ", "See Fig. 3. ", "It cost 3.50 EUR. ", "Visit example.com. ", "It is good."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(sentences: list[str]) -> None:
    assert split_sentences("".join(sentences)) == sentences


def test_a_sentence_too_long_is_cut_after_its_clauses() -> None:
    assert split_to_fit("One. Two. Three.", lambda part: len(part) <= 10) == ["One. Two. ", "Three."]
    assert split_to_fit("first a, then b, then c", lambda part: len(part) <= 17) == ["first a, then b, ", "then c"]


@pytest.mark.parametrize(
    "unit", [".", "!?", '."', ". ", "1. ", "J. ", "a", "ha ", "。", "！”", "…", " »", ", ", " ", "我!", "\n1. "]
)
def test_the_time_grows_with_the_text_and_no_faster(unit: str) -> None:
    def seconds(num_characters: int) -> float:
        text = (unit * num_characters)[:num_characters]
        started = time.process_time()
        split_to_fit(text, lambda part: len(part) <= 256)
        return time.process_time() - started

    short, long = (min(seconds(length) for _ in range(3)) for length in (10_000, 80_000))
    assert long < 30 * max(short, 0.001), "quadratic would be 64 times"
