"""Words and confidence of a translation, as the demonstration shows them."""

import math

import pytest

from heedful.demo.bundled import Word, confidence, words_of
from heedful.tasks.translation.translated import Alternative


def alternative(pieces: dict[str, float], finish_reason: str = "eos") -> Alternative:
    log_probs = tuple(math.log(probability) for probability in pieces.values())
    return Alternative("", 0.0, sum(log_probs), finish_reason, tuple(pieces), log_probs)


def shown(words: list[Word]) -> list[tuple[str, float, bool]]:
    return [(word.text, round(word.probability, 4), word.follows_space) for word in words]


def test_the_pieces_of_a_word_are_one_and_a_full_stop_is_its_own() -> None:
    found = words_of(alternative({"▁Regen": 0.5, "schirm": 0.8, "▁im": 0.9, ".": 0.7, "</s>": 0.1}))
    assert shown(found) == [("Regenschirm", 0.4, True), ("im", 0.9, True), (".", 0.7, False)]


def test_chinese_has_no_spaces_so_each_piece_is_shown() -> None:
    found = words_of(alternative({"▁": 0.9, "车站": 0.5, "在": 0.8, "Apple": 0.3, "吗": 0.6, "？": 0.7, "</s>": 1.0}))
    assert [word.text for word in found] == ["车站", "在", "Apple", "吗", "？"]


def test_an_output_that_was_cut_has_no_end_to_leave_out() -> None:
    assert shown(words_of(alternative({"▁a": 0.5, "▁b": 0.25}, "length"))) == [("a", 0.5, True), ("b", 0.25, True)]
    assert words_of(Alternative("", 0.0, 0.0, "eos", (), ())) == []


def test_confidence_is_the_geometric_mean() -> None:
    assert confidence(alternative({"▁a": 0.9, "</s>": 0.4})) == pytest.approx(0.6)
    assert confidence(Alternative("", 0.0, 0.0, "eos", (), ())) == 1.0
