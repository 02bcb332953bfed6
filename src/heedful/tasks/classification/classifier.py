"""What one does with a trained classifier: text in, a label with probabilities out, and which words moved it.

The Python face of `heedful classify`. Documents of any length are taken; what the model reads of a long one follows
from its config (windows: all of it), and `Classification.num_unread` says how much was left out.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.config.classification import AnyClassifier, HeadAndTail
from heedful.data.labelled_batches import head_and_tail, labelled_tokens
from heedful.data.text_encoding import encode_texts
from heedful.models.classifier import ClassifierModel
from heedful.storage.descriptions import ClassifierDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import ModelFolder, load_model_folder, restore_model
from heedful.tasks.device import choose_device
from heedful.tasks.folder_tokenizers import classifier_tokenizer
from heedful.tasks.line_groups import group_lines
from heedful.text.tokenizer import Tokenizer
from heedful.text.words import UNSPACED

_BATCH_TOKENS = 16_384
_MOST_READ = 500_000  # tokens that are read, at most, to find out which words moved the decision about a text
_SHOWN = re.compile(rf"(?=\S)[{UNSPACED}]|[^\W{UNSPACED}]+(?:['’-][^\W{UNSPACED}]+)*|[^\w\s]")
"""What is shown with its influence: a word with its numbers and hyphens, a character without spaces, or a mark."""


@dataclass(frozen=True)
class WordInfluence:
    """How much a word moved the decision: what the logit of the label decided, above the mean of all, has of it."""

    word: str
    start: int
    """Where the word begins in the text, in characters."""

    end: int
    influence: float
    """Above 0 it spoke for the label, below 0 against it."""

    by_label: dict[str, float]
    """The same for each label, as if it had been decided."""


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
    """Classifies texts."""

    def __init__(
        self,
        model: ClassifierModel,
        tokenizer: Tokenizer,
        config: AnyClassifier,
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

    def classify_detailed(
        self, texts: Sequence[str], *, explain: bool = False, before_pass: Callable[[], None] = lambda: None
    ) -> list[Classification]:
        """Return labels with all probabilities; with `explain`, also how much each word moved the decision.

        An explanation takes a pass for each word; `before_pass` is called before each of them, and may raise.
        """
        documents = self.encode(texts)
        probabilities = self.probabilities(documents)
        return [
            self._describe(text, row, count, count - len(ids), before_pass if explain else None)
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
        self,
        text: str,
        probabilities: NDArray[np.float64],
        num_tokens: int,
        num_unread: int,
        before_pass: Callable[[], None] | None,
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
            words=[] if is_empty or before_pass is None else self.influences(text, order[0], before_pass=before_pass),
        )

    def influences(
        self, text: str, label: int, *, before_pass: Callable[[], None] = lambda: None
    ) -> list[WordInfluence]:
        """Return how much each word of a text moved the logit of a label, and of every other, against their mean.

        Occlusion: what the encoder's logit loses when the tokens of a word are hidden, as training hides tokens; of the
        linear path what each n-gram adds, exactly, its tokens sharing it evenly. In a text so long that hiding word by
        word would take too many passes, neighbours are hidden together and share what is lost.
        `before_pass` is called before every pass of the model; it may raise.
        """
        encoding = self.tokenizer.trace_source(text)
        ids = [self.tokenizer.bos_id, *encoding.ids, self.tokenizer.eos_id]
        spans = [(0, 0), *encoding.offsets, (0, 0)]
        read = shorten(self.config, range(len(ids)))
        token_ids = torch.tensor([[ids[place] for place in read]], device=self.device)
        words = list(_SHOWN.finditer(text))
        places = _places_of_words(words, [spans[place] for place in read], len(text))
        influences = _word_influences(self.model, token_ids, places, before_pass).tolist()
        return [
            WordInfluence(word[0], word.start(), word.end(), row[label], dict(zip(self.labels, row, strict=True)))
            for word, row in zip(words, influences, strict=True)
        ]


def _places_of_words(
    words: Sequence[re.Match[str]], spans: Sequence[tuple[int, int]], num_characters: int
) -> list[list[int]]:
    """Return for each word the tokens, by their `spans` of characters, that have a part in it."""
    owners = np.full(num_characters, -1)
    for number, word in enumerate(words):
        owners[word.start() : word.end()] = number
    places: list[list[int]] = [[] for _ in words]
    for place, (start, end) in enumerate(spans):
        for number in np.unique(owners[start:end]).tolist():
            if number >= 0:
                places[number].append(place)
    return places


@torch.no_grad()
def _word_influences(
    model: ClassifierModel, token_ids: Tensor, places: Sequence[Sequence[int]], before_pass: Callable[[], None]
) -> Tensor:
    """Return what each word, the tokens at `places` of one document token_ids [batch, length], adds to each logit.

    The result is [rows, classes], a row a word.
    """
    length = token_ids.size(1)
    size = math.ceil(len(places) * length / _MOST_READ) or 1
    groups = [places[start : start + size] for start in range(0, len(places), size)]
    keep = torch.ones(1 + len(groups), length, dtype=torch.bool, device=token_ids.device)  # all is seen in the first
    for row, group in enumerate(groups, start=1):
        keep[row, [place for word in group for place in word]] = False
    logits = []
    num_rows = max(1, _BATCH_TOKENS // length)
    for start in range(0, len(keep), num_rows):
        before_pass()
        some = keep[start : start + num_rows]
        many = token_ids.expand(len(some), -1)
        logits.append(model.encoder_logits(model.embed(many, some), many != model.pad_id))
    above = _above_mean(torch.cat(logits))  # [rows, classes]
    lost = above[0] - above[1:]
    encoder = [lost[number // size] / len(groups[number // size]) for number in range(len(places))]
    paths = [torch.stack(encoder) if encoder else lost]
    if model.naive_bayes is not None:
        added = _above_mean(model.naive_bayes.contributions(token_ids, token_ids != model.pad_id)[0])
        paths.append(torch.stack([added[list(word)].sum(dim=0) for word in places]) if places else lost)
    return model.decide(paths)


def _above_mean(logits: Tensor) -> Tensor:
    """Return by how much each logit is above the mean of its row, [rows, classes]."""
    return logits - logits.mean(dim=-1, keepdim=True)


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


def encode_documents(tokenizer: Tokenizer, config: AnyClassifier, texts: Sequence[str]) -> EncodedDocuments:
    """Turn texts into ids, shortened where the config says so; a corpus is encoded on all cores."""
    values, lengths = encode_texts(tokenizer, texts)
    ends = np.cumsum(lengths).tolist()
    whole = [
        [tokenizer.bos_id, *values[end - length : end].tolist()] for end, length in zip(ends, lengths, strict=True)
    ]
    return EncodedDocuments([shorten(config, ids) for ids in whole], [len(ids) for ids in whole])


def shorten(config: AnyClassifier, ids: Sequence[int]) -> Sequence[int]:
    """Return what the model reads of a document."""
    if isinstance(config.long_documents, HeadAndTail):
        return head_and_tail(ids, head=config.long_documents.head, tail=config.long_documents.tail)
    return ids


def load_classifier(model: str | Path | None = None, *, device: str | None = None) -> Classifier:
    """Load a classifier from a model folder, or that of a run folder; None, or "bundled", is the one that ships."""
    path = find_model_folder(model, "classification")
    return classifier_of(load_model_folder(path, ClassifierDescription), choose_device(device))


def classifier_of(folder: ModelFolder[ClassifierDescription], device: torch.device) -> Classifier:
    """Make a `Classifier` of a loaded model folder."""
    return Classifier(
        restore_model(folder).to(device),
        classifier_tokenizer(folder),
        folder.description.model,
        folder.description.labels,
        device=device,
    )
