"""A small corpus on disk, and its tokenizer."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from heedful.config.data import DataConfig, FilterConfig, LineCorpus, TokenizerConfig
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer
from tests.support.small_corpus import ENGLISH, GERMAN, WriteCorpus


@pytest.fixture
def write_corpus(tmp_path: Path) -> WriteCorpus:
    def write(name: str, source: Sequence[str], target: Sequence[str], **settings: object) -> LineCorpus:
        for side, lines in (("en", source), ("de", target)):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return LineCorpus(source=str(tmp_path / f"{name}.en"), target=str(tmp_path / f"{name}.de"), **settings)

    return write


@pytest.fixture
def data(write_corpus: WriteCorpus) -> DataConfig:
    corpus = write_corpus("train", ENGLISH, GERMAN)
    return DataConfig(train=[corpus], validation=[corpus], filters=FilterConfig(max_tokens=64))


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return learn_tokenizer(TokenizerConfig(vocab_size=340), ENGLISH, GERMAN)
