"""A memory that is carried from batch to batch: part of every checkpoint, untouched by a step that starts over."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from heedful.config.language_modeling import TransformerXLConfig
from heedful.config.training import TrainingConfig
from heedful.data.batch import SegmentBatch
from heedful.data.text_stream import TextStream
from heedful.errors import ModelFolderError
from heedful.models.build import build_language_model
from heedful.models.segment_memory import SegmentMemory
from heedful.models.transformer_xl import RelativeLayer
from heedful.training.compilation import compile_layers
from heedful.training.durability.checkpoint import load_checkpoint, save_checkpoint
from heedful.training.loop import start_state, weights_sha256
from heedful.training.losses.loss_module import LossSum
from heedful.training.losses.segment import SegmentLoss
from heedful.training.recorded_step import StepRecorder
from heedful.training.state import TrainState
from heedful.training.step import StepSettings, train_step

VOCAB, ROWS, SEGMENT, MEMORY = 12, 4, 6, 8
SHAPE = TransformerXLConfig(dim=16, num_heads=2, hidden_dim=32, num_layers=2, dropout=0.1)


def stream() -> TextStream:
    ids = np.random.default_rng(3).integers(0, VOCAB, 400)
    return TextStream(ids, num_streams=ROWS, segment_len=SEGMENT, seed=1)


class Training:
    """A run and its memory."""

    def __init__(
        self, shape: TransformerXLConfig = SHAPE, device: str = "cpu", dtype: torch.dtype = torch.float32
    ) -> None:
        model = build_language_model(shape, vocab_size=VOCAB, generator=torch.Generator().manual_seed(2)).to(device)
        self.memory = model.empty_memory(ROWS, MEMORY, dtype=dtype)
        self.loss = SegmentLoss(model, self.memory)
        self.state: TrainState = start_state(model, TrainingConfig(), self.loss.carried)
        self.state.model.train()

    def step(self, position: int, loss: Callable[..., Any] | None = None) -> None:
        batch = stream().batch_at(position).to(self.state.device)
        train_step(self.state, loss or self.loss, [batch], StepSettings(seed=4), learning_rate=1e-2)


def test_the_memory_after_a_step_is_what_the_model_read() -> None:
    run = Training(SHAPE.model_copy(update={"dropout": 0.0}))
    before = copy.deepcopy(run.state.model)
    run.step(0)
    batch = stream().batch_at(0)
    _, expected = before(batch.input_ids, before.empty_memory(ROWS, MEMORY))
    torch.testing.assert_close(run.memory.states, expected.states)
    assert run.memory.filled.tolist() == [SEGMENT] * ROWS
    run.step(1)
    assert run.memory.filled.tolist() == [MEMORY] * ROWS
    run.step(stream().num_segments)  # a new epoch: all begin anew
    assert run.memory.filled.tolist() == [SEGMENT] * ROWS


def test_learning_uses_the_memory() -> None:
    with_memory, without = Training(), Training()
    for run in (with_memory, without):
        run.step(0)
    without.memory.filled.zero_()
    for run in (with_memory, without):
        run.step(1)
    assert weights_sha256(with_memory.state.model) != weights_sha256(without.state.model)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_step_in_parts_is_the_step(norm: str) -> None:
    shape = SHAPE.model_copy(update={"dropout": 0.0, "norm": norm})
    whole, parts = Training(shape), Training(shape)
    parts.state.num_parts = 3
    for position in range(3):
        whole.step(position)
        parts.step(position)
    torch.testing.assert_close(parts.memory.states, whole.memory.states, rtol=1e-4, atol=1e-5)
    # Not the weights: where a gradient is zero but for rounding, Adam makes a whole step of the rounding.
    torch.testing.assert_close(parts.state.tally.loss_sum, whole.state.tally.loss_sum, rtol=1e-5, atol=0.0)
    torch.testing.assert_close(parts.state.tally.gradient_norm, whole.state.tally.gradient_norm, rtol=1e-4, atol=0.0)


def test_when_memory_runs_out_the_texts_are_remembered_as_if_it_had_not() -> None:
    shape = SHAPE.model_copy(update={"dropout": 0.0})
    smooth, rough = Training(shape), Training(shape)
    rough.state.num_parts = 2
    failures: list[SegmentBatch] = []

    def fails_once(batch: SegmentBatch) -> LossSum:
        if not failures and rough.state.step == 1 and batch.first_row > 0:  # the first part's memory is written by now
            failures.append(batch)
            raise torch.OutOfMemoryError("CUDA out of memory (a test says so)")
        return rough.loss(batch)

    for position in range(3):
        smooth.step(position)
        rough.step(position, fails_once)
    assert failures
    assert rough.state.num_parts == 4
    torch.testing.assert_close(rough.memory.states, smooth.memory.states, rtol=1e-4, atol=1e-5)
    assert torch.equal(rough.memory.filled, smooth.memory.filled)


def test_a_checkpoint_holds_the_memory_and_a_resumed_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    run = Training()
    for position in range(3):
        run.step(position)
    path = save_checkpoint(tmp_path, run.state, {})
    resumed = Training()
    load_checkpoint(path, resumed.state, {})
    assert torch.equal(resumed.memory.states, run.memory.states)
    for position in range(3, 6):
        run.step(position)
        resumed.step(position)
    assert weights_sha256(resumed.state.model) == weights_sha256(run.state.model)
    assert torch.equal(resumed.memory.states, run.memory.states)


def test_a_checkpoint_with_another_memory_is_refused(tmp_path: Path) -> None:
    run = Training()
    path = save_checkpoint(tmp_path, run.state, {})
    other = Training()
    other.memory = SegmentMemory.empty(2, ROWS, MEMORY + 1, 16)
    other.state.carried = SegmentLoss(other.state.model, other.memory).carried
    with pytest.raises(ModelFolderError, match="memory/states has shape"):
        load_checkpoint(path, other.state, {})


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_layers_can_be_traced_whole_for_the_compiler_with_their_gradients(norm: str) -> None:
    shape = SHAPE.model_copy(update={"dropout": 0.0, "norm": norm})
    plain, compiled = Training(shape), Training(shape)
    compile_layers(compiled.state.model, (RelativeLayer,), backend="aot_eager_decomp_partition")
    for position in range(2):
        plain.step(position)
        compiled.step(position)
    torch.testing.assert_close(compiled.memory.states, plain.memory.states)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_recorded_run_carries_its_memory_as_a_plain_one_does(dtype: torch.dtype) -> None:
    plain, recorded = Training(device="cuda", dtype=dtype), Training(device="cuda", dtype=dtype)
    settings = StepSettings(clip_norm=1.0, bf16=dtype == torch.bfloat16, seed=4)
    recorder = StepRecorder(recorded.state, recorded.loss, settings)
    for position in range(8):
        batch = stream().batch_at(position)
        recorder.step([batch.pin_memory()], learning_rate=1e-2)
        train_step(plain.state, plain.loss, [batch.to("cuda")], settings, learning_rate=1e-2)
    assert weights_sha256(recorded.state.model) == weights_sha256(plain.state.model)
    assert torch.equal(recorded.memory.states, plain.memory.states)
