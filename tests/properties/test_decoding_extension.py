"""Several tokens at once, and going back: whatever was appended, re-ordered and forgotten, a model answers as if each
row had been written from its beginning, and by itself.

The reference for the float models is one pass over the whole row, without a cache. The int8 engine computes every row
by itself and sums integers, so its reference is itself, one row and one step at a time, and the bits are the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.config.models import (
    ConvolutionalConfig,
    LearnedPositions,
    ModelConfig,
    SinusoidalPositions,
    TransformerConfig,
)
from heedful.decoding import Beginning, Ensemble, Extendable, Hypothesis, KeptReading, SearchRequest, Stepwise
from heedful.engines.int8.engine import Int8Transformer
from heedful.errors import HeedfulError
from heedful.models.build import build_model
from heedful.models.convolutional import ConvolutionalModel
from heedful.models.interfaces import EncoderDecoder
from heedful.models.transformer import Transformer
from tests.support.families import as_transformer
from tests.support.scripted import batch_of

VOCAB, MAX_ROWS, MAX_LEN = 40, 6, 12
TOLERANCE = 1e-5
needs_compiler = pytest.mark.skipif(not Int8Transformer.is_available(), reason="needs a C++ compiler")

sources = st.lists(st.lists(st.integers(3, VOCAB - 1), min_size=1, max_size=5), min_size=1, max_size=3)
programs = st.lists(st.sampled_from(["step", "extend", "follow", "rewind"]), min_size=2, max_size=14)
draws = st.randoms(use_true_random=False)


@cache
def float_model(name: str, seed: int = 0) -> Transformer:
    options: dict[str, Any] = {
        "paper": {"norm": "post", "positions": SinusoidalPositions()},
        "learned": {"norm": "pre", "tying": "none", "positions": LearnedPositions(kind="learned", max_len=MAX_LEN)},
    }[name]
    config = TransformerConfig(
        dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=2, dropout=0.0, **options
    )
    generator = torch.Generator().manual_seed(seed)
    return as_transformer(
        build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator).eval()
    )


@cache
def convolutional_model(kernel_size: int = 3) -> ConvolutionalModel:
    config = ConvolutionalConfig(kind="convolutional", dim=32, kernel_size=kernel_size, dropout=0.0)
    generator = torch.Generator().manual_seed(3)
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator).eval()
    assert isinstance(model, ConvolutionalModel)
    return model


@cache
def int8_model() -> Int8Transformer:
    return Int8Transformer(float_model("paper"), threads=2)


@dataclass(frozen=True)
class Row:
    """What one row translates, and what it has written."""

    source: tuple[int, ...]
    written: tuple[int, ...]


Reference = Callable[[Row], Tensor]
"""Row -> the logits after each of its tokens, [length, vocab]."""


def run_program(
    model: Extendable[Any], reference: Reference, program: Sequence[str], texts: Sequence[Sequence[int]], draw: Random
) -> list[tuple[Tensor, Tensor]]:
    """Do what the program says, and return pairs of what the model and the reference say after each new token."""
    source_ids, source_mask = batch_of(texts)
    state = model.start(source_ids, source_mask, max_rows=MAX_ROWS, max_len=MAX_LEN)
    rows = [Row(tuple(text), ()) for text in texts]
    found: list[tuple[Tensor, Tensor]] = []
    parents: Tensor | None = None
    for command in program:
        if command == "rewind":
            lengths = [draw.randint(0, len(row.written)) for row in rows]
            if draw.random() < 0.3:
                lengths = [min(len(row.written) for row in rows)] * len(rows)
            model.rewind(state, torch.tensor(lengths))
            rows = [Row(row.source, row.written[:length]) for row, length in zip(rows, lengths, strict=True)]
            continue
        room = MAX_LEN - max(len(row.written) for row in rows)
        num_new = 1 if command == "step" else draw.randint(1, 4)
        if num_new > room:
            continue
        if command == "follow":
            chosen = draw.choices(range(len(rows)), k=draw.randint(1, MAX_ROWS))
            parents, rows = torch.tensor(chosen), [rows[number] for number in chosen]
        new = [[draw.randrange(3, VOCAB) for _ in range(num_new)] for _ in rows]
        if command == "step":
            logits = model.step(state, torch.tensor(new).squeeze(1), parents).unsqueeze(1)
        else:
            logits = model.extend(state, torch.tensor(new), parents)
        parents = None
        rows = [Row(row.source, (*row.written, *tokens)) for row, tokens in zip(rows, new, strict=True)]
        found += [(logits[number], reference(row)[-num_new:]) for number, row in enumerate(rows)]
    return found


def in_one_pass(model: EncoderDecoder, row: Row) -> Tensor:
    with torch.no_grad():
        return model(torch.tensor([row.source]), None, torch.tensor([row.written]))[0]


def alone_and_step_by_step(model: Extendable[Any], row: Row) -> Tensor:
    source_ids, source_mask = batch_of([row.source])
    state = model.start(source_ids, source_mask, max_rows=1, max_len=len(row.written))
    return torch.cat([model.step(state, torch.tensor([token]), None) for token in row.written])


@settings(max_examples=60)
@given(st.sampled_from(["paper", "learned"]), programs, sources, draws)
def test_a_float_model_answers_as_one_pass_over_each_row(
    name: str, program: list[str], texts: list[list[int]], draw: Random
) -> None:
    model = float_model(name)
    for found, expected in run_program(model, lambda row: in_one_pass(model, row), program, texts, draw):
        torch.testing.assert_close(found, expected, atol=TOLERANCE, rtol=TOLERANCE)


@settings(max_examples=60)
@given(st.integers(1, 5), programs, sources, draws)
def test_a_convolutional_model_does_likewise_whatever_its_windows_see(
    kernel_size: int, program: list[str], texts: list[list[int]], draw: Random
) -> None:
    model = convolutional_model(kernel_size)
    for found, expected in run_program(model, lambda row: in_one_pass(model, row), program, texts, draw):
        torch.testing.assert_close(found, expected, atol=TOLERANCE, rtol=TOLERANCE)


@needs_compiler
@settings(max_examples=100)
@given(programs, sources, draws)
def test_the_int8_engine_gives_the_bits_of_each_row_alone_and_step_by_step(
    program: list[str], texts: list[list[int]], draw: Random
) -> None:
    model = int8_model()
    for found, expected in run_program(model, lambda row: alone_and_step_by_step(model, row), program, texts, draw):
        assert torch.equal(found, expected)


@settings(max_examples=20)
@given(programs, sources, draws)
def test_an_ensemble_answers_as_its_members_do(program: list[str], texts: list[list[int]], draw: Random) -> None:
    members = [float_model("paper", seed=1), float_model("learned", seed=2)]

    def mean(row: Row) -> Tensor:
        return torch.stack([in_one_pass(member, row).log_softmax(-1) for member in members]).mean(0)

    for found, expected in run_program(Ensemble(members), mean, program, texts, draw):
        torch.testing.assert_close(found, expected, atol=TOLERANCE, rtol=TOLERANCE)


def models() -> list[Any]:
    return [
        pytest.param(lambda: float_model("paper"), id="float"),
        pytest.param(lambda: Ensemble([float_model("paper"), float_model("learned")]), id="ensemble"),
        pytest.param(convolutional_model, id="convolutional"),
        pytest.param(int8_model, id="int8", marks=needs_compiler),
    ]


@pytest.mark.parametrize("make", models())
def test_the_best_after_each_token_are_those_of_the_logits(make: Callable[[], Extendable[Any]]) -> None:
    model, token_ids = make(), torch.tensor([[5, 6, 7], [8, 9, 10]])
    start = {"max_rows": 2, "max_len": 3}
    logits = model.extend(model.start(*batch_of([[4, 5], [6]]), **start), token_ids, None)
    log_probs, ids = model.extend_best(model.start(*batch_of([[4, 5], [6]]), **start), token_ids, None, count=4)
    expected = logits.log_softmax(-1).topk(4, dim=-1)
    assert torch.equal(ids, expected.indices)
    torch.testing.assert_close(log_probs, expected.values, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("make", models())
def test_places_are_used_again_and_again(make: Callable[[], Extendable[Any]]) -> None:
    model = make()
    state = model.start(*batch_of([[4, 5], [6]]), max_rows=2, max_len=5)
    first = model.step(state, torch.tensor([1, 1]), None)
    # Both rows share what row 0 had written; what one of them overwrites must not be what the other still needs.
    draw = torch.Generator().manual_seed(1)
    for _ in range(50):
        tokens = torch.randint(3, VOCAB, (2, 4), generator=draw)
        after = model.extend(state, tokens, torch.tensor([0, 0]))
        model.rewind(state, torch.tensor([1, 3]))
        again = model.extend(state, tokens[:, 2:], torch.tensor([1, 1]))
        torch.testing.assert_close(again[1], after[1, 2:], atol=TOLERANCE, rtol=TOLERANCE)
        model.rewind(state, torch.tensor([1, 1]))
    model.rewind(state, torch.tensor([0, 0]))
    torch.testing.assert_close(model.step(state, torch.tensor([1, 1]), None)[0], first[0])


@pytest.mark.parametrize(
    "config",
    [
        TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=2, tying="none"),
        ConvolutionalConfig(kind="convolutional", dim=32, tying="none"),
    ],
    ids=lambda config: config.kind,
)
def test_what_was_forgotten_may_have_been_no_number(config: ModelConfig) -> None:
    model = build_model(
        config,
        source_vocab_size=VOCAB,
        target_vocab_size=VOCAB,
        pad_id=0,
        generator=torch.Generator().manual_seed(1),
    ).eval()
    with torch.no_grad():
        model.target_embedding.weight[9] = torch.nan
    state = model.start(*batch_of([[4, 5], [6, 7]]), max_rows=2, max_len=6)
    assert model.step(state, torch.tensor([1, 1]), None).isfinite().all()
    assert model.extend(state, torch.tensor([[9, 9], [4, 5]]), None)[0].isnan().any()
    model.rewind(state, torch.tensor([1, 3]))
    found = model.extend(state, torch.tensor([[5], [6]]), None)
    assert found.isfinite().all()
    expected = in_one_pass(model, Row((4, 5), (1, 5)))[-1]
    torch.testing.assert_close(found[0, 0], expected, atol=TOLERANCE, rtol=TOLERANCE)


@pytest.mark.parametrize("make", models())
def test_a_row_goes_back_and_never_ahead_and_keeps_to_its_room(make: Callable[[], Extendable[Any]]) -> None:
    model = make()
    state = model.start(*batch_of([[4, 5], [6]]), max_rows=2, max_len=4)
    model.extend(state, torch.tensor([[1, 3], [1, 4]]), None)
    for lengths in ([3, 2], [2, -1], [1]):
        with pytest.raises((AssertionError, HeedfulError)):
            model.rewind(state, torch.tensor(lengths))
    model.rewind(state, torch.tensor([1, 2]))
    with pytest.raises((AssertionError, HeedfulError)):
        model.extend(state, torch.tensor([[5, 6, 7], [5, 6, 7]]), None)


@pytest.mark.gpu
@settings(max_examples=30)
@given(programs, sources, draws)
def test_a_gpu_answers_likewise(program: list[str], texts: list[list[int]], draw: Random) -> None:
    model = float_model("paper")
    on_gpu = OnGpu(model)
    for found, expected in run_program(on_gpu, lambda row: in_one_pass(model, row), program, texts, draw):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


class OnGpu:
    """A model that is asked from the CPU and computes on the GPU."""

    def __init__(self, model: Transformer) -> None:
        torch.set_float32_matmul_precision("highest")
        self._model = build_model(
            TransformerConfig(
                dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=2, dropout=0.0
            ),
            source_vocab_size=VOCAB,
            target_vocab_size=VOCAB,
            pad_id=0,
            generator=torch.Generator().manual_seed(0),
        ).eval()
        self._model.load_state_dict(model.state_dict())
        self._model.cuda()

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            there = [one.cuda() if isinstance(one, Tensor) else one for one in args]
            found = getattr(self._model, name)(*there, **options)
            return found.cpu() if isinstance(found, Tensor) else found

        return call


TEXTS = [[4, 5, 6], [7, 8], [9, 10, 11, 12]]


@pytest.mark.parametrize("make", models())
@pytest.mark.parametrize("beam_size", [1, 3])
def test_going_on_from_a_beginning_finds_what_forcing_it_finds(
    make: Callable[[], Extendable[Any]], beam_size: int
) -> None:
    generator, (source_ids, source_mask) = Stepwise(make()), batch_of(TEXTS)
    wanted = SearchRequest(bos_id=1, eos_id=2, max_lengths=[MAX_LEN] * 3, beam_size=beam_size, length_penalty=0.0)
    begun, following = [[13, 14, 15], [], [16]], [[17], [18, 19], []]
    prefixes = [before + after for before, after in zip(begun, following, strict=True)]
    forced = generator.generate(source_ids, source_mask, replace(wanted, prefix_ids=prefixes))
    beginnings = [
        Beginning(before, one[0].token_log_probs[: len(before)]) for before, one in zip(begun, forced, strict=True)
    ]
    found = generator.generate(source_ids, source_mask, replace(wanted, beginnings=beginnings, prefix_ids=following))
    for one, other in zip(found, forced, strict=True):
        assert (one[0].token_ids, one[0].finish_reason) == (other[0].token_ids, other[0].finish_reason)
        assert one[0].score == pytest.approx(other[0].score, abs=1e-4)


class CountingEngine(Int8Transformer):
    """The engine, which counts what it reads."""

    num_read = 0

    def start(self, source_ids: Tensor, *args: Any, **kwargs: Any) -> Any:
        self.num_read += len(source_ids)
        return super().start(source_ids, *args, **kwargs)


@needs_compiler
@pytest.mark.parametrize("beam_size", [1, 3])
def test_sentences_that_were_read_are_not_read_again_and_nothing_changes(beam_size: int) -> None:
    model = CountingEngine(float_model("paper"), threads=2)
    reading = KeptReading()

    def found(texts: list[list[int]], kept: KeptReading | None) -> list[list[Hypothesis]]:
        wanted = SearchRequest(
            bos_id=1, eos_id=2, max_lengths=[MAX_LEN] * len(texts), beam_size=beam_size, kept_reading=kept
        )
        return Stepwise(model).generate(*batch_of(texts), wanted)

    groups = [TEXTS, [TEXTS[2], TEXTS[0]], [TEXTS[1]] * 2]
    again = [found(texts, reading) for texts in groups]
    assert model.num_read == len(TEXTS)
    assert again == [found(texts, None) for texts in groups]
    model.num_read = 0
    assert found([TEXTS[0], [20, 21]], reading) == found([TEXTS[0], [20, 21]], None)
    assert model.num_read == 4  # one of them was never read: both are
    assert found(TEXTS + TEXTS, reading) == found(TEXTS + TEXTS, None)  # more rows than there is room for


@needs_compiler
def test_what_was_never_read_cannot_be_begun_again() -> None:
    model = int8_model()
    state = model.start(*batch_of([[4, 5], [6]]), max_rows=2, max_len=5)
    for sentences in ([2], [-1], [0, 0, 0]):
        with pytest.raises(HeedfulError):
            model.restart(state, torch.tensor(sentences))
