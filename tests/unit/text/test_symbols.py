"""Texts as symbols: whatever the text, it comes back, also while it is still being written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config.data import TokenizerConfig
from heedful.errors import UserError
from heedful.text.learning import learn_tokenizer
from heedful.text.symbols import ByteSymbols, SubwordSymbols, decode, symbols_from_json

LINES = ["the old whale sees two stars", "der alte Wal sieht zwei Sterne", "", "  two  spaces ", "我看见我"] * 3
SUBWORDS = SubwordSymbols(learn_tokenizer(TokenizerConfig(vocab_size=340, normalization="none"), LINES, LINES))


@given(st.binary(max_size=60))
def test_bytes_come_back(text: bytes) -> None:
    symbols = ByteSymbols()
    ids = symbols.encode(text)
    assert ids.tolist() == list(text)
    assert decode(symbols, ids) == text


@settings(max_examples=200)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cn"]), max_size=40) | st.sampled_from(LINES))
def test_pieces_give_every_text_back(text: str) -> None:
    ids = SUBWORDS.encode(text.encode())
    assert decode(SUBWORDS, ids) == text.encode()


def test_a_text_of_many_lines_has_a_symbol_between_each_two() -> None:
    text = "\n".join(LINES) + "\n\n"
    ids = SUBWORDS.encode(text.encode())
    assert (ids == SUBWORDS.start_id).sum() == text.count("\n")
    assert decode(SUBWORDS, ids) == text.encode()


def test_what_is_written_is_never_taken_back() -> None:
    text = "我看见 whale stars äöü 𝄞\nzwei"
    writer, written = SUBWORDS.writer(), b""
    for symbol_id in SUBWORDS.encode(text.encode()):
        written += writer.write(int(symbol_id))
        assert text.encode().startswith(written)
        written.decode()  # never half a character
    assert written + writer.close() == text.encode()


@pytest.mark.parametrize("symbols", [ByteSymbols(), SUBWORDS])
def test_a_text_is_gone_on_with_wherever_it_was_cut(symbols: ByteSymbols | SubwordSymbols) -> None:
    text = b"the old whale\n  two  spaces \n\ndie Sterne"
    ids = symbols.encode(text).tolist()
    for cut in range(len(ids) + 1):
        writer = symbols.writer()
        writer.follow(ids[:cut])
        added = b"".join([*(writer.write(symbol_id) for symbol_id in ids[cut:]), writer.close()])
        assert decode(symbols, ids[:cut]) + added == text


@pytest.mark.parametrize("symbols", [ByteSymbols(), SUBWORDS])
def test_symbols_come_back_from_their_description(symbols: ByteSymbols | SubwordSymbols) -> None:
    again = symbols_from_json(symbols.to_json())
    assert type(again) is type(symbols)
    assert again.fingerprint == symbols.fingerprint
    assert again.vocab_size == symbols.vocab_size
    assert again.encode(b"two stars\n").tolist() == symbols.encode(b"two stars\n").tolist()


def test_descriptions_that_are_none_are_refused() -> None:
    for text in ("{", "{}", json.dumps({"format": "heedful-symbols", "version": 9, "kind": "bits"})):
        with pytest.raises(UserError):
            symbols_from_json(text)
