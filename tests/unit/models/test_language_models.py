"""Two language models that are read in segments: what memory must do, and what must not depend on how one reads."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.models.language_model import LanguageModel
from heedful.models.segment_memory import KeyValueWindow, SegmentMemory
from heedful.models.transformer_xl import TransformerXL
from heedful.nn.initialization import initialize

VOCAB = 11


def xl(**settings: Any) -> TransformerXL:
    shape = TransformerXLConfig(dim=16, num_heads=2, hidden_dim=32, num_layers=3, dropout=0.0, **settings)
    model = TransformerXL(shape, vocab_size=VOCAB)
    initialize(model, torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "biases" in name or name.endswith("bias"):
                parameter.normal_(generator=generator)  # zero at first, and nothing that is zero could be missed
    return model.eval()


def plain(context_len: int = 12) -> LanguageModel:
    shape = LanguageModelConfig(
        kind="language_model",
        context_len=context_len,
        dim=16,
        num_heads=2,
        hidden_dim=32,
        num_layers=2,
        dropout=0.0,
    )
    model = LanguageModel(shape, vocab_size=VOCAB)
    initialize(model, torch.Generator().manual_seed(1))
    return model.eval()


def tokens(length: int, batch: int = 2, seed: int = 7) -> torch.Tensor:
    return torch.randint(VOCAB, (batch, length), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("tied_biases", [True, False])
@pytest.mark.parametrize("clamp_len", [None, 3])
def test_two_segments_with_memory_are_one_long_segment(norm: str, tied_biases: bool, clamp_len: int | None) -> None:
    model, ids = xl(norm=norm, tied_biases=tied_biases, clamp_len=clamp_len), tokens(10)
    whole, _ = model(ids, model.empty_memory(2, 0))
    first, memory = model(ids[:, :6], model.empty_memory(2, 6))
    second, _ = model(ids[:, 6:], memory)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, rtol=1e-5, atol=1e-5)


def test_beyond_the_memorys_reach_nothing_is_known() -> None:
    model, ids = xl(), tokens(9)
    other = ids.clone()
    other[:, 0] = (other[:, 0] + 1) % VOCAB
    memory = model.empty_memory(2, 2)
    results = []
    for text in (ids, other):
        _, after = model(text[:, :3], memory)
        for part in (text[:, 3:5], text[:, 5:7]):
            _, after = model(part, after)
        results.append(model(text[:, 7:], after)[0])
    # Each layer hands the past on by two positions: through three layers the first token is out of reach.
    torch.testing.assert_close(results[0], results[1])


def test_context_flows_further_than_the_memory_is_long() -> None:
    """The point of the recurrence: layer by layer the past reaches beyond one memory (section 3.2)."""
    model, ids = xl(), tokens(4)
    other = ids.clone()
    other[:, 0] = (other[:, 0] + 1) % VOCAB
    results = []
    for text in (ids, other):
        memory = model.empty_memory(2, 1)
        for place in range(4):
            hidden, memory = model(text[:, place : place + 1], memory)
        results.append(hidden)
    assert (results[0] - results[1]).abs().max() > 1e-4  # three steps back with a memory of one


def test_no_gradient_enters_the_memory_but_the_weights_learn_from_it() -> None:
    model, ids = xl(), tokens(8)
    memory = model.empty_memory(2, 4)
    first, after = model(ids[:, :4], memory)
    assert not after.states.requires_grad
    second, _ = model(ids[:, 4:], after)
    gradient = torch.autograd.grad(second.sum(), first, allow_unused=True)[0]
    assert gradient is None
    # The same loss with a memory of zeros gives other gradients: what is remembered is read through trained weights.
    key_value = model.layers[0].attention.key_value.weight
    with_memory = torch.autograd.grad(model(ids[:, 4:], after)[0].square().sum(), key_value)[0]
    without = torch.autograd.grad(model(ids[:, 4:], memory)[0].square().sum(), key_value)[0]
    assert not torch.allclose(with_memory, without)


def test_an_empty_memory_counts_for_nothing_however_long_it_is() -> None:
    model, ids = xl(), tokens(5)
    short, _ = model(ids, model.empty_memory(2, 0))
    spoiled = model.empty_memory(2, 7)
    spoiled.states.normal_()
    long, _ = model(ids, spoiled)
    torch.testing.assert_close(long, short, rtol=1e-5, atol=1e-5)


def test_a_text_that_begins_anew_forgets_while_its_neighbour_remembers() -> None:
    model, ids = xl(), tokens(8)
    _, memory = model(ids[:, :4], model.empty_memory(2, 4))
    mixed, _ = model(ids[:, 4:], memory.forgotten_where(torch.tensor([True, False])))
    alone, _ = model(ids[:, 4:], model.empty_memory(2, 4))
    kept, _ = model(ids[:, 4:], memory)
    torch.testing.assert_close(mixed[0], alone[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(mixed[1], kept[1], rtol=1e-5, atol=1e-5)


def test_a_longer_memory_can_be_read_with_the_distances_that_were_learned() -> None:
    expected = xl(clamp_len=3).reader(2, memory_len=0, segment_len=9).read(tokens(9))
    model = xl()
    assert not torch.allclose(model.reader(2, memory_len=0, segment_len=9).read(tokens(9)), expected)
    model.clamp(3)
    torch.testing.assert_close(model.reader(2, memory_len=0, segment_len=9).read(tokens(9)), expected)


def cut(text: torch.Tensor, sizes: list[int]) -> list[torch.Tensor]:
    return [part for part in text.split(sizes, dim=1) if part.size(1)]


@settings(max_examples=15)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), norm=st.sampled_from(["post", "pre"]))
def test_a_reader_sees_what_training_sees_however_the_text_is_cut(sizes: list[int], norm: str) -> None:
    model, ids = xl(norm=norm), tokens(sum(sizes))
    memory_len = 5
    reader, memory = model.reader(2, memory_len=memory_len, segment_len=4), model.empty_memory(2, memory_len)
    for part in cut(ids, sizes):
        hidden, memory = model(part, memory)
        torch.testing.assert_close(reader.read(part), model.project(hidden), rtol=1e-5, atol=1e-5)


@settings(max_examples=15)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_within_its_window_a_plain_model_reads_in_pieces_as_at_once(sizes: list[int]) -> None:
    model, ids = plain(context_len=24), tokens(sum(sizes))
    reader = model.reader(2, memory_len=20, segment_len=4)
    found = torch.cat([reader.read(part) for part in cut(ids, sizes)], dim=1)
    hidden, _ = model(ids, model.empty_memory(2, 0))
    torch.testing.assert_close(found, model.project(hidden), rtol=1e-5, atol=1e-5)


def test_a_full_window_is_read_again_from_its_newest_tokens() -> None:
    model, ids = plain(context_len=6), tokens(8)
    reader = model.reader(2, memory_len=3, segment_len=2)
    for start in (0, 2, 4):
        reader.read(ids[:, start : start + 2])
    found = reader.read(ids[:, 6:])
    hidden, _ = model(ids[:, 3:], model.empty_memory(2, 0))
    torch.testing.assert_close(found, model.project(hidden)[:, -2:], rtol=1e-5, atol=1e-5)


def test_a_plain_model_is_causal() -> None:
    model, ids = plain(), tokens(6)
    changed = ids.clone()
    changed[:, 4] = (changed[:, 4] + 1) % VOCAB
    memory = model.empty_memory(2, 0)
    before, after = model(ids, memory)[0], model(changed, memory)[0]
    torch.testing.assert_close(after[:, :4], before[:, :4])
    assert not torch.allclose(after[:, 4:], before[:, 4:])


def test_a_memory_keeps_the_newest_and_counts_them() -> None:
    memory = SegmentMemory.empty(1, 1, 3, 1)
    for value in range(1, 6):
        memory = memory.extended([torch.full((1, 1, 1), float(value))])
        assert memory.filled.item() == min(value, 3)
    assert memory.states.flatten().tolist() == [3.0, 4.0, 5.0]
    long = memory.extended([torch.arange(10.0, 15.0).view(1, 5, 1)])
    assert long.states.flatten().tolist() == [12.0, 13.0, 14.0]
    assert SegmentMemory.empty(1, 1, 3, 1).extended([torch.ones(1, 2, 1)]).is_real(1).tolist() == [[False] + [True] * 3]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_in_half_precision_the_memory_takes_half_the_room(norm: str) -> None:
    model, ids = xl(norm=norm), tokens(12)
    memory = model.empty_memory(2, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        for part in ids.split(6, dim=1):
            hidden, memory = model(part, memory)
    assert memory.states.dtype == torch.bfloat16
    exact, _ = model(ids, model.empty_memory(2, 0))
    torch.testing.assert_close(hidden.float(), exact[:, 6:], rtol=0.1, atol=0.1)


def test_what_is_not_finite_is_not_remembered() -> None:
    memory = SegmentMemory.empty(1, 1, 2, 1)
    memory.copy_from(SegmentMemory(torch.tensor([[[[float("nan")], [2.0]]]]), torch.tensor([2])))
    assert memory.states.flatten().tolist() == [0.0, 2.0]


def test_a_window_slides_without_losing_or_mixing() -> None:
    window = KeyValueWindow(
        layers=1,
        rows=1,
        heads=1,
        head_dim=1,
        memory_len=5,
        segment_len=2,
        device=torch.device("cpu"),
        dtype=torch.float,
    )
    for value in range(40):
        window.begin(1)
        newest = torch.full((1, 1, 1, 1), float(value))
        keys, values = window.remember(0, newest, -newest)
        window.end()
        expected = [float(number) for number in range(max(0, value - 5), value + 1)]
        assert keys.flatten().tolist() == expected
        assert (-values).flatten().tolist() == expected
