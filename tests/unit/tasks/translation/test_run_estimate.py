"""The estimate of a run against the real thing: a built model, and the tensors it keeps for its backward pass."""

from typing import Any

import numpy as np
import pytest
import torch

from heedful.config.data import DataConfig, LineCorpus
from heedful.config.models import ConvolutionalConfig, ModelConfig, RecurrentConfig, TransformerConfig
from heedful.config.training import TrainingConfig
from heedful.config.translation import TranslationRun
from heedful.models.build import build_model, count_parameters, num_parameters
from heedful.tasks.translation.estimate import RunEstimate, estimate_run

CORPUS = LineCorpus(source="a", target="b")
SMALL = {"dim": 64, "num_heads": 4, "hidden_dim": 256, "num_encoder_layers": 2, "num_decoder_layers": 3}


def config_of(model: ModelConfig | None = None, **training: Any) -> TranslationRun:
    return TranslationRun(
        name="x",
        data=DataConfig(train=[CORPUS], validation=[CORPUS]),
        model=model or TransformerConfig.model_validate(SMALL),
        training=TrainingConfig.model_validate(training),
    )


def estimate(config: TranslationRun, sources: list[int], targets: list[int], **settings: float) -> RunEstimate:
    sizes = {"source_vocab_size": 100, "target_vocab_size": 100}
    return estimate_run(config, np.array(sources), np.array(targets), **sizes, **settings)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre", "tying": "two_way", "output_bias": True},
        {"tying": "none", "positions": {"kind": "learned", "max_len": 50}},
    ],
)
def test_the_number_of_parameters_is_that_of_the_model(changes: dict[str, object]) -> None:
    config = TransformerConfig.model_validate({**SMALL, **changes})
    target_vocab_size = 120 if config.tying == "three_way" else 90
    model = build_model(config, source_vocab_size=120, target_vocab_size=target_vocab_size, pad_id=0)
    assert num_parameters(config, 120, target_vocab_size) == count_parameters(model)


@pytest.mark.parametrize(
    "model_config",
    [
        *(
            TransformerConfig.model_validate({**SMALL, **changes})
            for changes in ({}, {"hidden_dim": 64, "num_encoder_layers": 6}, {"norm": "pre"})
        ),
        RecurrentConfig(kind="recurrent", dim=64),
        RecurrentConfig(kind="recurrent", dim=32, num_encoder_layers=1, num_decoder_layers=4),
        ConvolutionalConfig(kind="convolutional", dim=64),
        ConvolutionalConfig(kind="convolutional", dim=64, num_encoder_layers=1, num_decoder_layers=6, norm="scaled"),
        ConvolutionalConfig(kind="convolutional", dim=64, kernel_size=5, num_encoder_layers=6, norm="pre"),
        RecurrentConfig(kind="recurrent", dim=64, attention="none"),
        RecurrentConfig(kind="recurrent", dim=64, cell="lstm", attention="general"),
        RecurrentConfig(kind="recurrent", dim=64, cell="lstm", input_feeding=True),
        RecurrentConfig(kind="recurrent", dim=64, attention="dot", input_feeding=True),
    ],
    ids=[
        "plain",
        "deep",
        "pre",
        "recurrent",
        "recurrent-deep",
        "convolutional",
        "scaled",
        "wide",
        "context",
        "lstm",
        "lstm-fed",
        "gru-fed",
    ],
)
def test_the_memory_is_what_the_model_keeps(model_config: ModelConfig) -> None:
    model = build_model(model_config, source_vocab_size=100, target_vocab_size=100, pad_id=0)
    weights = {parameter.data_ptr() for parameter in model.parameters()}
    kept: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    source_ids, target_ids = torch.full((10, 32), 5), torch.full((10, 16), 5)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.decode(target_ids, model.encode(source_ids, source_ids != 0), source_ids != 0)
    real = sum(tensor.untyped_storage().nbytes() for pointer, tensor in kept.items() if pointer not in weights)
    whole = estimate(config_of(model_config, batch_tokens=320), [30] * 10, [15] * 10)
    assert whole.largest_batch == (10, 32, 16)
    state = 16 * whole.num_parameters
    logits = 2 * 4 * 100 * 320
    assert whole.memory_bytes - state - logits == pytest.approx(real, rel=0.2)


def test_steps_epochs_and_time() -> None:
    whole = estimate(
        config_of(max_steps=100, batch_tokens=80, accumulate=2), [7] * 40, [3] * 40, tokens_per_second=40.0
    )
    assert whole.num_batches == 4
    assert whole.num_epochs == 50
    assert whole.num_target_tokens == 120
    assert whole.real_share == pytest.approx(10 / 12)
    assert whole.seconds == pytest.approx(50 * 120 / 40)
    assert estimate(config_of(), [8], [4]).seconds is None


def test_a_second_pass_and_a_moving_average_take_their_memory() -> None:
    plain, passes, average = (
        estimate(config_of(**training), [20] * 50, [20] * 50).memory_bytes
        for training in ({}, {"regularizer": {"kind": "r_drop"}}, {"ema_decay": 0.999})
    )
    assert passes > 1.5 * plain
    assert average - plain == 4 * num_parameters(TransformerConfig.model_validate(SMALL), 100, 100)
