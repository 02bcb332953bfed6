"""What a trial step measures: memory in closed form, and that a whole batch costs as many times as it is larger."""

import torch
from torch import nn

from heedful.config.classification import ClassificationRun
from heedful.config.language_modeling import LanguageModelRun
from heedful.data.batch import LabelledBatch
from heedful.models.build import build_classifier, build_language_model, count_parameters
from heedful.tasks.trial_step import kept_bytes, try_labels, try_text
from heedful.training.losses.loss_module import LossSum
from tests.support.jobs import FunctionLoss

LABELS = ClassificationRun.model_validate(
    {
        "task": "classification",
        "name": "x",
        "data": {"train": [{"kind": "jsonl", "path": "none.jsonl"}]},
        "model": {
            "dim": 16,
            "num_layers": 1,
            "attention": {"kind": "multi_head", "num_heads": 2},
            "layer": {"kind": "transformer", "hidden_dim": 32},
        },
        "training": {"batch_tokens": 400},
    }
)
TEXT = LanguageModelRun.model_validate(
    {
        "task": "language_modeling",
        "name": "x",
        "data": {"kind": "files", "train": ["none"], "validation": ["none"]},
        "model": {"kind": "transformer_xl", "dim": 16, "num_heads": 2, "hidden_dim": 32, "num_layers": 2},
        "training": {"batch_tokens": 64, "segment_len": 16, "memory_len": 8, "ema_decay": 0.9},
    }
)


def test_what_is_kept_of_a_linear_map_is_its_input_and_of_a_relu_its_output() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    loss = FunctionLoss[LabelledBatch](model, lambda model, batch: LossSum(model(batch.token_ids).sum(), 5))
    batch = LabelledBatch(torch.randn(5, 8), torch.zeros(5))

    # The input of the first map, [5, 8], and the output of the ReLU, [5, 16], which is also the input of the second.
    assert kept_bytes(loss, batch, bf16=False) == 4 * (5 * 8 + 5 * 16)


def test_a_trial_of_labels_has_the_parameters_of_the_run_and_more_memory_for_more_rows() -> None:
    model = build_classifier(LABELS.model, vocab_size=50, num_labels=3, pad_id=0)
    small, large = (try_labels(LABELS, (rows, 20), vocab_size=50, num_labels=3, device="cpu") for rows in (2, 20))
    assert small.num_parameters == count_parameters(model)
    fixed = 16 * small.num_parameters + sum(buffer.nbytes for buffer in model.buffers())
    assert fixed < small.memory_bytes
    kept = [trial.memory_bytes - fixed for trial in (small, large)]
    assert 8 < kept[1] / kept[0] < 11  # ten times the rows; the position table is kept once
    assert small.tokens_per_second > 0


def test_a_trial_of_text_counts_the_moving_average() -> None:
    trial = try_text(TEXT, vocab_size=40, device="cpu")
    model = build_language_model(TEXT.model, vocab_size=40)
    assert trial.num_parameters == count_parameters(model)
    assert trial.memory_bytes > 20 * trial.num_parameters
    assert trial.tokens_per_second > 0
