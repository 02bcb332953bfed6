"""Traditional and simplified characters: with OpenCC for training text, without it for what users type."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.config.data import TokenizerConfig, TsvCorpus
from heedful.data.readers import read_pairs
from heedful.errors import UserError
from heedful.text import chinese
from heedful.text.chinese import CharacterTable, learn_character_table, simplify
from heedful.text.learning import learn_tokenizer
from heedful.text.normalization import Nfc, normalize, normalize_aligned
from heedful.text.tokenizer import Tokenizer

TRADITIONAL = "這裡有兩個學生，妳看著他們。"
SIMPLIFIED = "这里有两个学生，你看着他们。"

_TABLE = learn_character_table()
_CHINESE_TEXT = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF) | st.sampled_from("著名作，a "))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    config = TokenizerConfig(vocab_size=420, normalization="nfc")
    return learn_tokenizer(config, ["two students"] * 3, [SIMPLIFIED] * 3, simplify_chinese=True)


@pytest.fixture
def without_opencc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    chinese._converter.cache_clear()


def test_training_text_is_simplified_word_by_word() -> None:
    assert simplify(TRADITIONAL) == SIMPLIFIED
    assert simplify(SIMPLIFIED) == SIMPLIFIED
    assert simplify("乾淨的乾坤") == "干净的乾坤"
    assert simplify("Ein großes Haus, s'il vous plaît!") == "Ein großes Haus, s'il vous plaît!"


def test_a_word_about_writing_or_fame_keeps_its_character() -> None:
    assert simplify("她是一個著名的歌手。") == "她是一个著名的歌手。"
    assert simplify("兩者之間有顯著的差別。") == "两者之间有显著的差别。"
    assert simplify("她穿著舞鞋，睡著了。") == "她穿着舞鞋，睡着了。"


@given(text=_CHINESE_TEXT)
def test_the_table_keeps_places_and_changes_nothing_twice(text: str) -> None:
    once = _TABLE.replace(text)
    assert len(once) == len(text)
    assert _TABLE.replace(once) == once
    assert set(once).isdisjoint(_TABLE.traditional)


def test_a_table_with_unequal_sides_is_refused() -> None:
    with pytest.raises(UserError, match=r"as many simplified characters as traditional ones, but has 1 and 2\.$"):
        CharacterTable("萬與", "万")


def test_a_tokenizer_reads_traditional_characters_without_opencc(tokenizer: Tokenizer, without_opencc: None) -> None:
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.normalize(TRADITIONAL) == SIMPLIFIED
    assert again.encode_source(TRADITIONAL) == tokenizer.encode_source(SIMPLIFIED)
    assert not set(again.encode_source(TRADITIONAL)) & set(again.source.byte_ids)
    assert again.decode_target(again.encode_target(TRADITIONAL)) == SIMPLIFIED


def test_offsets_point_at_the_traditional_characters(tokenizer: Tokenizer) -> None:
    aligned = normalize_aligned(f"  {TRADITIONAL}", tokenizer.normalization)
    assert aligned.text == SIMPLIFIED
    assert aligned.spans == [(place, place + 1) for place in range(2, len(TRADITIONAL) + 2)]


def test_a_corpus_is_read_in_simplified_characters(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"Two students.\t{TRADITIONAL}\n\t\n", encoding="utf-8")
    pairs = list(read_pairs(TsvCorpus(kind="tsv", path=str(path), simplify_chinese=True)))
    assert [(pair.source, pair.target, pair.line) for pair in pairs] == [("Two students.", SIMPLIFIED, 1), ("", "", 2)]
    (untouched, _) = read_pairs(TsvCorpus(kind="tsv", path=str(path)))
    assert untouched.target == TRADITIONAL


def test_a_missing_opencc_is_said_with_the_remedy(tmp_path: Path, without_opencc: None) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"x\t{TRADITIONAL}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"Install it with: pip install 'heedful\[chinese\]'$"):
        list(read_pairs(TsvCorpus(kind="tsv", path=str(path), simplify_chinese=True)))


def test_nfc_keeps_chinese_punctuation_and_folds_letters_and_digits() -> None:
    assert normalize("你好，Ａｂ９！　真的？。", Nfc()) == "你好，Ab9！ 真的？。"
    assert normalize("  e\u0301\u00a0ﬁ… ", Nfc()) == "é ﬁ…"
    assert normalize("ｅ\u0301", Nfc()) == "é"
