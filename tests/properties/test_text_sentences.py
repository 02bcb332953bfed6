"""Long texts in parts: nothing lost, nothing too long."""

from hypothesis import given
from hypothesis import strategies as st

from heedful.text.sentences import split_sentences


@given(st.text(st.sampled_from("ab .!?。！\n”我…")), st.integers(1, 9))
def test_parts_join_to_the_text_and_fit(text: str, longest: int):
    parts = split_sentences(text, lambda part: len(part) <= longest)
    assert "".join(parts) == text == "".join(split_sentences(text))
    assert all(0 < len(part) <= longest for part in parts)


def test_a_long_text_without_a_space_takes_few_questions_a_part():
    asked = 0

    def fits(part: str) -> bool:
        nonlocal asked
        asked += 1
        return len(part) <= 100

    assert [len(part) for part in split_sentences("^" * 10_050, fits)] == [100] * 100 + [50]
    assert asked < 300


def test_sentences_end_where_a_reader_ends_them():
    assert split_sentences('He said "no." Then 3.5 m! 我来了。你呢？好') == [
        'He said "no." ',
        "Then 3.5 m! ",
        "我来了。",
        "你呢？",
        "好",
    ]
    assert split_sentences("One. Two. Three.", lambda part: len(part) <= 10) == ["One. Two. ", "Three."]
