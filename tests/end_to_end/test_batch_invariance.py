"""What a sentence is translated to does not depend on what else is in its batch."""

import random

import pytest
import torch

from heedful import load
from heedful.decoding import SearchRequest
from heedful.demo.corpus import make_corpus
from heedful.tasks.translation.translator import Translator
from tests.support.small_run import SmallRun

NUM_SENTENCES, NUM_BATCHINGS = 200, 20


@pytest.fixture(scope="module")
def translator(small_run: SmallRun) -> Translator:
    return load(small_run.run, device="cpu", quantize="none")


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return [source for source, _ in make_corpus(num_train=0, num_validation=0, num_test=NUM_SENTENCES, seed=7).test]


def search_in_batches(translator: Translator, sentences: list[str], draw: random.Random, beam_size: int) -> list[str]:
    """Translate in a random order, in batches of random sizes, each padded by a random number of positions more."""
    order = draw.sample(range(len(sentences)), len(sentences))
    results = [""] * len(sentences)
    tokenizer = translator.tokenizer
    while order:
        size = draw.randint(1, 64)
        numbers, order = order[:size], order[size:]
        encoded = [tokenizer.encode_source(sentences[number]) for number in numbers]
        width = max(map(len, encoded)) + draw.randint(0, 9)
        ids = torch.tensor([source + [tokenizer.pad_id] * (width - len(source)) for source in encoded])
        lengths = torch.tensor([len(source) for source in encoded])
        request = SearchRequest(
            bos_id=tokenizer.bos_id, eos_id=tokenizer.eos_id,
            forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id),
            beam_size=beam_size, length_penalty=translator.decoding.length_penalty, max_lengths=(lengths + 50).tolist(),
        )  # fmt: skip
        found = translator.generator.generate(ids, torch.arange(width) < lengths.unsqueeze(1), request)
        for number, hypotheses in zip(numbers, found, strict=True):
            results[number] = tokenizer.decode_target(hypotheses[0].token_ids)
    return results


@pytest.mark.parametrize("beam_size", [1, 4], ids=["greedy", "beam"])
def test_batch_order_and_padding_never_change_a_translation(
    translator: Translator, sentences: list[str], beam_size: int
) -> None:
    alone = [translator.translate(sentence, beam_size=beam_size) for sentence in sentences]
    assert len(set(alone)) > NUM_SENTENCES / 4  # a model that always says the same would pass for nothing
    assert translator.translate(sentences, beam_size=beam_size) == alone
    draw = random.Random(beam_size)
    for _ in range(NUM_BATCHINGS):
        assert search_in_batches(translator, sentences, draw, beam_size) == alone
