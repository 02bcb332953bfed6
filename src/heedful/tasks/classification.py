"""What one does with a trained classifier: text in, a label with probabilities out, and which words moved it.

The Python face of `heedful classify`. Documents of any length are taken; what the model reads of a long one follows
from its config (windows: all of it), and `Classification.num_unread` says how much was left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.config.classification import ClassifierConfig, HeadAndTail
from heedful.data.labelled_batches import head_and_tail, labelled_tokens
from heedful.models.classifier import ClassifierModel
from heedful.models.classifier_folder import ClassifierFolder, load_classifier_folder, restore_classifier
from heedful.tasks.device import choose_device
from heedful.tasks.folder_tokenizers import classifier_tokenizer
from heedful.tasks.folders import find_model_folder
from heedful.tasks.streaming import group_lines
from heedful.text.tokenizer import Tokenizer

_BATCH_TOKENS = 16_384
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+(?:['’-][^\W{_HAN}]+)*|[^\w\s]")
"""A word, a Chinese character, or a mark."""


@dataclass(frozen=True)
class WordInfluence:
    """How much a word moved the decision: what it added to the logit of the label that was decided, above the mean."""

    word: str
    start: int
    """Where the word begins in the text, in characters."""

    end: int
    influence: float
    """Above 0 it spoke for the label, below 0 against it."""


@dataclass(frozen=True)
class Classification:
    """What was found out about one text."""

    text: str
    label: str | None
    """The most probable label; None for an empty text, of which nothing is said."""

    probabilities: dict[str, float]
    """Of all labels, the most probable first."""

    num_tokens: int
    num_unread: int
    """Tokens of a long text that the model did not read, 0 where it reads everything."""

    words: list[WordInfluence]
    """In the order of the text; empty unless asked for."""

    @property
    def probability(self) -> float | None:
        """Of the label that was decided."""
        return None if self.label is None else self.probabilities[self.label]


class Classifier:
    """Puts labels on texts."""

    def __init__(
        self,
        model: ClassifierModel,
        tokenizer: Tokenizer,
        config: ClassifierConfig,
        labels: Sequence[str],
        *,
        device: torch.device,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.config = config
        self.labels = tuple(labels)
        self.device = device

    @overload
    def classify(self, text: str) -> str | None: ...
    @overload
    def classify(self, text: list[str]) -> list[str | None]: ...
    def classify(self, text: str | list[str]) -> str | list[str | None] | None:
        """Return the label of a text, or of each of several; None for a text with nothing in it."""
        if isinstance(text, str):
            return self.classify_detailed([text])[0].label
        return [found.label for found in self.classify_detailed(text)]

    def classify_detailed(self, texts: Sequence[str], *, explain: bool = False) -> list[Classification]:
        """Return labels with all probabilities; with `explain`, also how much each word moved the decision."""
        documents = self.encode(texts)
        probabilities = self.probabilities(documents)
        return [
            self._describe(text, row, num_tokens=count, num_unread=count - len(ids), explain=explain)
            for text, row, ids, count in zip(texts, probabilities, documents.ids, documents.num_tokens, strict=True)
        ]

    def classify_lines(self, lines: Iterable[str], *, explain: bool = False) -> Iterator[Classification]:
        """Classify lines as they come, in order, each as soon as no better company is ready."""
        for group in group_lines(lines):
            yield from self.classify_detailed(group, explain=explain)

    def encode(self, texts: Sequence[str]) -> "EncodedDocuments":
        """Turn texts into what the model reads of them."""
        return encode_documents(self.tokenizer, self.config, texts)

    @torch.no_grad()
    def probabilities(self, documents: "EncodedDocuments") -> NDArray[np.float64]:
        """Return the probability of each label for each document, [batch, classes]."""
        found = np.zeros((len(documents.ids), len(self.labels)))
        tokens = labelled_tokens(documents.ids, [0] * len(documents.ids))
        for numbers, batch in tokens.in_batches(batch_tokens=_BATCH_TOKENS, pad_id=self.tokenizer.pad_id):
            logits = self.model(batch.token_ids.to(self.device))
            found[numbers] = logits.double().softmax(dim=-1).cpu().numpy()
        return found

    def _describe(
        self, text: str, probabilities: NDArray[np.float64], *, num_tokens: int, num_unread: int, explain: bool
    ) -> Classification:
        order = np.argsort(-probabilities, kind="stable").tolist()
        by_label = {self.labels[number]: float(probabilities[number]) for number in order}
        is_empty = not text.strip()
        return Classification(
            text=text,
            label=None if is_empty else self.labels[order[0]],
            probabilities={} if is_empty else by_label,
            num_tokens=num_tokens,
            num_unread=num_unread,
            words=self.influences(text, order[0]) if explain and not is_empty else [],
        )

    def influences(self, text: str, label: int) -> list[WordInfluence]:
        """Return how much each word of a text moved the logit of a label, against the mean of all logits.

        Gradient times input, summed over the features of each token; of the linear path this is what each n-gram adds,
        exactly. A token's share is spread over its characters, and a word has the sum of its own.
        """
        encoding = self.tokenizer.trace_source(text)
        ids = [self.tokenizer.bos_id, *encoding.ids, self.tokenizer.eos_id]
        spans = [(0, 0), *encoding.offsets, (0, 0)]
        read = shorten(self.config, range(len(ids)))
        token_ids = torch.tensor([[ids[place] for place in read]], device=self.device)
        influences = _token_influences(self.model, token_ids, label).tolist()
        characters = np.zeros(len(text))
        for place, influence in zip(read, influences, strict=True):
            start, end = spans[place]
            solid = [at for at in range(start, end) if not text[at].isspace()]
            characters[solid] += influence / max(1, len(solid))
        return [
            WordInfluence(found[0], found.start(), found.end(), float(characters[found.start() : found.end()].sum()))
            for found in _WORD.finditer(text)
        ]


def _token_influences(model: ClassifierModel, token_ids: Tensor, label: int) -> Tensor:
    """Return what each token of one document, token_ids [batch, length], adds to the logit of `label`: [length]."""
    is_real = torch.ones_like(token_ids, dtype=torch.bool)
    vectors = model.embed(token_ids).detach().requires_grad_()
    with torch.enable_grad():
        logits = model.encoder_logits(vectors, is_real)[0]
        (gradient,) = torch.autograd.grad(logits[label] - logits.mean(), vectors)
    paths = [(gradient * vectors.detach()).sum(dim=-1)[0]]
    if model.naive_bayes is not None:
        with torch.no_grad():
            added = model.naive_bayes.contributions(token_ids, is_real)[0]  # [length, classes]
        paths.append(added[:, label] - added.mean(dim=-1))
    return model.decide(paths)


@dataclass(frozen=True)
class EncodedDocuments:
    """Texts as the ids a classifier reads."""

    ids: list[Sequence[int]]
    """The start symbol, the text, the end symbol; of a long text what the config says."""

    num_tokens: list[int]
    """How many there were before anything was left out."""

    @property
    def num_shortened(self) -> int:
        """Documents of which something is not read."""
        return sum(len(ids) < count for ids, count in zip(self.ids, self.num_tokens, strict=True))


def encode_documents(tokenizer: Tokenizer, config: ClassifierConfig, texts: Sequence[str]) -> EncodedDocuments:
    """Turn texts into ids, shortened where the config says so."""
    whole = [[tokenizer.bos_id, *ids] for ids in tokenizer.encode_source_batch(texts)]
    return EncodedDocuments([shorten(config, ids) for ids in whole], [len(ids) for ids in whole])


def shorten(config: ClassifierConfig, ids: Sequence[int]) -> Sequence[int]:
    """Return what the model reads of a document."""
    if isinstance(config.long_documents, HeadAndTail):
        return head_and_tail(ids, head=config.long_documents.head, tail=config.long_documents.tail)
    return ids


def load_classifier(model: str | Path, *, device: str | None = None) -> Classifier:
    """Load a classifier from a model folder, or that of a run folder."""
    return classifier_of(load_classifier_folder(find_model_folder(model)), choose_device(device))


def classifier_of(folder: ClassifierFolder, device: torch.device) -> Classifier:
    """Make a `Classifier` of a loaded model folder."""
    return Classifier(
        restore_classifier(folder).to(device),
        classifier_tokenizer(folder),
        folder.model,
        folder.labels,
        device=device,
    )
