"""Classifiers small enough to make in every test: a real tokenizer, drawn weights, three labels."""

from typing import Any

import torch
from torch import nn

from heedful.config.classification import ClassifierConfig
from heedful.config.data import TokenizerConfig
from heedful.models.build import build_classifier
from heedful.storage.descriptions import ClassifierDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, weights_of
from heedful.tasks.classification.classifier import Classifier, classifier_of
from heedful.text.learning import learn_tokenizer

LINES = ["a truly good film", "a truly bad film", "it's 很好 的 电影 , really", "the end ."]
LABELS = ("neg", "pos", "unsure")


def make_folder(seed: int = 0, **settings: Any) -> ModelFolder[ClassifierDescription]:
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=320), LINES * 3, ())
    config = ClassifierConfig.model_validate(
        {"dim": 16, "attention": {"kind": "multi_head", "num_heads": 2}, "num_layers": 1, **settings}
    )
    generator = torch.Generator().manual_seed(seed)
    model = build_classifier(
        config, vocab_size=tokenizer.source_vocab_size, num_labels=3, pad_id=tokenizer.pad_id, generator=generator
    )
    for name, parameter in model.named_parameters():
        if not parameter.any() and not name.endswith("owners"):
            nn.init.normal_(parameter, std=0.5, generator=generator)
    return ModelFolder(
        ClassifierDescription(
            model=config, special_ids=SpecialIds.of(tokenizer), vocab_size=tokenizer.source_vocab_size, labels=LABELS
        ),
        weights_of(model),
        tokenizer.to_json(),
    )


def make(**settings: Any) -> Classifier:
    return classifier_of(make_folder(**settings), torch.device("cpu"))
