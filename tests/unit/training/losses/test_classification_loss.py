"""The loss of labelled documents, against the same thing written with torch's own functions."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from heedful.config.classification import ClassifierConfig
from heedful.config.training import NoRegularizer, RDrop, SimCut, TrainingConfig
from heedful.data.batch import LabelledBatch
from heedful.data.labelled_batches import LabelledStream, labelled_tokens
from heedful.models.build import build_classifier
from heedful.training.loop import start_state, weights_sha256
from heedful.training.losses.labels import ClassificationLoss
from heedful.training.recorded_step import StepRecorder
from heedful.training.step import StepSettings, train_step


class TwoPaths(nn.Module):
    """A model of two tables: its logits depend on the first token of a document, and on the row where it stands."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.first = nn.Parameter(torch.randn(5, 3, generator=generator))
        self.second = nn.Parameter(torch.randn(5, 3, generator=generator))

    def path_logits(self, token_ids: Tensor, keep: Tensor | None = None) -> list[Tensor]:
        rows = torch.arange(len(token_ids))[:, None] / 10
        seen = token_ids[:, 0] if keep is None else token_ids[:, 0] * keep[:, 0]
        return [self.first[seen] + rows, self.second[seen] * (1 + rows)]

    def decide(self, paths: Sequence[Tensor]) -> Tensor:
        return 0.75 * paths[0] + 0.25 * paths[1]


BATCH = LabelledBatch(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 0]))


def test_each_path_pays_for_its_own_mistakes() -> None:
    model = TwoPaths()
    loss = ClassificationLoss(model, label_smoothing=0.1, regularizer=NoRegularizer())(BATCH)
    paths = model.path_logits(BATCH.token_ids)
    expected = [functional.cross_entropy(path, BATCH.labels, label_smoothing=0.1, reduction="sum") for path in paths]
    assert_close(loss.loss_sum, expected[0] + expected[1])
    assert loss.num_items == 2
    together = 0.75 * paths[0] + 0.25 * paths[1]
    assert_close(loss.metrics["nll"], functional.cross_entropy(together, BATCH.labels, reduction="sum").detach())
    assert loss.metrics["accuracy"] == (together.argmax(dim=-1) == BATCH.labels).sum()


def test_r_drop_is_half_of_both_passes_and_their_divergence() -> None:
    model = TwoPaths()
    loss = ClassificationLoss(model, label_smoothing=0.0, regularizer=RDrop(kind="r_drop", weight=3.0))(BATCH)
    expected = torch.zeros(())
    for path in model.path_logits(torch.cat([BATCH.token_ids] * 2)):
        p, q = (part.log_softmax(-1) for part in path.chunk(2))
        both = functional.nll_loss(p, BATCH.labels, reduction="sum") + functional.nll_loss(
            q, BATCH.labels, reduction="sum"
        )
        kl = functional.kl_div(p, q, log_target=True, reduction="sum") + functional.kl_div(
            q, p, log_target=True, reduction="sum"
        )
        expected = expected + both / 2 + 3.0 * kl / 4
    assert_close(loss.loss_sum, expected)


def test_simcut_asks_a_pass_with_cut_tokens_to_agree() -> None:
    model = TwoPaths()
    torch.manual_seed(0)
    regularizer = SimCut(kind="simcut", weight=2.0, cut_rate=0.999999)
    loss = ClassificationLoss(model, label_smoothing=0.0, regularizer=regularizer)(BATCH)
    keep = torch.cat([torch.ones(2, 2), torch.zeros(2, 2)]).long()
    expected = torch.zeros(())
    for path in model.path_logits(torch.cat([BATCH.token_ids] * 2), keep):
        full, cut = (part.log_softmax(-1) for part in path.chunk(2))
        kl = functional.kl_div(cut, full, log_target=True, reduction="sum")
        expected = expected + functional.nll_loss(full, BATCH.labels, reduction="sum") + 2.0 * kl
    assert_close(loss.loss_sum, expected)


@pytest.mark.parametrize("regularizer", [NoRegularizer(), RDrop(kind="r_drop"), SimCut(kind="simcut")])
def test_gradients_reach_both_paths(regularizer: NoRegularizer | RDrop | SimCut) -> None:
    model = TwoPaths()
    ClassificationLoss(model, label_smoothing=0.0, regularizer=regularizer)(BATCH).loss_sum.backward()
    assert model.first.grad is not None
    assert model.second.grad is not None
    assert model.first.grad.abs().sum() > 0
    assert model.second.grad.abs().sum() > 0


@pytest.mark.gpu
@pytest.mark.parametrize("bf16", [False, True])
def test_a_recorded_run_of_a_classifier_ends_in_the_weights_of_a_plain_one(bf16: bool) -> None:
    config = ClassifierConfig.model_validate(
        {
            "dim": 32,
            "pooling": "mean_max",
            "dropout": 0.2,
            "token_dropout": 0.1,
            "attention": {"kind": "multi_head", "num_heads": 2},
            "long_documents": {"kind": "windows", "length": 16},
            "ngram_embedding": {"up_to": 2, "num_buckets": 500},
            "naive_bayes": {"up_to": 2, "num_buckets": 500, "dropout": 0.3},
        }
    )
    settings = StepSettings(clip_norm=1.0, bf16=bf16, seed=7)
    rng = np.random.default_rng(1)
    documents = [rng.integers(4, 90, rng.integers(2, 40)).tolist() for _ in range(200)]
    stream = LabelledStream(
        labelled_tokens(documents, [len(ids) % 3 for ids in documents]), batch_tokens=600, seed=1, pad_id=0
    )
    ends = []
    for recorded in (False, True):
        model = build_classifier(
            config, vocab_size=90, num_labels=3, pad_id=0, generator=torch.Generator().manual_seed(3)
        )
        assert model.naive_bayes is not None
        nn.init.normal_(model.naive_bayes.ratios, generator=torch.Generator().manual_seed(4))
        state = start_state(model.cuda(), TrainingConfig(ema_decay=0.9))
        loss = ClassificationLoss(model.train(), label_smoothing=0.1, regularizer=RDrop(kind="r_drop"))
        recorder = StepRecorder(state, loss, settings)
        for position in range(3 * stream.batches_per_epoch):
            batch = stream.batch_at(position)
            if recorded:
                recorder.step([batch.pin_memory()], learning_rate=1e-3)
            else:
                train_step(state, loss, [batch.to("cuda")], settings, learning_rate=1e-3)
        ends.append((weights_sha256(state.model), state.tally.loss_sum.item()))
    assert ends[0] == ends[1]
