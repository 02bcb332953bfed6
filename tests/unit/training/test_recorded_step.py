from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.config.models import TransformerConfig
from heedful.config.training import RDrop, TrainingConfig, ValidationConfig
from heedful.data.batch import Batch, collate
from heedful.models.build import build_model
from heedful.training.job import Validation
from heedful.training.loop import Run, start_state, train, weights_sha256
from heedful.training.losses.sequence import SequenceLoss
from heedful.training.recorded_step import StepRecorder
from heedful.training.step import StepSettings, train_step
from tests.support.jobs import FunctionJob, Heard

SHAPE = TransformerConfig(
    dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=2, dropout=0.2, attention_dropout=0.1
)
VOCAB = 300


def batches(count: int) -> list[Batch]:
    rng = np.random.default_rng(1)
    made = []
    for number in range(count):
        length = (8, 16, 11)[number % 3] if number < count - 1 else 21
        sides = [[rng.integers(4, VOCAB, rng.integers(2, length)) for _ in range(6)] for _ in range(2)]
        made.append(collate(*sides, bos_id=1, pad_id=0, source_len=length, target_len=length))
    return made


@pytest.mark.gpu
@pytest.mark.parametrize("bf16", [False, True])
def test_a_recorded_run_ends_in_the_weights_of_a_plain_one(bf16: bool) -> None:
    settings = StepSettings(clip_norm=1.0, bf16=bf16, seed=7)
    ends = []
    for recorded in (False, True):
        generator = torch.Generator().manual_seed(3)
        model = build_model(SHAPE, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
        state = start_state(model.cuda(), TrainingConfig(ema_decay=0.9))
        loss = SequenceLoss(state.model.train(), label_smoothing=0.1, regularizer=RDrop(kind="r_drop"))
        recorder = StepRecorder(state, loss, settings)
        for number, batch in enumerate(batches(20)):
            rate = 1e-3 / (1 + number)
            if recorded:
                recorder.step([batch.pin_memory()], learning_rate=rate)
            else:
                on_gpu = batch.to("cuda")
                train_step(state, loss, [on_gpu], settings, learning_rate=rate)
        assert len(recorder._recordings) == (3 if recorded else 0)
        assert state.step == 20
        average = [weight.clone() for weight in state.average.weights.values()]
        ends.append((weights_sha256(state.model), state.tally.loss_sum.item(), state.tally.num_items.item(), average))
    assert ends[0][:3] == ends[1][:3]
    assert all(torch.equal(one, other) for one, other in zip(ends[0][3], ends[1][3], strict=True))


@pytest.mark.gpu
def test_a_recorded_run_changes_its_loss_at_the_same_step_as_a_plain_one(tmp_path: Path) -> None:
    ends = []
    for recorded in (False, True):
        config = TrainingConfig(max_steps=20, cuda_graphs=recorded, precision="bf16", log_every=5)
        generator = torch.Generator().manual_seed(3)
        model = build_model(SHAPE, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
        state = start_state(model.to("cuda"), config)
        folder = tmp_path / str(recorded)
        folder.mkdir()
        job = FunctionJob(
            SequenceLoss(state.model, label_smoothing=0.1, regularizer=RDrop(kind="r_drop", after_steps=9)),
            lambda start: iter([batch.pin_memory() for batch in batches(20)[start:]]),
            lambda _: Validation({"loss": 0.0}),
        )
        heard = Heard()
        validation = ValidationConfig(every_steps=20, metric="loss")
        train(state, job, Run(folder, config, validation, seed=7, dim=32, observer=heard))
        ends.append(weights_sha256(state.model))
        assert ["divergence" in record for record in heard.shown if record["kind"] == "train"] == [
            False,
            True,
            True,
            True,
        ]
    assert ends[0] == ends[1]
