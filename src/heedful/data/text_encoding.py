"""Many texts as token ids, by a process on each core: what classifiers and language models are prepared with.

The ids are those of `Tokenizer.encode_source_batch`, or of the target side, the same whatever the number of processes.
Text goes out in blocks of some megabytes and comes back as arrays. This file knows no labels and no segments.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, cast

import numpy as np

from heedful.data.processes import Message, Start, num_cores, serve, start_workers
from heedful.text.encoded_words import EncodedWords, Joined
from heedful.text.tokenizer import Tokenizer

Side = Literal["source", "target"]

_BLOCK_CHARACTERS = 1 << 20
_WORTH_PROCESSES = 1 << 24
"""Characters that take longer to encode than processes take to start."""

_WARM_UP = 256
"""Texts that one process encodes before the others are forked from it: it knows the frequent words then."""


def encode_texts(
    tokenizer: Tokenizer, texts: Sequence[str], side: Side = "source", *, num_processes: int | None = None
) -> Joined:
    """Return the ids of each text with the end symbol last, all values and the lengths.

    None takes a process for each core where there is enough to do, and none besides this one otherwise.
    """
    if num_processes is None:
        num_processes = num_cores() if sum(map(len, texts)) > _WORTH_PROCESSES else 1
    if num_processes == 1:
        encoder = _encoder_of(tokenizer, side)
        parts: list[Joined] = [encoder.encode(block) for block in _blocks(texts)]
    else:
        setup = Message({"side": side}, (tokenizer.to_json().encode(),))
        start, first = Start("heedful.data.text_encoding", setup), _message(next(_blocks(texts), [])[:_WARM_UP])
        with start_workers(start, num_processes, warm_up=first) as workers:
            parts = [_joined(answer) for answer in workers.map(map(_message, _blocks(texts)))]
    nothing = np.zeros(0, dtype=np.int32)
    return (
        np.concatenate([nothing, *(values for values, _ in parts)]),
        np.concatenate([nothing, *(lengths for _, lengths in parts)]),
    )


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    room = _BLOCK_CHARACTERS
    for text in texts:
        block.append(text)
        room -= len(text) + 1
        if room <= 0:
            yield block
            block, room = [], _BLOCK_CHARACTERS
    if block:
        yield block


def _encoder_of(tokenizer: Tokenizer, side: Side) -> EncodedWords:
    return EncodedWords(tokenizer, tokenizer.source if side == "source" else tokenizer.target)


def _message(block: Sequence[str]) -> Message:
    encoded = [text.encode("utf-8", errors="surrogatepass") for text in block]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    return Message({}, (b"".join(encoded), lengths.tobytes()))


def _texts_of(message: Message) -> list[str]:
    whole, lengths = message.parts
    ends = np.cumsum(np.frombuffer(lengths, dtype=np.int64)).tolist()
    return [
        whole[start:end].decode("utf-8", errors="surrogatepass") for start, end in zip([0, *ends], ends, strict=False)
    ]


def _joined(message: Message) -> Joined:
    values, lengths = message.parts
    return np.frombuffer(values, dtype=np.int32), np.frombuffer(lengths, dtype=np.int32)


def _worker(setup: Message) -> Callable[[Message], Message]:
    encoder = _encoder_of(Tokenizer.from_json(setup.parts[0].decode()), cast(Side, setup.facts["side"]))

    def work(message: Message) -> Message:
        values, lengths = encoder.encode(_texts_of(message))
        return Message({}, (values.tobytes(), lengths.tobytes()))

    return work


if __name__ == "__main__":
    serve(_worker)
