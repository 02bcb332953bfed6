"""A recurrent language model: its state goes on over the borders of segments, and nothing else does."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.config.language_modeling import RecurrentLanguageModelConfig
from heedful.models.recurrent_language_model import RecurrentLanguageModel
from heedful.models.segment_memory import SegmentMemory
from heedful.nn.initialization import initialize

VOCAB = 11
CELLS = pytest.mark.parametrize("cell", ["gru", "lstm"])


def build(cell: str) -> RecurrentLanguageModel:
    config = RecurrentLanguageModelConfig.model_validate({"kind": "recurrent", "cell": cell, "dim": 16})
    model = RecurrentLanguageModel(config, vocab_size=VOCAB)
    initialize(model, torch.Generator().manual_seed(1))
    return model.eval()


def tokens(length: int, batch: int = 2, seed: int = 7) -> Tensor:
    return torch.randint(VOCAB, (batch, length), generator=torch.Generator().manual_seed(seed))


@CELLS
def test_segments_with_the_state_between_them_are_one_long_segment(cell: str) -> None:
    model, ids = build(cell), tokens(10)
    whole, _ = model(ids, model.empty_memory(2, 0))
    memory, parts = model.empty_memory(2, 300), []
    for part in ids.split([3, 6, 1], dim=1):
        states, memory = model(part, memory)
        parts.append(states)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    assert memory.memory_len == 1, "one state, however long the text"


@CELLS
def test_a_text_that_begins_knows_nothing_of_the_one_before(cell: str) -> None:
    model, ids = build(cell), tokens(4)
    _, memory = model(tokens(5, seed=8), model.empty_memory(2, 1))
    poisoned = SegmentMemory(memory.states.index_fill(1, torch.tensor([1]), torch.nan), memory.filled)
    states, after = model(ids, poisoned.forgotten_where(torch.tensor([False, True])))
    alone, _ = model(ids, model.empty_memory(2, 0))
    going_on, _ = model(ids, memory)
    torch.testing.assert_close(states[1], alone[1])
    torch.testing.assert_close(states[0], going_on[0])
    assert not torch.allclose(states[0], alone[0])
    assert after.filled.tolist() == [1, 1]


def test_no_gradient_flows_into_the_segment_before() -> None:
    model = build("lstm")
    _, memory = model(tokens(3), model.empty_memory(2, 1))
    assert not memory.states.requires_grad


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.sampled_from(["gru", "lstm"]))
@settings(max_examples=20, deadline=None)
def test_a_reader_reads_in_any_pieces_what_training_reads_at_once(lengths: list[int], cell: str) -> None:
    model, ids = build(cell), tokens(sum(lengths))
    reader = model.reader(2, memory_len=4, segment_len=8)
    read = torch.cat([reader.read(part) for part in ids.split(lengths, dim=1)], dim=1)
    with torch.no_grad():
        torch.testing.assert_close(read, model.project(model(ids, model.empty_memory(2, 0))[0]), atol=1e-5, rtol=1e-5)
