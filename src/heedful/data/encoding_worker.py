"""The process that encodes blocks of corpora, started by store_building.py, and what passes between the two."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from heedful.config.data import Corpus, FilterConfig
from heedful.data.filters import FilterReport
from heedful.data.pair_encoding import BlockOfCorpus, EncodedBlock, PairEncoder, WordsOfBlock
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

    def make(self) -> PairEncoder:
        """Return what encodes."""
        return PairEncoder(Tokenizer.from_json(self.tokenizer_json), self.filters, with_words=self.with_words)


def setup_message(setup: EncodingSetup) -> Message:
    """Return the setup as it is sent."""
    facts: dict[str, JsonValue] = {"filters": setup.filters.model_dump(mode="json"), "with_words": setup.with_words}
    return Message(facts, (setup.tokenizer_json.encode(),))


def block_message(given: BlockOfCorpus) -> Message:
    """Return a block as it is sent."""
    return Message(
        {
            "number": given.number,
            "first_line": given.block.first_line,
            "corpus": given.corpus.model_dump(mode="json"),
            "language": given.language,
        },
        given.block.files,
    )


def encoded_block(message: Message) -> EncodedBlock:
    """Return the block that was sent back."""
    facts, parts = message.facts, iter(message.parts)
    sources, targets = _joined(next(parts), next(parts)), _joined(next(parts), next(parts))
    digests = np.frombuffer(next(parts), dtype=np.uint64) if facts["has_digests"] else None
    words = None
    if lists := cast(list[list[str]] | None, facts["words"]):
        words = tuple(WordsOfBlock(one, _joined(next(parts), next(parts))) for one in lists)
    return EncodedBlock(
        corpus=cast(int, facts["number"]),
        tag_language=cast(str | None, facts["language"]),
        sources=sources,
        targets=targets,
        digests=digests,
        words=cast(tuple[WordsOfBlock, WordsOfBlock] | None, words),
        report=FilterReport(**facts["report"]),  # type: ignore[arg-type]  # as it was sent
    )


def _encoder(setup: Message) -> Callable[[Message], Message]:
    filters = FilterConfig.model_validate(setup.facts["filters"])
    encoder = EncodingSetup(setup.parts[0].decode(), filters, bool(setup.facts["with_words"])).make()
    return lambda message: _encoded_message(encoder.encode(_block(message)))


def _block(message: Message) -> BlockOfCorpus:
    facts = message.facts
    return BlockOfCorpus(
        number=cast(int, facts["number"]),
        block=Block(cast(int, facts["first_line"]), message.parts),
        corpus=_CORPUS.validate_python(facts["corpus"]),
        language=cast(str | None, facts["language"]),
    )


def _encoded_message(encoded: EncodedBlock) -> Message:
    arrays: list[NDArray[np.integer]] = [*encoded.sources, *encoded.targets]
    if encoded.digests is not None:
        arrays.append(encoded.digests)
    for words in encoded.words or ():
        arrays += words.places
    facts: dict[str, JsonValue] = {
        "number": encoded.corpus,
        "language": encoded.tag_language,
        "has_digests": encoded.digests is not None,
        "words": None if encoded.words is None else [cast(JsonValue, words.words) for words in encoded.words],
        "report": asdict(encoded.report),
    }
    return Message(facts, tuple(array.tobytes() for array in arrays))


def _joined(values: bytes, lengths: bytes) -> Joined:
    return np.frombuffer(values, dtype=np.int32), np.frombuffer(lengths, dtype=np.int32)


if __name__ == "__main__":
    serve(_encoder)
