"""Which generator writes with a model: a Transformer on a GPU is replayed, whatever else there is goes step by step."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heedful.config.models import TransformerConfig
from heedful.decoding import Recorded, Stepwise
from heedful.engines.cuda.weights import is_plain
from heedful.models.build import build_model
from heedful.tasks.translation.families import generator_of
from heedful.tasks.translation.fast import with_speed
from heedful.tasks.translation.load import load_translator
from tests.support.tiny_models import LINES, save_model

SHAPE = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=1)


def test_without_a_gpu_a_model_is_searched_step_by_step() -> None:
    model = build_model(SHAPE, source_vocab_size=20, target_vocab_size=20, pad_id=0)
    assert isinstance(generator_of(model, half=True), Stepwise)


@pytest.mark.parametrize(
    "ablation", ["no_residual", "batch_norm", "no_attention_scale", "sine_positions", "concatenated_positions"]
)
def test_a_model_with_a_part_exchanged_is_not_taken_for_the_paper_s(ablation: str) -> None:
    config = SHAPE.model_validate({**SHAPE.model_dump(), "ablations": (ablation,)})
    assert is_plain(build_model(SHAPE, source_vocab_size=20, target_vocab_size=20, pad_id=0))
    assert not is_plain(build_model(config, source_vocab_size=20, target_vocab_size=20, pad_id=0))


@pytest.mark.gpu
def test_on_a_gpu_translations_are_replayed_and_in_fp32_the_same(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    exact, half = (load_translator(folder, device="cuda", quantize=quantize) for quantize in ("none", "auto"))
    assert isinstance(exact.generator, Recorded)
    assert isinstance(half.generator, Recorded)
    assert half.generator.fixed.dtype is torch.bfloat16  # type: ignore[attr-defined]
    assert with_speed(exact, fast=True) is exact
    stepwise = replace(exact, generator=exact.generator.generator)
    assert exact.translate(LINES * 9) == stepwise.translate(LINES * 9)
    assert len(half.translate(LINES)) == len(LINES)
