"""The token store: holds what the tokenizer gives, is built once, and is another for another corpus."""

import json
from pathlib import Path

import numpy as np
import pytest

from heedful.config.data import DataConfig, FilterConfig, TokenizerConfig
from heedful.data import store_building
from heedful.data.readers import LINES_AT_ONCE
from heedful.data.store import SubwordDropout, TokenStore, prepare_store
from heedful.errors import DataError, UserError
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer
from tests.support.small_corpus import ENGLISH, GERMAN, WriteCorpus

SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qi", "ro", "su", "ta", "ve"]


def test_a_store_holds_every_pair_in_order(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    store = prepare_store(data, tokenizer, cache=tmp_path)
    assert len(store) == len(ENGLISH)
    assert [store.source(i).tolist() for i in range(len(store))] == tokenizer.encode_source_batch(ENGLISH)
    assert [store.target(i).tolist() for i in range(len(store))] == tokenizer.encode_target_batch(GERMAN)
    assert store.source_lengths.tolist() == [len(ids) for ids in tokenizer.encode_source_batch(ENGLISH)]
    assert store.report.sentence() == "27 training pairs of 27."


def test_corpora_that_are_written_in_several_pieces(
    write_corpus: WriteCorpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """More pairs, and more words, than one record batch takes."""
    sources = [f"the {SYLLABLES[i % 13]}{SYLLABLES[i % 11]}{SYLLABLES[i % 17]} {i}" for i in range(8500)]
    targets = [line[::-1] for line in sources]
    corpus = write_corpus("large", sources, targets)
    data = DataConfig(train=[corpus], validation=[corpus])
    store = prepare_store(data, tokenizer, dropout=SubwordDropout(0.1, 1), cache=tmp_path)
    everything = np.arange(len(store))
    for side, words, expected in (
        (store.sources, store.source_words, tokenizer.encode_source_batch(sources)),
        (store.targets, store.target_words, tokenizer.encode_target_batch(targets)),
    ):
        values = np.concatenate(expected)
        assert side.lengths.tolist() == [len(ids) for ids in expected]
        assert np.array_equal(side.gather(everything)[0], values)
        flat = words.words.gather(everything)[0]
        assert np.array_equal(words.table.segment(flat, np.zeros(len(flat), dtype=np.int64)), values)
    assert len(store.source_words.table.segments) > store_building.SEGMENTS_AT_ONCE
    assert len(store) > LINES_AT_ONCE


def test_a_store_is_built_once(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    said: list[str] = []
    first = prepare_store(data, tokenizer, cache=tmp_path, say=said.append)
    second = prepare_store(data, tokenizer, cache=tmp_path, say=said.append)
    assert said == ["Tokenising the training corpora."]
    assert first.folder == second.folder
    assert [path.name for path in tmp_path.glob("tokens-*")] == [first.folder.name]


def test_whatever_changes_the_tokens_makes_another_store(
    data: DataConfig, tokenizer: Tokenizer, tmp_path: Path, write_corpus: WriteCorpus
) -> None:
    def folder(changed: DataConfig, tokenizer: Tokenizer = tokenizer, dropout: SubwordDropout | None = None) -> Path:
        return prepare_store(changed, tokenizer, cache=tmp_path, dropout=dropout).folder

    before = folder(data)
    moved = write_corpus("moved", ENGLISH, GERMAN, weight=3.0)
    assert folder(data.model_copy(update={"train": [moved]})) == before
    other = learn_tokenizer(TokenizerConfig(vocab_size=320), ENGLISH, GERMAN)
    folders = {
        before,
        folder(data.model_copy(update={"filters": FilterConfig(max_tokens=63)})),
        folder(data, other),
        folder(data, dropout=SubwordDropout(0.1, 1)),
        folder(data, dropout=SubwordDropout(0.1, 2)),
        folder(data.model_copy(update={"train": [write_corpus("other", [*ENGLISH[:-1], "x"], GERMAN)]})),
        folder(data.model_copy(update={"train": [write_corpus("moved", ENGLISH, GERMAN, simplify_chinese=True)]})),
    }
    assert len(folders) == 7


def test_a_damaged_store_is_built_anew(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = prepare_store(data, tokenizer, cache=tmp_path).folder
    for harm in ("truncated", "missing", "unreadable"):
        if harm == "truncated":
            (folder / "pairs.arrow").write_bytes((folder / "pairs.arrow").read_bytes()[:-1])
        elif harm == "missing":
            (folder / "pairs.arrow").unlink()
        else:
            (folder / "store.json").write_text("{")
        said: list[str] = []
        store = prepare_store(data, tokenizer, cache=tmp_path, say=said.append)
        assert said == [f"The token store {folder} is damaged and is built anew.", "Tokenising the training corpora."]
        assert len(store) == len(ENGLISH)


def test_what_is_left_out_is_counted_by_corpus(write_corpus: WriteCorpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    first = write_corpus("first", ["a", "", "b " * 80, "c"], ["a", "x", "b", "c"])
    second = write_corpus("second", ["a", "d"], ["a", "d"])
    data = DataConfig(
        train=[first, second], validation=[first], filters=FilterConfig(max_tokens=20, drop_duplicates=True)
    )
    store = prepare_store(data, tokenizer, cache=tmp_path)
    assert store.corpus_ids.tolist() == [0, 0, 1]
    assert [report.sentence() for report in store.reports] == [
        "2 training pairs of 4; left out: 1 with an empty side, 1 too long.",
        "1 training pair of 2; left out: 1 seen before.",
    ]
    assert store.report.num_kept == 3


def test_each_corpus_has_the_tag_of_its_language(write_corpus: WriteCorpus, tmp_path: Path) -> None:
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=340), ENGLISH, GERMAN, ["de", "fr"])
    train = [write_corpus("one", ["a"], ["b"], target_language="fr"), write_corpus("two", ["a"], ["b"])]
    data = DataConfig(train=train, validation=train, target_language="de")
    store = prepare_store(data, tokenizer, cache=tmp_path, dropout=SubwordDropout(0.0, 1))
    assert store.source(0).tolist() == tokenizer.encode_source("a", "fr")
    assert store.source(1).tolist() == tokenizer.encode_source("a", "de")
    words, table = store.source_words.words, store.source_words.table
    assert table.segment(words[0], np.ones(len(words[0]), dtype=np.int64)).tolist() == tokenizer.encode_source(
        "a", "fr"
    )
    assert table.segment(words[1], np.zeros(len(words[1]), dtype=np.int64)).tolist() == tokenizer.encode_source(
        "a", "de"
    )


def test_a_corpus_with_nothing_usable_is_refused(
    write_corpus: WriteCorpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    corpus = write_corpus("blank", ["", " "], ["", "x"])
    with pytest.raises(DataError) as refusal:
        prepare_store(DataConfig(train=[corpus], validation=[corpus]), tokenizer, cache=tmp_path)
    assert str(refusal.value) == (
        f"The training corpora must have a usable pair, but {corpus.source} and {corpus.target} have none: "
        "0 training pairs of 2; left out: 2 with an empty side."
    )


def test_a_fault_of_the_corpus_leaves_nothing_in_the_cache(
    write_corpus: WriteCorpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    corpus = write_corpus("uneven", ["a", "b"], ["a"])
    with pytest.raises(DataError, match="must have equally many lines"):
        prepare_store(DataConfig(train=[corpus], validation=[corpus]), tokenizer, cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_dropout_without_merges_is_refused(data: DataConfig, tmp_path: Path) -> None:
    tokenizer = learn_tokenizer(TokenizerConfig(kind="unigram", vocab_size=340), ENGLISH, GERMAN)
    with pytest.raises(UserError, match=r"^`tokenizer.dropout` must be 0 for a tokenizer without merges"):
        prepare_store(data, tokenizer, dropout=SubwordDropout(0.1, 1), cache=tmp_path)


def test_values_are_mapped_not_loaded(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    store = TokenStore(prepare_store(data, tokenizer, cache=tmp_path).folder)
    assert not store.sources.values.flags.owndata
    assert store.sources.values.nbytes == (store.folder / "pairs.arrow").stat().st_size // 4 * 4
    assert json.loads((store.folder / "store.json").read_bytes())["has_words"] is False
