"""Models of classifiers with drawn weights, and documents of drawn ids for them."""

from typing import Any

import torch
from torch import nn

from heedful.config.classification import ClassifierConfig
from heedful.models.build import build_classifier
from heedful.models.classifier import ClassifierModel

PAD, VOCAB = 0, 50


ATTENTIONS: list[dict[str, Any]] = [
    {"kind": "basic"},
    {"kind": "scaled"},
    {"kind": "projected"},
    {"kind": "multi_head", "num_heads": 2},
]


def build(seed: int = 0, num_labels: int = 3, **settings: Any) -> ClassifierModel:
    config = ClassifierConfig.model_validate(
        {"dim": 16, "num_layers": 2, "attention": {"kind": "multi_head", "num_heads": 2}, "dropout": 0.0, **settings}
    )
    generator = torch.Generator().manual_seed(seed)
    model = build_classifier(config, vocab_size=VOCAB, num_labels=num_labels, pad_id=PAD, generator=generator)
    for name, parameter in model.named_parameters():  # also what begins at zero must count
        if not parameter.any() and not name.endswith("owners"):
            nn.init.normal_(parameter, std=0.5, generator=generator)
    return model.eval()


def documents(*lengths: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, VOCAB, (len(lengths), max(lengths)), generator=generator)
    return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PAD)
