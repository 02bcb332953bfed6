"""Learning vocabularies: their layout, their size, and that the text alone decides."""

import random

import pytest

from heedful.config.data import TokenizerConfig
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer

WORDS = ["station", "stations", "nation", "national", "small", "smaller", "smallest", "walk", "walking", "walked"]


def lines(count: int = 300) -> list[str]:
    draw = random.Random(1)
    return [" ".join(draw.choices(WORDS, k=6)) for _ in range(count)]


def learned(kind: str, vocab_size: int, text: list[str], languages: tuple[str, ...] = ()) -> Tokenizer:
    config = TokenizerConfig.model_validate({"kind": kind, "vocab_size": vocab_size})
    return learn_tokenizer(config, text, text, languages)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_layout_is_symbols_tags_bytes_pieces(kind: str) -> None:
    tokenizer = learned(kind, 310, lines(), ("en", "de"))
    vocabulary = tokenizer.source.vocabulary
    assert vocabulary[:4] == ("<pad>", "<s>", "</s>", "<unk>")
    assert [tokenizer.language_ids[language] for language in ("en", "de")] == [4, 5]
    assert vocabulary[6:262] == tuple(f"<0x{byte:02X}>" for byte in range(256))
    assert len(vocabulary) == len(set(vocabulary)) <= 310


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_frequent_words_are_pieces_and_every_text_comes_back(kind: str) -> None:
    tokenizer = learned(kind, 330, lines())
    assert all(len(tokenizer.encode_source(word)) <= 4 for word in WORDS)
    for text in (*lines(20), "Unseen words: Ünïcödé 山 😀"):
        assert tokenizer.decode_target(tokenizer.encode_target(text)) == text


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_same_text_gives_the_same_tokenizer_and_another_another(kind: str) -> None:
    first, again = (learned(kind, 320, lines()).to_json() for _ in range(2))
    assert first == again
    assert first != learned(kind, 320, [line[::-1] for line in lines()]).to_json()
