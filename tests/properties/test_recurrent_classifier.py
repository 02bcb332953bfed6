"""A recurrent classifier: padding and batch change nothing, whatever the pooling; a document is read both ways."""

import pytest
import torch
from torch import Tensor

from heedful.config.classification import RecurrentClassifierConfig
from heedful.models.build import build_classifier
from heedful.models.classifier import ClassifierModel


def build(pooling: str, cell: str = "lstm", window: int = 8) -> ClassifierModel:
    shape = {"kind": "recurrent", "dim": 16, "cell": cell, "pooling": pooling}
    config = RecurrentClassifierConfig.model_validate(
        {**shape, "long_documents": {"kind": "windows", "length": window}}
    )
    model = build_classifier(config, vocab_size=20, num_labels=3, pad_id=0, generator=torch.Generator().manual_seed(1))
    torch.nn.init.normal_(model.output.weight, generator=torch.Generator().manual_seed(2))
    return model.eval()


def documents() -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(1, 20, (length,), generator=generator) for length in (1, 5, 8, 9, 21)]


@pytest.mark.parametrize("pooling", ["mean", "max", "mean_max", "ends"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@torch.no_grad()
def test_padding_and_batch_do_not_change_the_logits(pooling: str, cell: str) -> None:
    model = build(pooling, cell)
    padded = torch.nn.utils.rnn.pad_sequence(documents(), batch_first=True)
    together = model(padded)
    for row, document in enumerate(documents()):
        torch.testing.assert_close(model(document.unsqueeze(0))[0], together[row], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_the_ends_know_the_first_word_and_the_last() -> None:
    model = build("ends", window=32)
    document = documents()[2]
    whole = model(document.unsqueeze(0))
    for place in (0, -1):
        other = document.clone()
        other[place] = other[place] % 19 + 1
        assert not torch.allclose(model(other.unsqueeze(0)), whole)
    assert not torch.allclose(model(document.flip(0).unsqueeze(0)), whole), "the order is read"
