"""Subword dropout: choice 0 is the tokenizer's own cut, all choices spell the word, and everything follows the seed."""

import time

import numpy as np
import pytest

from heedful.config.data import TokenizerConfig
from heedful.text.learning import learn_tokenizer
from heedful.text.subword_dropout import NUM_CHOICES, SegmentationTable, build_table, draw_choices
from heedful.text.subwords import mark
from heedful.text.tokenizer import Tokenizer

LINES = ["the lower tower is newer", "lowest towers of the newest town", "we wander lower and lower"] * 3
WORDS = ["▁the", "▁lowest", "▁newtowns", "tower", "▁", "▁日本", "☃", "▁" + "lower" * 20]
CHOICES = np.arange(NUM_CHOICES + 1)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn_tokenizer(TokenizerConfig(vocab_size=330), LINES, [])


def cuts(table: SegmentationTable, word: int) -> list[list[int]]:
    return [table.segment(np.array([word]), np.array([choice])).tolist() for choice in CHOICES]


def spelled(tokenizer: Tokenizer, ids: list[int]) -> str:
    return tokenizer.source.decode([tokenizer.source.ids_of_pieces["▁"], *ids])


def test_choice_0_and_every_choice_at_rate_0_is_the_plain_cut(tokenizer: Tokenizer) -> None:
    table = build_table(tokenizer.source, WORDS, rate=0.0, seed=1)
    for number, plain in enumerate(tokenizer.source.encode_batch(WORDS)):
        assert cuts(table, number) == [plain] * (NUM_CHOICES + 1)
    dropping = build_table(tokenizer.source, WORDS, rate=0.7, seed=1)
    assert [cuts(dropping, number)[0] for number in range(len(WORDS))] == tokenizer.source.encode_batch(WORDS)


def test_every_cut_spells_the_word_and_words_are_cut_in_many_ways(tokenizer: Tokenizer) -> None:
    table = build_table(tokenizer.source, WORDS, rate=0.3, seed=1)
    for number, word in enumerate(WORDS):
        assert {spelled(tokenizer, ids) for ids in cuts(table, number)} == {word.replace("▁", " ")}
    assert len({tuple(ids) for ids in cuts(table, WORDS.index("▁lowest"))}) > 5


def test_symbols_come_first_and_are_never_cut(tokenizer: Tokenizer) -> None:
    table = build_table(tokenizer.source, ["▁the"], rate=0.9, seed=1, symbols=[2, 4])
    assert cuts(table, 0) == [[2]] * (NUM_CHOICES + 1)
    assert cuts(table, 1) == [[4]] * (NUM_CHOICES + 1)
    assert cuts(table, 2)[0] == tokenizer.source.encode_batch(["▁the"])[0]


def test_a_table_is_a_function_of_its_seed(tokenizer: Tokenizer) -> None:
    tables = [build_table(tokenizer.source, WORDS, rate=0.3, seed=seed).segments for seed in (1, 1, 2)]
    assert np.array_equal(tables[0].values, tables[1].values)
    assert not np.array_equal(tables[0].values, tables[2].values)


def test_a_merge_is_passed_over_as_often_as_the_rate_says() -> None:
    """A vocabulary with a single merge: how often it is left undone is the rate itself."""
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=300), ["ab ab"], [])
    words = [f"{'x' * number}ab" for number in range(100)]
    table = build_table(tokenizer.source, words, rate=0.25, seed=3)
    merge = tokenizer.source.ids_of_pieces["ab"]
    drawn = np.array([[merge in ids for ids in cuts(table, number)[1:]] for number in range(len(words))])
    assert drawn.mean() == pytest.approx(0.75, abs=0.03)


def test_drawn_choices_are_even_and_differ_by_seed_epoch_stream_and_position() -> None:
    positions = np.arange(100_000)
    drawn = draw_choices(positions, seed=1, epoch=0)
    counts = np.bincount(drawn, minlength=NUM_CHOICES + 1)
    assert counts[0] == 0
    assert counts[1:].min() > 0.9 * len(positions) / NUM_CHOICES
    assert np.array_equal(draw_choices(positions[500:600], seed=1, epoch=0), drawn[500:600])
    for other in ({"seed": 2, "epoch": 0}, {"seed": 1, "epoch": 1}, {"seed": 1, "epoch": 0, "stream": 1}):
        same = (draw_choices(positions, **other) == drawn).mean()
        assert same == pytest.approx(1 / NUM_CHOICES, abs=0.005)


def test_thousands_of_words_are_cut_in_seconds(tokenizer: Tokenizer) -> None:
    words = [f"▁{'towern'[number % 6]}{number:b}lower".replace("0", "ne").replace("1", "we") for number in range(3000)]
    start = time.process_time()
    table = build_table(tokenizer.source, words, rate=0.1, seed=1)
    assert len(table.segments) == len(words) * (NUM_CHOICES + 1)
    assert time.process_time() - start < 10


def test_marked_text_is_the_join_of_its_words(tokenizer: Tokenizer) -> None:
    text = mark("lowest  town, 25 towns。日本 ▁")
    assert "".join(tokenizer.source.words(text)) == text
