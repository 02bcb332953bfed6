"""Classifiers learn what they can see: any of them the words, only those with an order which word comes first.

Every step of the ladder learns from a fresh seed whether a word is there. Which of two words comes first is learned to
at least 98 % with positions (both kinds) or with n-grams, and is guessed without.
"""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from heedful.config.classification import ClassificationValidation, ClassifierConfig
from heedful.config.training import NoRegularizer, TrainingConfig
from heedful.data.labelled import Document
from heedful.data.labelled_batches import LabelledStream, LabelledTokens, labelled_tokens
from heedful.data.stream import prefetch
from heedful.models.build import build_classifier
from heedful.nn.ngrams import NgramCounts
from heedful.tasks.classification.validate import ClassificationValidator
from heedful.training.loop import Run, start_state, train
from heedful.training.losses.labels import ClassificationLoss
from tests.support.jobs import FunctionJob

PAD, BOS, FIRST, SECOND, VOCAB = 0, 1, 2, 3, 20


def presence(generator: random.Random) -> tuple[list[int], int]:
    """A document and whether a certain word is in it."""
    words = [generator.randrange(4, VOCAB) for _ in range(generator.randrange(4, 12))]
    label = generator.randrange(2)
    if label:
        words[generator.randrange(len(words))] = FIRST
    return [BOS, *words], label


def order(generator: random.Random) -> tuple[list[int], int]:
    """A document with two certain words side by side, and which of them comes first."""
    words = [generator.randrange(4, VOCAB) for _ in range(generator.randrange(1, 5))]
    label = generator.randrange(2)
    at = generator.randrange(len(words) + 1)
    words[at:at] = [SECOND, FIRST] if label else [FIRST, SECOND]
    return [BOS, *words], label


def documents(task: Any, count: int, seed: int) -> LabelledTokens:
    generator = random.Random(seed)
    rows = [task(generator) for _ in range(count)]
    return labelled_tokens([ids for ids, _ in rows], [label for _, label in rows])


def accuracy(tmp_path: Path, task: Any, steps: int, **settings: Any) -> float:
    """Train a small classifier through the real loop and return its accuracy on unseen documents."""
    torch.set_num_threads(1)
    settings = {
        "dim": 32,
        "num_layers": 1,
        "dropout": 0.0,
        "attention": {"kind": "multi_head", "num_heads": 4},
        **settings,
    }
    config = ClassifierConfig.model_validate(settings)
    tokens, unseen = documents(task, 2000, seed=1), documents(task, 400, seed=2)
    model = build_classifier(
        config, vocab_size=VOCAB, num_labels=2, pad_id=PAD, generator=torch.Generator().manual_seed(0)
    )
    if model.naive_bayes is not None:
        counts = NgramCounts(2)
        for _, batch in tokens.in_batches(batch_tokens=4000, pad_id=PAD):
            model.naive_bayes.count(counts, batch.token_ids, batch.token_ids != PAD, batch.labels)
        model.naive_bayes.set_ratios(counts, min_count=1, smoothing=1.0)
    stream = LabelledStream(tokens, batch_tokens=600, seed=1, pad_id=PAD)
    places = [Document("", str(label), "") for label in unseen.labels]
    validator = ClassificationValidator(unseen, places, ("0", "1"), batch_tokens=4000, pad_id=PAD, num_samples=0)
    training = TrainingConfig.model_validate(
        {"max_steps": steps, "label_smoothing": 0.0, "schedule": {"kind": "cosine", "peak": 1e-2, "warmup_steps": 20}}
    )
    state = start_state(model, training)
    loss = ClassificationLoss(model, label_smoothing=0.0, regularizer=NoRegularizer())
    validation = ClassificationValidation(every_steps=steps)
    run = Run(folder=tmp_path, training=training, validation=validation, seed=1, dim=32)
    train(state, FunctionJob(loss, lambda start: prefetch(stream, start), validator.validate), run)
    return state.scores[steps]


LADDER: list[dict[str, Any]] = [
    {"num_layers": 0},
    {"attention": {"kind": "basic"}, "layer": {"kind": "attention"}},
    {"attention": {"kind": "scaled"}, "layer": {"kind": "attention"}},
    {"attention": {"kind": "projected"}, "layer": {"kind": "attention"}},
    {"attention": {"kind": "basic"}, "layer": {"kind": "transformer", "hidden_dim": 64}},
    {},
]


@pytest.mark.parametrize("settings", LADDER, ids=lambda it: "-".join(str(value) for value in it.values()) or "full")
def test_every_step_of_the_ladder_learns_whether_a_word_is_there(tmp_path: Path, settings: dict[str, Any]) -> None:
    assert accuracy(tmp_path, presence, 150, **settings, positions={"kind": "none"}) >= 0.98


@pytest.mark.parametrize(
    "settings",
    [
        {"positions": {"kind": "sinusoidal"}},
        {"positions": {"kind": "learned", "max_len": 512}},
        {"positions": {"kind": "none"}, "num_layers": 0, "ngram_embedding": {"up_to": 2, "num_buckets": 1000}},
    ],
    ids=["sinusoidal", "learned", "ngrams"],
)
def test_which_word_comes_first_is_learned_from_positions_or_ngrams(tmp_path: Path, settings: dict[str, Any]) -> None:
    assert accuracy(tmp_path, order, 200, **settings) >= 0.98


def test_without_either_it_is_guessed(tmp_path: Path) -> None:
    assert accuracy(tmp_path, order, 100, positions={"kind": "none"}) <= 0.6


def test_the_linear_path_learns_it_alone(tmp_path: Path) -> None:
    path = {"up_to": 2, "num_buckets": 1000, "dropout": 0.0}
    found = accuracy(tmp_path, order, 100, positions={"kind": "none"}, num_layers=0, naive_bayes=path)
    assert found >= 0.98
