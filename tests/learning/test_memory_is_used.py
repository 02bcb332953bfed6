"""Transformer-XL learns to look further back than its segment, which without the memory cannot be done."""

from typing import Any

import numpy as np
import pytest
import torch

from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.config.training import TrainingConfig
from heedful.data.text_stream import TextStream
from heedful.models.build import TextReader, build_language_model
from heedful.models.language_model import LanguageModel
from heedful.models.transformer_xl import TransformerXL
from heedful.training.loop import start_state
from heedful.training.losses.segment import SegmentLoss
from heedful.training.step import StepSettings, train_step

VOCAB, SEGMENT, PERIOD = 8, 8, 16


def repeating_text(length: int, seed: int) -> np.ndarray:
    """Random blocks, each followed by itself: every second one can be known, by looking two segments back."""
    blocks = np.random.default_rng(seed).integers(0, VOCAB, (length // (2 * PERIOD), 1, PERIOD))
    return np.repeat(blocks, 2, axis=1).reshape(-1)


def accuracy_on_repeats(model: TransformerXL | LanguageModel, ids: np.ndarray, memory_len: int) -> float:
    """Read an unseen text symbol by segment and count the repeated symbols that were expected most."""
    reader = model.eval().reader(1, memory_len=memory_len, segment_len=SEGMENT)
    text = torch.from_numpy(ids).unsqueeze(0)
    found = torch.cat([reader.read(part).argmax(-1) for part in text[:, :-1].split(SEGMENT, dim=1)], dim=1)
    place = torch.arange(1, text.size(1)) % (2 * PERIOD)
    known = place >= PERIOD
    return (found[0][known] == text[0, 1:][known]).double().mean().item()


def trained(config: TransformerXLConfig | LanguageModelConfig, memory_len: int, steps: int) -> TextReader:
    model = build_language_model(config, vocab_size=VOCAB, generator=torch.Generator().manual_seed(1))
    stream = TextStream(repeating_text(20_000, seed=2), num_streams=16, segment_len=SEGMENT, seed=3)
    memory = model.empty_memory(16, memory_len)
    loss = SegmentLoss(model.train(), memory)
    state = start_state(model, TrainingConfig(), loss.carried)
    for step, batch in zip(range(steps), stream.batches_from(0), strict=False):
        rate = 5e-3 * min(1.0, (step + 1) / 20, 3 * (steps - step) / steps)
        train_step(state, loss, [batch], StepSettings(clip_norm=1.0), learning_rate=rate)
    return model


SHAPE: dict[str, Any] = {"dim": 32, "num_heads": 2, "hidden_dim": 64, "num_layers": 2, "dropout": 0.0}


def test_with_memory_the_repeats_are_known() -> None:
    model = trained(TransformerXLConfig(**SHAPE), memory_len=PERIOD, steps=400)
    unseen = repeating_text(3200, seed=9)
    assert accuracy_on_repeats(model, unseen, memory_len=PERIOD) >= 0.98
    # The same weights with a memory of half the period are blind to most of it.
    assert accuracy_on_repeats(model, unseen, memory_len=SEGMENT // 2) < 0.5


@pytest.mark.parametrize(
    "config",
    [
        TransformerXLConfig(**SHAPE),
        LanguageModelConfig(kind="language_model", norm="pre", context_len=SEGMENT, **SHAPE),
    ],
)
def test_without_memory_they_are_not(config: TransformerXLConfig | LanguageModelConfig) -> None:
    model = trained(config, memory_len=0, steps=100)
    assert accuracy_on_repeats(model, repeating_text(3200, seed=9), memory_len=0) < 0.5
