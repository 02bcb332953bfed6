"""Tokenizers: any text comes back, special symbols come from nobody's text, time grows with length and no faster."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.config.data import TokenizerConfig
from heedful.errors import UserError
from heedful.text.encoded_words import EncodedWords, Joined
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer

_ENGLISH = ["a man rides a red bike", "two men ride bikes", "</s> is a tag </s> and <pad> too", "the 25 men"] * 4
_GERMAN = ["ein Mann fährt ein rotes Rad", "zwei Männer fahren Rad", "</s> ist ein Zeichen", "die 25 Männer"] * 4

_CONFIGS = [
    TokenizerConfig(kind=kind, normalization=normalization, shared=shared, vocab_size=420)
    for kind in ("bpe", "unigram")
    for normalization in ("nfkc", "nfkc_casefold", "nfc", "none")
    for shared in (True, False)
]


def _learn(config: TokenizerConfig) -> Tokenizer:
    simplify_chinese = config.normalization == "nfc" and config.shared
    return learn_tokenizer(config, _ENGLISH, _GERMAN, ["de", "fr"], simplify_chinese=simplify_chinese)


_TOKENIZERS = [_learn(config) for config in _CONFIGS]
_ANY_TEXT = st.text(st.characters()) | st.text(
    st.sampled_from("a ▁<>/s0xmM\u0308\u2028\ud800\U0010ffff\ufb01\uff21我們著名\t")
)

tokenizers = pytest.mark.parametrize("tokenizer", _TOKENIZERS)


@tokenizers
@given(text=_ANY_TEXT)
def test_decoding_gives_back_what_encoding_saw(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode_target(tokenizer.encode_target(text)) == tokenizer.normalize(text)
    assert tokenizer.decode_source(tokenizer.encode_source(text, "de")) == tokenizer.normalize(text)


@tokenizers
@given(text=_ANY_TEXT | st.sampled_from(["</s>", "<pad>", "<s>", "<unk>", "<2de>", "<0x41>", "▁"]))
def test_text_never_becomes_a_special_symbol(tokenizer: Tokenizer, text: str) -> None:
    reserved = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id}
    tag, *source, end = tokenizer.encode_source(text, "fr")
    assert (tag, end) == (tokenizer.language_ids["fr"], tokenizer.eos_id)
    assert not {*source} & (reserved | {*tokenizer.language_ids.values()})
    assert not {*tokenizer.encode_target(text)[:-1]} & reserved


@tokenizers
@given(text=_ANY_TEXT)
def test_a_trace_has_the_ids_and_places_of_the_pieces(tokenizer: Tokenizer, text: str) -> None:
    trace = tokenizer.trace_target(text)
    assert [*trace.ids, tokenizer.eos_id] == tokenizer.encode_target(text)
    assert all(0 <= start <= end <= len(text) for start, end in trace.offsets)
    assert [start for start, _ in trace.offsets] == sorted(start for start, _ in trace.offsets)


@tokenizers
def test_a_vocabulary_has_each_name_once_and_survives_its_json(tokenizer: Tokenizer) -> None:
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.fingerprint == tokenizer.fingerprint
    assert len(set(tokenizer.source.vocabulary)) == tokenizer.source_vocab_size
    assert again.encode_source("ein Mann </s>", "de") == tokenizer.encode_source("ein Mann </s>", "de")


@pytest.mark.parametrize("index", range(len(_CONFIGS)))
def test_the_same_text_gives_the_same_tokenizer(index: int) -> None:
    again = _learn(_CONFIGS[index])
    assert again.fingerprint == _TOKENIZERS[index].fingerprint


@pytest.mark.parametrize("tokenizer", [_TOKENIZERS[0], _TOKENIZERS[-1]])
@pytest.mark.parametrize("character", ["^", "m"])
def test_a_megabyte_of_one_character_takes_linear_time(tokenizer: Tokenizer, character: str) -> None:
    def seconds(length: int) -> float:
        start = time.process_time()
        assert tokenizer.decode_target(tokenizer.encode_target(character * length)) == character * length
        return time.process_time() - start

    # The shortest of three: others on the machine can only add. Ten times the length took fifteen times as long, where
    # quadratic time would take a hundred.
    short, long = (min(seconds(length) for _ in range(3)) for length in (100_000, 1_000_000))
    assert long < 30 * short + 0.5


def test_what_is_no_tokenizer_is_refused_with_a_sentence() -> None:
    for text in ["", "[]", "{}", '{"format": "heedful-tokenizer", "version": 2}', '{"format": "heedful-tokenizer"}']:
        with pytest.raises(UserError, match=r"^The tokenizer .*\.$"):
            Tokenizer.from_json(text)
    with pytest.raises(UserError, match=r'must be one of de, fr, but is "dee"\. Did you mean "de"\?'):
        _TOKENIZERS[0].encode_source("a", "dee")


_MANY_WORDS = st.lists(_ANY_TEXT | st.sampled_from(["bikes,", "Männer.", "x)", "25.", "men.,", " ", "  "])).map(
    " ".join
)


@tokenizers
@given(texts=st.lists(_MANY_WORDS | _ANY_TEXT, max_size=4))
def test_words_by_themselves_have_the_ids_of_the_whole(tokenizer: Tokenizer, texts: list[str]) -> None:
    sources, targets = EncodedWords(tokenizer, tokenizer.source), EncodedWords(tokenizer, tokenizer.target)
    for _ in range(2):  # found, and then remembered
        assert _rows(sources.encode(texts, tokenizer.tag_of("fr"))) == tokenizer.encode_source_batch(
            texts, ["fr"] * len(texts)
        )
        assert _rows(targets.encode(texts)) == tokenizer.encode_target_batch(texts)


def _rows(joined: Joined) -> list[list[int]]:
    values, lengths = joined
    return [row.tolist() for row in np.split(values, np.cumsum(lengths)[:-1])] if len(lengths) else []
