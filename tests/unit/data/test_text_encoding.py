"""Texts encoded by one process and by several: the ids of the tokenizer, in order."""

import random

import numpy as np
import pytest

from heedful.config.data import TokenizerConfig
from heedful.data.text_encoding import Side, encode_texts
from heedful.text.learning import learn_tokenizer
from heedful.text.symbols import SubwordSymbols
from heedful.text.tokenizer import Tokenizer
from tests.support.small_corpus import ENGLISH, GERMAN

ODD = ["", " ", "  two  spaces ", "tab\there", "naïve ﬁn", "我們 著名，", "Stop. Go, now!", "\u2028x", "a" * 200]


@pytest.fixture(scope="module", params=["nfkc", "none"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    config = TokenizerConfig(vocab_size=340, normalization=request.param, shared=False)
    return learn_tokenizer(config, ENGLISH, GERMAN)


def expected(tokenizer: Tokenizer, texts: list[str], side: Side) -> list[list[int]]:
    return tokenizer.encode_source_batch(texts) if side == "source" else tokenizer.encode_target_batch(texts)


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_ids_are_those_of_the_tokenizer_whatever_the_number_of_processes(tokenizer: Tokenizer, side: Side) -> None:
    draw = random.Random(1)
    texts = [" ".join(draw.choices([*ENGLISH, *GERMAN, *ODD], k=draw.randint(1, 400))) for _ in range(200)] + ODD
    assert sum(map(len, texts)) > 1 << 20  # more than a block
    wanted = expected(tokenizer, texts, side)
    for number in (1, 2):
        values, lengths = encode_texts(tokenizer, texts, side, num_processes=number)
        assert lengths.tolist() == [len(ids) for ids in wanted]
        assert values.tolist() == [one for ids in wanted for one in ids]


def test_nothing_is_nothing(tokenizer: Tokenizer) -> None:
    values, lengths = encode_texts(tokenizer, [])
    assert (len(values), len(lengths)) == (0, 0)


def test_a_text_of_a_language_model_is_what_its_symbols_say() -> None:
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=340, normalization="none"), ENGLISH, [])
    symbols = SubwordSymbols(tokenizer)
    text = "\n".join([*ENGLISH, *ODD, ""]).encode()
    lines = text.decode().split("\n")
    values, _ = encode_texts(tokenizer, lines, "target", num_processes=2)
    assert np.array_equal(values[:-1], symbols.encode(text))
