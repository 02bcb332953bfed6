"""A small corpus on disk, and its tokenizer."""

import pytest

from heedful.config.data import DataConfig, FilterConfig, TokenizerConfig
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer
from tests.support.small_corpus import ENGLISH, GERMAN, WriteCorpus


@pytest.fixture
def data(write_corpus: WriteCorpus) -> DataConfig:
    corpus = write_corpus("train", ENGLISH, GERMAN)
    return DataConfig(train=[corpus], validation=[corpus], filters=FilterConfig(max_tokens=64))


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return learn_tokenizer(TokenizerConfig(vocab_size=340), ENGLISH, GERMAN)
