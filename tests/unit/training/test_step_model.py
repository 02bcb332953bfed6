"""The model of a step on paper against closed forms, and against what was measured on one H200 (RESULTS.md)."""

from dataclasses import replace
from itertools import pairwise

import pytest

from heedful.training.step_model import H200, Gpu, StepShape, message_time, step_memory, step_time

PLAIN = Gpu("plain", products=1e12, memory=1e9, memory_bytes=1e9, link=1e8, network=1e7, latency=0.0)


def encoder_decoder(dim: int, hidden: int, *, rows: int = 1024, length: int = 32, vocab: int = 32_000) -> StepShape:
    layers = 6 * (4 * dim**2 + 2 * dim * hidden) + 6 * (8 * dim**2 + 2 * dim * hidden)
    return StepShape(
        num_parameters=layers + vocab * dim,
        layer_parameters=layers,
        num_layers=12,
        dim=dim,
        vocab_size=vocab,
        tokens=rows * length,
        layer_tokens=12 * rows * length,
        attended=1.5 * length,
    )


BASE, BIG = encoder_decoder(512, 2048), encoder_decoder(1024, 4096)


def test_products_are_six_operations_for_a_weight_and_a_token() -> None:
    shape = StepShape(1200, 1000, 2, 10, 20, tokens=3, layer_tokens=6)
    assert shape.flops == pytest.approx(6 * 3 * 1000 + 6 * 3 * 20 * 10)
    assert replace(shape, recompute=True).flops == pytest.approx(8 * 3 * 1000 + 6 * 3 * 20 * 10)
    assert replace(shape, attended=5).flops - shape.flops == pytest.approx(12 * 6 * 5 * 10)


def test_a_ring_sends_nearly_twice_what_is_added_up_and_shards_three_times() -> None:
    assert message_time(8e8, PLAIN, 1) == 0
    assert message_time(8e8, PLAIN, 8) == pytest.approx(2 * 7 / 8 * 8)
    assert message_time(8e8, PLAIN, 8, sharded=True) == pytest.approx(3 * 7 / 8 * 8)
    # Over machines the eight networks of a machine together are the narrow place.
    assert message_time(8e8, PLAIN, 16) == pytest.approx(2 * 15 / 16 * 10)


@pytest.mark.parametrize("sharded", [False, True])
def test_more_gpus_are_never_slower_by_their_computing_and_hide_messages_first(sharded: bool) -> None:
    times = [step_time(BIG, H200, 2**power, sharded=sharded) for power in range(11)]
    assert all(one.products > two.products for one, two in pairwise(times))
    assert times[0].waiting == 0
    assert times[3].waiting == 0
    assert times[10].waiting > times[10].products


def test_sharding_divides_the_state_and_keeps_two_layers_whole() -> None:
    whole = step_memory(BIG, 64, 0.0)
    sharded = step_memory(BIG, 64, 0.0, sharded=True)
    layer = BIG.layer_parameters / 12
    saved = 16 * BIG.num_parameters * 63 / 64 - 4 * (3 * layer + 2 * 32_000 * 1024)
    assert whole - sharded == pytest.approx(saved)
    assert step_memory(BIG, 1, 0.0, average=True) - step_memory(BIG, 1, 0.0) == pytest.approx(4 * BIG.num_parameters)


def test_recomputing_keeps_the_inputs_of_layers_and_one_layer_whole() -> None:
    kept = 1.2e9
    difference = step_memory(BASE, 1, kept) - step_memory(replace(BASE, recompute=True), 1, kept)
    assert difference == pytest.approx(kept * 11 / 12 - 4 * BASE.layer_tokens * 512)


@pytest.mark.parametrize(
    ("shape", "measured", "within"),
    [(BASE, 707_278, 0.02), (BIG, 319_873, 0.12)],  # base is what the constant is fitted to
)
def test_it_predicts_what_was_measured(shape: StepShape, measured: float, within: float) -> None:
    assert shape.tokens / step_time(shape, H200, 1).total == pytest.approx(measured, rel=within)
