"""The result for a sentence does not depend on what else is in its batch: the whole search, many batchings."""

import functools
import random

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from heedful.config.models import ConvolutionalConfig, ModelConfig, RecurrentConfig, TransformerConfig
from heedful.models import build_model
from heedful.models.interfaces import EncoderDecoder
from tests.support.searches import search

VOCAB, BOS, EOS = 40, 1, 2
NUM_SENTENCES = 64  # end_to_end/test_batch_invariance.py takes 200 and a model that the command has trained
RECURRENT: dict[str, dict[str, object]] = {
    "recurrent": {},
    "lstm-fed": {"cell": "lstm", "attention": "general", "input_feeding": True, "num_decoder_layers": 1},
    "lstm-context": {"cell": "lstm", "attention": "none", "num_encoder_layers": 1, "num_decoder_layers": 1},
}


@functools.cache
def build(family: str) -> EncoderDecoder:
    config: ModelConfig = TransformerConfig(
        dim=32, num_heads=4, hidden_dim=64, num_encoder_layers=2, num_decoder_layers=2, dropout=0.0
    )
    if family in RECURRENT:
        config = RecurrentConfig.model_validate({"kind": "recurrent", "dim": 32, "dropout": 0.0, **RECURRENT[family]})
    if family == "convolutional":
        config = ConvolutionalConfig(kind="convolutional", dim=32, dropout=0.0)
    generator = torch.Generator().manual_seed(8)
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):  # taught a little to repeat its input, so that outputs differ and end
        length = int(torch.randint(1, 10, (), generator=generator))
        words = torch.randint(4, VOCAB, (32, length), generator=generator)
        source_ids = torch.cat([words, torch.full((32, 1), EOS)], dim=1)
        target_ids = torch.cat([torch.full((32, 1), BOS), words], dim=1)
        loss = functional.cross_entropy(model(source_ids, None, target_ids).flatten(0, 1), source_ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def decode(model: EncoderDecoder, sentences: list[list[int]], beam_size: int, extra_padding: int) -> list[list[int]]:
    source_len = max(len(sentence) for sentence in sentences) + extra_padding
    source_ids = torch.tensor([sentence + [0] * (source_len - len(sentence)) for sentence in sentences])
    source_mask: Tensor = source_ids != 0
    found = search(
        model,
        source_ids,
        source_mask,
        bos_id=BOS,
        eos_id=EOS,
        max_lengths=[min(len(sentence) + 3, 12) for sentence in sentences],
        beam_size=beam_size,
        forbidden_ids=(0, BOS),
    )
    return [hypotheses[0].token_ids for hypotheses in found]


@pytest.mark.parametrize("family", ["transformer", *RECURRENT, "convolutional"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_sentences_come_out_the_same_in_twenty_batchings(family: str, beam_size: int) -> None:
    rng = random.Random(5)
    model = build(family)
    sentences = [[*rng.choices(range(4, VOCAB), k=rng.randint(1, 12)), EOS] for _ in range(NUM_SENTENCES)]
    expected = [decode(model, [sentence], beam_size, 0)[0] for sentence in sentences]
    assert len({tuple(ids) for ids in expected}) > NUM_SENTENCES / 2, "outputs should differ, or the test says little"
    for _ in range(20):
        order = rng.sample(range(NUM_SENTENCES), k=NUM_SENTENCES)
        while order:
            size = rng.choice([1, 7, 32, 64])
            chosen, order = order[:size], order[size:]
            outputs = decode(model, [sentences[i] for i in chosen], beam_size, rng.randint(0, 4))
            assert outputs == [expected[i] for i in chosen]
