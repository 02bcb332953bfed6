"""Learning a table of language detection anew, and keeping it in a file."""

import random
from pathlib import Path

import numpy as np
from benchmarks.language_learning import learn_ngram_table
from benchmarks.language_texts import mix, without_names

from heedful.text.ngram_table import read_table, write_table


def test_learning_finds_what_tells_two_languages_apart(tmp_path: Path) -> None:
    """Two made-up languages that differ in their vowels alone."""
    generator = np.random.default_rng(1)

    def write(vowels: str) -> str:
        words = (
            "".join(generator.choice(list("ktpm")) + generator.choice(list(vowels)) for _ in range(3)) for _ in "abc"
        )
        return " ".join(words)

    texts = {"xa": [write("aio") for _ in range(200)], "xe": [write("eio") for _ in range(200)]}
    table = learn_ngram_table(texts, num_ngrams=50)
    assert len(table.rows) == 50
    assert table.weights[table.rows["a"]].tolist()[0] > 0 > table.weights[table.rows["a"]].tolist()[1]
    assert table.weights[table.rows["e"]].tolist()[0] < 0 < table.weights[table.rows["e"]].tolist()[1]
    assert np.argmax(table.scores(["kata"])) == 0
    assert np.argmax(table.scores(["kete", "mipo"])) == 1

    first, again = tmp_path / "first.npz", tmp_path / "again.npz"
    write_table(first, table)
    write_table(again, learn_ngram_table(texts, num_ngrams=50))
    assert first.read_bytes() == again.read_bytes()
    kept = read_table(first)
    assert (kept.languages, kept.rows) == (table.languages, table.rows)
    assert np.array_equal(kept.weights, table.weights)
    assert np.array_equal(kept.bias, table.bias)


def test_names_of_many_languages_are_no_examples_of_any() -> None:
    texts = {
        "en": ["So Tom has a dog.", "Then Monday comes."],
        "es": ["Y Tom come."],
        "it": ["Poi Tom mangia."],
        "pl": ["Kto to? Tom!"],
    }
    assert without_names(texts) == {
        "en": ["So has a dog.", "Then Monday comes."],
        "es": ["Y come."],
        "it": ["Poi mangia."],
        "pl": ["Kto to?"],
    }


def test_a_small_kind_of_text_gives_all_it_has() -> None:
    kinds = {"many": [f"m{number}" for number in range(100)], "few": ["f0", "f1"]}
    chosen = mix(kinds, 12, random.Random(0))
    assert sorted(chosen)[:2] == ["f0", "f1"]
    assert len(set(chosen)) == 12
