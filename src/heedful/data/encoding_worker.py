"""The process that encodes blocks of corpora, started by store_building.py, and what passes between the two."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from heedful.config.data import AugmentationConfig, Corpus, FilterConfig
from heedful.data.filters import FilterReport
from heedful.data.pair_encoding import BlockOfCorpus, EncodedBlock, Making, PairEncoder, WordsOfBlock
from heedful.data.processes import Message, serve
from heedful.data.readers import Block
from heedful.files import JsonValue
from heedful.text.encoded_words import Joined
from heedful.text.tokenizer import Tokenizer

_CORPUS: TypeAdapter[Corpus] = TypeAdapter(Corpus)


@dataclass(frozen=True)
class EncodingSetup:
    """What a worker has to know before its first block."""

    tokenizer_json: str
    filters: FilterConfig
    with_words: bool
    making: Making

    def make(self) -> PairEncoder:
        """Return what encodes."""
        tokenizer = Tokenizer.from_json(self.tokenizer_json)
        return PairEncoder(tokenizer, self.filters, self.making, with_words=self.with_words)


def setup_message(setup: EncodingSetup) -> Message:
    """Return the setup as it is sent."""
    making = setup.making
    facts: dict[str, JsonValue] = {
        "filters": setup.filters.model_dump(mode="json"),
        "with_words": setup.with_words,
        "augmentation": making.augmentation.model_dump(mode="json"),
        "register_rate": making.register_rate,
        "seed": making.seed,
    }
    return Message(facts, (setup.tokenizer_json.encode(),))


def block_message(given: BlockOfCorpus) -> Message:
    """Return a block as it is sent."""
    return Message(
        {
            "number": given.number,
            "first_line": given.block.first_line,
            "corpus": given.corpus.model_dump(mode="json"),
            "languages": list(given.languages),
            "is_tagged": given.is_tagged,
        },
        given.block.files,
    )


def encoded_block(message: Message) -> EncodedBlock:
    """Return the block that was sent back."""
    facts, parts = message.facts, iter(message.parts)
    sources, targets = _joined(next(parts), next(parts)), _joined(next(parts), next(parts))
    tags = np.frombuffer(next(parts), dtype=np.int32) if facts["has_tags"] else None
    digests = np.frombuffer(next(parts), dtype=np.uint64) if facts["has_digests"] else None
    words = None
    if lists := cast(list[list[str]] | None, facts["words"]):
        words = tuple(WordsOfBlock(one, _joined(next(parts), next(parts))) for one in lists)
    return EncodedBlock(
        corpus=cast(int, facts["number"]),
        tags=tags,
        sources=sources,
        targets=targets,
        digests=digests,
        words=cast(tuple[WordsOfBlock, WordsOfBlock] | None, words),
        report=FilterReport(**facts["report"]),  # type: ignore[arg-type]  # as it was sent
    )


def _encoder(setup: Message) -> Callable[[Message], Message]:
    filters = FilterConfig.model_validate(setup.facts["filters"])
    making = Making(
        AugmentationConfig.model_validate(setup.facts["augmentation"]),
        cast(float, setup.facts["register_rate"]),
        cast(int, setup.facts["seed"]),
    )
    encoder = EncodingSetup(setup.parts[0].decode(), filters, bool(setup.facts["with_words"]), making).make()
    return lambda message: _encoded_message(encoder.encode(_block(message)))


def _block(message: Message) -> BlockOfCorpus:
    facts = message.facts
    return BlockOfCorpus(
        number=cast(int, facts["number"]),
        block=Block(cast(int, facts["first_line"]), message.parts),
        corpus=_CORPUS.validate_python(facts["corpus"]),
        languages=cast(tuple[str, str], tuple(cast(list[str], facts["languages"]))),
        is_tagged=bool(facts["is_tagged"]),
    )


def _encoded_message(encoded: EncodedBlock) -> Message:
    arrays: list[NDArray[np.integer]] = [*encoded.sources, *encoded.targets]
    if encoded.tags is not None:
        arrays.append(encoded.tags)
    if encoded.digests is not None:
        arrays.append(encoded.digests)
    for words in encoded.words or ():
        arrays += words.places
    facts: dict[str, JsonValue] = {
        "number": encoded.corpus,
        "has_tags": encoded.tags is not None,
        "has_digests": encoded.digests is not None,
        "words": None if encoded.words is None else [cast(JsonValue, words.words) for words in encoded.words],
        "report": asdict(encoded.report),
    }
    return Message(facts, tuple(array.tobytes() for array in arrays))


def _joined(values: bytes, lengths: bytes) -> Joined:
    return np.frombuffer(values, dtype=np.int32), np.frombuffer(lengths, dtype=np.int32)


if __name__ == "__main__":
    serve(_encoder)
