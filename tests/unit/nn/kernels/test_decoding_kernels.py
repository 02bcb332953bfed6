"""The kernels of a decoding step against the plain operations they replace: on a GPU, or in Triton's interpreter."""

import math

import pytest
import torch
from torch import Tensor

from heedful.engines.cuda import attention, choice
from heedful.engines.cuda.products import FusedProducts, PlainProducts, Stream, normalized
from heedful.engines.cuda.weights import Linear, Norm
from heedful.nn.feed_forward import Activation
from tests.support.triton_kernels import DEVICE, needs_triton

pytestmark = needs_triton
SHAPES = [(3, 4, 40, 4, 64), (5, 1, 70, 2, 48), (2, 3, 33, 8, 64)]  # batch, beam, length, heads, dim


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


@pytest.mark.parametrize(("batch", "beam", "length", "heads", "dim"), SHAPES)
def test_the_past_is_read_where_it_lies(batch: int, beam: int, length: int, heads: int, dim: int) -> None:
    from heedful.nn.kernels import decoding_attention

    rows = batch * beam
    generator = torch.Generator().manual_seed(1)
    first = (torch.arange(rows) // beam * beam)[:, None]
    holders = (first + torch.randint(0, beam, (rows, length), generator=generator)).int()
    steps = torch.randint(0, length, (batch,), generator=generator)
    steps[0] = 0
    projected, past = draw(rows, 3 * dim), draw(2, rows, length, dim)
    theirs = past.clone().to(DEVICE)
    expected = attention.attend_to_past(projected, past, holders, steps, heads)
    found = decoding_attention.attend_to_past(projected.to(DEVICE), theirs, holders.to(DEVICE), steps.to(DEVICE), heads)
    torch.testing.assert_close(found.cpu(), expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(theirs.cpu(), past)


@pytest.mark.parametrize(("batch", "beam", "length", "heads", "dim"), SHAPES)
def test_rows_look_at_their_own_sentence(batch: int, beam: int, length: int, heads: int, dim: int) -> None:
    from heedful.nn.kernels import decoding_attention

    is_real = torch.rand(batch, length, generator=torch.Generator().manual_seed(2)) < 0.7
    is_real[0] = False  # a sentence of nothing gives nothing
    ends = (is_real * torch.arange(1, length + 1)).amax(dim=1)
    query, memory = draw(batch * beam, dim), draw(2, batch, length, dim)
    expected = attention.attend_to_source(query, memory, is_real, ends, heads)
    memory[~is_real.expand(2, -1, -1)] = math.nan  # what is hidden is not read
    found = decoding_attention.attend_to_source(
        query.to(DEVICE), memory.to(DEVICE), is_real.to(DEVICE), ends.to(DEVICE), heads
    )
    torch.testing.assert_close(found.cpu(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("vocab", "count"), [(150, 5), (9000, 3), (4, 9)])
def test_the_best_tokens_come_in_order_and_of_equal_ones_the_lower_first(vocab: int, count: int) -> None:
    from heedful.nn.kernels import best_tokens

    logits = draw(8, vocab) * 3
    logits[:, ::7] = logits[:, 1:2]
    logits[0], logits[1, -1], logits[2, : vocab // 2] = -math.inf, math.nan, -math.inf
    kinds = torch.zeros(vocab, dtype=torch.int8)
    kinds[0], kinds[2] = choice.FORBIDDEN, choice.END
    steps = torch.arange(4)
    log_probs, ids = choice.best_allowed(logits, kinds, steps, 2, count)
    found = best_tokens.best_allowed(logits.to(DEVICE), kinds.to(DEVICE), steps.to(DEVICE), 2, count)
    torch.testing.assert_close(found[0].cpu(), log_probs, equal_nan=True)
    is_number = log_probs.isfinite()
    assert torch.equal(found[1].cpu()[is_number], ids[is_number])


@pytest.mark.parametrize("rows", [1, 5, 17])
@pytest.mark.parametrize("is_normed", [False, True])
@pytest.mark.parametrize("activation", [None, "relu", "gelu", "swish"])
def test_few_rows_are_projected_as_many_are(activation: Activation | None, is_normed: bool, rows: int) -> None:
    norm = Norm(draw(48), draw(48, seed=1), 1e-5) if is_normed else None
    linear = Linear(draw(96, 48) / 8, draw(96))
    stream = Stream(draw(rows, 48))
    expected = PlainProducts().project(stream, linear, norm, activation)
    found = FusedProducts().project(_moved(stream), _there(linear), _norm_there(norm), activation)
    torch.testing.assert_close(found.cpu(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("rows", [3, 17])
@pytest.mark.parametrize("has_norm", [False, True])
def test_sums_of_few_rows_are_those_of_many(has_norm: bool, rows: int) -> None:
    norm = Norm(draw(48), draw(48, seed=1), 1e-5) if has_norm else None
    output, logits, found = Linear(draw(48, 96) / 8, draw(48)), Linear(draw(70, 48) / 8, None), draw(rows, 96)
    plain, fused = Stream(draw(rows, 48)), _moved(Stream(draw(rows, 48)))
    for _ in range(3):
        plain = PlainProducts().add(plain, found, output, norm)
        fused = FusedProducts().add(fused, found.to(DEVICE), _there(output), _norm_there(norm))
    values = normalized(fused.values, fused.norm)
    torch.testing.assert_close(values.cpu(), plain.values, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        FusedProducts().logits(fused, _there(logits), None).cpu(),
        PlainProducts().logits(plain, logits, None),
        atol=1e-5,
        rtol=1e-5,
    )


def _moved(stream: Stream) -> Stream:
    return Stream(stream.values.to(DEVICE))


def _there(linear: Linear) -> Linear:
    return Linear(linear.weight.to(DEVICE), None if linear.bias is None else linear.bias.to(DEVICE))


def _norm_there(norm: Norm | None) -> Norm | None:
    return None if norm is None else Norm(norm.weight.to(DEVICE), norm.bias.to(DEVICE), norm.epsilon)
