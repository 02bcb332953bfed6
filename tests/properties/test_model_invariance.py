"""What holds for the whole model: padding, batch and order never change a result; steps equal the full pass."""

import functools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from torch import Tensor

from heedful.config.models import ModelConfig
from heedful.models import build_model
from heedful.models.interfaces import EncoderDecoder

VOCAB = 19
SHAPES: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm": "pre", "activation": "swish", "output_bias": True},
    "learned": {"positions": {"kind": "learned", "max_len": 40}, "tying": "two_way"},
    "recurrent": {"kind": "recurrent", "dim": 16, "num_encoder_layers": 2, "num_decoder_layers": 2},
    "convolutional": {"kind": "convolutional", "dim": 16, "positions": {"kind": "sinusoidal"}},
    "scaled": {"kind": "convolutional", "dim": 16, "norm": "scaled", "kernel_size": 4, "tying": "two_way"},
    "window": {"kind": "convolutional", "dim": 16, "norm": "post", "kernel_size": 1, "num_decoder_layers": 1},
    "shallow": {"kind": "recurrent", "dim": 16, "num_encoder_layers": 1, "num_decoder_layers": 1, "tying": "none"},
    "lstm": {"kind": "recurrent", "dim": 16, "cell": "lstm", "attention": "general"},
    "lstm-fed": {"kind": "recurrent", "dim": 16, "cell": "lstm", "attention": "additive", "input_feeding": True},
    "gru-fed": {"kind": "recurrent", "dim": 16, "attention": "dot", "input_feeding": True, "num_decoder_layers": 1},
    "context": {"kind": "recurrent", "dim": 16, "attention": "none"},
    "lstm-context": {"kind": "recurrent", "dim": 16, "cell": "lstm", "attention": "none", "num_decoder_layers": 1},
}
seeds = st.integers(0, 2**31)
shapes = st.sampled_from(sorted(SHAPES))


@functools.cache
def build(shape: str) -> EncoderDecoder:
    base = {"dim": 16, "num_heads": 2, "hidden_dim": 24, "num_encoder_layers": 2, "num_decoder_layers": 2}
    described = SHAPES[shape] if "kind" in SHAPES[shape] else {"kind": "transformer", **base, **SHAPES[shape]}
    config = TypeAdapter(ModelConfig).validate_python(described)
    generator = torch.Generator().manual_seed(2)
    return build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator).eval()


