"""The loss of labelled documents, against the same thing written with torch's own functions."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from heedful.config.training import NoRegularizer, RDrop, SimCut
from heedful.data.labelled_batches import LabelledBatch
from heedful.training.classification_loss import classification_loss


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
    loss = classification_loss(label_smoothing=0.1, regularizer=NoRegularizer())(model, BATCH)
    paths = model.path_logits(BATCH.token_ids)
    expected = [functional.cross_entropy(path, BATCH.labels, label_smoothing=0.1, reduction="sum") for path in paths]
    assert_close(loss.loss_sum, expected[0] + expected[1])
    assert loss.num_tokens == 2
    together = 0.75 * paths[0] + 0.25 * paths[1]
    assert_close(loss.metrics["nll"], functional.cross_entropy(together, BATCH.labels, reduction="sum").detach())
    assert loss.metrics["accuracy"] == (together.argmax(dim=-1) == BATCH.labels).sum()


def test_r_drop_is_half_of_both_passes_and_their_divergence() -> None:
    model = TwoPaths()
    loss = classification_loss(label_smoothing=0.0, regularizer=RDrop(kind="r_drop", weight=3.0))(model, BATCH)
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
    loss = classification_loss(label_smoothing=0.0, regularizer=regularizer)(model, BATCH)
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
    classification_loss(label_smoothing=0.0, regularizer=regularizer)(model, BATCH).loss_sum.backward()
    assert model.first.grad is not None
    assert model.second.grad is not None
    assert model.first.grad.abs().sum() > 0
    assert model.second.grad.abs().sum() > 0
