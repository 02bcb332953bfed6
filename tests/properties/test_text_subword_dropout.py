"""Subword dropout on any text: the plain choice is the encoding, every choice spells the text."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heedful.config.data import TokenizerConfig
from heedful.text.learning import learn_tokenizer
from heedful.text.subword_dropout import NUM_CHOICES, build_table
from heedful.text.subwords import mark
from heedful.text.tokenizer import Tokenizer

LINES = ["a man rides a red bike", "two men ride bikes", "ein Mann fährt ein rotes Rad", "我看见我"] * 4
TOKENIZERS = [
    learn_tokenizer(TokenizerConfig(vocab_size=400, normalization=normalization), LINES, LINES)
    for normalization in ("nfkc", "none")
]
texts = st.text(st.characters()) | st.text(st.sampled_from("a man rids▁<>/\u0308\ufb01我看 "), max_size=300)


@given(texts, st.sampled_from(TOKENIZERS), st.floats(0, 0.95), st.integers(0, 100))
def test_every_choice_spells_the_text_and_the_first_is_the_encoding(
    text: str, tokenizer: Tokenizer, rate: float, seed: int
) -> None:
    words = tokenizer.source.words(mark(tokenizer.normalize(text)))
    table = build_table(tokenizer.source, words, rate=rate, seed=seed, symbols=[tokenizer.eos_id])
    numbers = np.array([*range(1, len(words) + 1), 0])
    cuts = [table.segment(numbers, np.full(len(numbers), choice)).tolist() for choice in range(NUM_CHOICES + 1)]
    assert cuts[0] == tokenizer.encode_source(text)
    assert {tokenizer.decode_source(ids) for ids in cuts} == {tokenizer.normalize(text)}
    assert [len(ids) for ids in cuts] == [
        int(table.lengths(numbers, np.full(len(numbers), choice)).sum()) for choice in range(NUM_CHOICES + 1)
    ]