def draw_batch(seed: int, batch: int, source_len: int, target_len: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    source_ids = torch.randint(1, VOCAB, (batch, source_len), generator=generator)
    lengths = torch.randint(1, source_len + 1, (batch, 1), generator=generator)
    target_ids = torch.randint(1, VOCAB, (batch, target_len), generator=generator)
    return source_ids, torch.arange(source_len) < lengths, target_ids


def close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@given(shapes, seeds, st.integers(1, 5), st.integers(1, 8), st.integers(1, 8), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_padding_and_batch_and_order_do_not_change_logits(
    shape: str, seed: int, batch: int, source_len: int, target_len: int, extra: int
) -> None:
    model = build(shape)
    source_ids, source_mask, target_ids = draw_batch(seed, batch, source_len, target_len)
    with torch.no_grad():
        logits = model(source_ids, source_mask, target_ids)
        order = torch.randperm(batch, generator=torch.Generator().manual_seed(seed))
        wider_ids = torch.nn.functional.pad(source_ids, (0, extra), value=7)
        wider_mask = torch.nn.functional.pad(source_mask, (0, extra), value=False)
        longer_ids = torch.nn.functional.pad(target_ids, (0, extra), value=7)
        padded = model(wider_ids[order], wider_mask[order], longer_ids[order])[:, :target_len]
        close(padded, logits[order])
        for row in range(batch):
            length = int(source_mask[row].sum())
            alone = model(source_ids[row : row + 1, :length], None, target_ids[row : row + 1])
            close(alone, logits[row : row + 1])


@given(shapes, seeds, st.integers(1, 4), st.integers(2, 8))
@settings(max_examples=40, deadline=None)
def test_poison_in_the_padding_does_not_leak(shape: str, seed: int, batch: int, source_len: int) -> None:
    source_ids, source_mask, target_ids = draw_batch(seed, batch, source_len, 3)
    model = build(shape)
    with torch.no_grad():
        logits = model(source_ids, source_mask, target_ids)
        poison = source_ids.masked_fill(~source_mask, 0)
        clean = model.source_embedding.weight[0].clone()
        try:
            # No real token is 0, so its embedding may be anything at all.
            model.source_embedding.weight[0] = float("nan")
            poisoned = model(poison, source_mask, target_ids)
        finally:
            model.source_embedding.weight[0] = clean
    close(poisoned[..., 1:], logits[..., 1:])


@given(shapes, seeds, st.integers(1, 4), st.integers(1, 6), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_steps_equal_the_full_pass(shape: str, seed: int, batch: int, source_len: int, target_len: int) -> None:
    model = build(shape)
    source_ids, source_mask, target_ids = draw_batch(seed, batch, source_len, target_len)
    with torch.no_grad():
        full = model(source_ids, source_mask, target_ids)
    state = model.start(source_ids, source_mask, max_rows=batch, max_len=target_len)
    for position in range(target_len):
        close(model.step(state, target_ids[:, position], None), full[:, position])


@given(shapes, seeds, st.integers(1, 4), st.integers(1, 6), st.data())
@settings(max_examples=80, deadline=None)
def test_rows_that_move_multiply_and_leave_keep_their_own_past(
    shape: str, seed: int, batch: int, source_len: int, data: st.DataObject
) -> None:
    model = build(shape)
    source_ids, source_mask, _ = draw_batch(seed, batch, source_len, 1)
    state = model.start(source_ids, source_mask, max_rows=8, max_len=6)
    rows: list[tuple[int, list[int]]] = [(sentence, []) for sentence in range(batch)]  # sentence, tokens written
    for step in range(6):
        parents = None
        if step:
            index = st.integers(0, len(rows) - 1)
            chosen = data.draw(
                st.lists(index, min_size=1, max_size=8) | st.just([r for r in range(len(rows)) for _ in "ab"][:8])
            )
            parents = torch.tensor(chosen)
            rows = [rows[parent] for parent in chosen]
        tokens = data.draw(st.lists(st.integers(1, VOCAB - 1), min_size=len(rows), max_size=len(rows)))
        rows = [(sentence, [*written, token]) for (sentence, written), token in zip(rows, tokens, strict=True)]

        logits = model.step(state, torch.tensor(tokens), parents)

        sentences = torch.tensor([sentence for sentence, _ in rows])
        written = torch.tensor([ids for _, ids in rows])
        with torch.no_grad():
            expected = model(source_ids[sentences], source_mask[sentences], written)[:, -1]
        close(logits, expected)


@given(seeds, st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_best_tokens_are_those_of_the_log_softmax(seed: int, count: int) -> None:
    model = build("post")
    source_ids, source_mask, target_ids = draw_batch(seed, 3, 5, 1)
    states = [model.start(source_ids, source_mask, max_rows=3, max_len=1) for _ in range(2)]
    log_probs, ids = model.step_best(states[0], target_ids[:, 0], None, count=count)
    expected = model.step(states[1], target_ids[:, 0], None).log_softmax(-1).topk(min(count, VOCAB))
    close(log_probs, expected.values)
    assert torch.equal(ids, expected.indices)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_sentence_without_a_real_token_gives_finite_logits_and_gradients(shape: str) -> None:
    model = build(shape)
    source_ids, source_mask, target_ids = draw_batch(1, 2, 4, 3)
    source_mask[0] = False
    model.zero_grad()
    logits = model(source_ids, source_mask, target_ids)
    logits.logsumexp(-1).sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


@given(shapes, seeds, st.integers(1, 4), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_a_cut_token_is_not_read_but_keeps_its_place(shape: str, seed: int, batch: int, source_len: int) -> None:
    model = build(shape)
    source_ids, source_mask, _ = draw_batch(seed, batch, source_len, 1)
    keep = torch.rand(source_ids.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    other_ids = torch.where(keep, source_ids, 1 + source_ids % (VOCAB - 1))
    with torch.no_grad():
        cut = model.encode(source_ids, source_mask, keep)
        close(model.encode(other_ids, source_mask, keep), cut)
        close(model.decode(other_ids, cut, source_mask, keep), model.decode(source_ids, cut, source_mask, keep))
