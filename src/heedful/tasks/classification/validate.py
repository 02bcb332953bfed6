"""How good a classifier is while it trains: loss, accuracy, macro-F1, calibration, and the surest mistakes."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from heedful.data.labelled import Document
from heedful.data.labelled_batches import LabelledTokens
from heedful.evaluation.classification import calibration_error, confusion_matrix, macro_f1
from heedful.models.classifier import ClassifierModel
from heedful.training.durability.journal import Record
from heedful.training.job import Validation

_PATHS = ("encoder", "naive_bayes")
_LONGEST_SAMPLE = 500


def best_share(paths: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Return the weight of the second path, in tenths, with which most decisions are right; of equal ones the middle.

    paths [paths, batch, classes] are the logits of the two.
    """
    shares = np.arange(0, 11) / 10
    right = [int((((1 - share) * paths[0] + share * paths[1]).argmax(axis=1) == truth).sum()) for share in shares]
    best = np.flatnonzero(np.array(right) == max(right))
    return float(shares[best[len(best) // 2]])


class ClassificationValidator:
    """Judges a classifier on fixed documents; where it has two paths, also each of them by itself."""

    def __init__(
        self,
        tokens: LabelledTokens,
        documents: Sequence[Document],
        labels: Sequence[str],
        *,
        batch_tokens: int,
        pad_id: int,
        num_samples: int,
    ) -> None:
        self._tokens, self._documents, self._labels = tokens, documents, labels
        self._num_samples = num_samples
        self._batches = tokens.in_batches(batch_tokens=batch_tokens, pad_id=pad_id)

    def validate(self, model: nn.Module) -> Validation:
        """Judge a model that is in evaluation mode."""
        classifier = cast(ClassifierModel, model)
        paths = self._path_logits(classifier)
        log_probs = classifier.decide([torch.from_numpy(path) for path in paths]).numpy()
        log_probs = log_probs - np.logaddexp.reduce(log_probs, axis=1, keepdims=True)  # [batch, classes]
        truth, decided = self._tokens.labels, log_probs.argmax(axis=1)
        confidence = np.exp(log_probs.max(axis=1))
        numbers = {
            "loss": float(-log_probs[np.arange(len(truth)), truth].mean()),
            "accuracy": float((decided == truth).mean()),
            "macro_f1": macro_f1(confusion_matrix(truth, decided, len(self._labels))),
            "calibration_error": calibration_error(confidence, decided == truth),
        }
        if len(paths) > 1:
            for name, logits in zip(_PATHS, paths, strict=True):
                numbers[f"accuracy_{name}"] = float((logits.argmax(axis=1) == truth).mean())
            numbers["best_share"] = best_share(paths, truth)
        return Validation(numbers, self._samples(decided, confidence))

    def _path_logits(self, model: ClassifierModel) -> NDArray[np.float64]:
        """Return the logits of each path for each document, [paths, batch, classes]."""
        device = next(model.parameters()).device
        found: NDArray[np.float64] | None = None
        for numbers, batch in self._batches:
            logits = torch.stack(model.path_logits(batch.token_ids.to(device))).double().cpu().numpy()
            if found is None:
                found = np.zeros((len(logits), len(self._tokens), len(self._labels)))
            found[:, numbers] = logits
        assert found is not None, "a run has at least one document to be judged on"
        return found

    def _samples(self, decided: NDArray[np.int64], confidence: NDArray[np.float64]) -> list[Record]:
        """Return the mistakes it was surest of."""
        wrong = np.flatnonzero(decided != self._tokens.labels)
        surest = wrong[np.argsort(-confidence[wrong], kind="stable")][: self._num_samples]
        return [
            {
                "text": self._documents[number].text[:_LONGEST_SAMPLE],
                "label": self._documents[number].label,
                "decided": self._labels[decided[number]],
                "probability": round(float(confidence[number]), 4),
            }
            for number in surest.tolist()
        ]
