"""The demonstration of the bundled models: what they say, what else they would have said, and where they doubt.

Asks the translator about sentences chosen here and the texts of texts.py, the classifier for labels and the language
model to write on, and returns what was found; the command line shows it. The sentences are everyday ones, which the
translator is made for, and then some that it is not made for. Knows no model from the inside.
The other demonstration, which trains a model of its own, is training_demo.py.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from heedful.demo.texts import BEGINNING, DIRECTIONS, REVIEWS, TEXTS
from heedful.storage.locate import find_model_folder
from heedful.tasks.classification.classifier import Classification, load_classifier
from heedful.tasks.language_modeling.model import load_text_model
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.translated import Alternative, Translation
from heedful.tasks.translation.translator import Translator
from heedful.text.words import SPACE_MARK, begins_word

LANGUAGES = {"en": "English", "de": "German", "fr": "French", "zh": "Chinese"}

EVERYDAY: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("en", "de", ("Where is the station?", "I would like to book a table for two people tomorrow evening.")),
    ("en", "fr", ("I have never been to Paris.", "Click the button to download the latest version.")),
    ("en", "zh", ("The children are playing in the garden.", "You can change the password at any time.")),
    ("de", "en", ("Er hat mir nicht gesagt, wann er kommt.", "Die Bibliothek ist am Montag geschlossen.")),
    ("fr", "en", ("Il n'y a plus de lait dans le frigo.", "Le maire a promis de réparer l'école avant l'hiver.")),
    ("zh", "en", ("她每天早上喝咖啡。", "他不知道该怎么办。")),
)
"""From which language, into which, what: text as it is said every day."""

AMBIGUOUS = ("en", "fr", "Are you tired?")
"""English does not say whether a friend or a stranger is asked, a man or a woman, one or several; French must."""

HARD: tuple[tuple[str, str, str], ...] = (
    ("en", "de", "He left his umbrella on the train."),
    ("en", "zh", "She has been learning German for two years."),
)
"""Sentences with a word that can be said in several ways, or that the model has not seen often enough."""

OUT_OF_DOMAIN: tuple[tuple[str, str, str], ...] = (
    ("en", "fr", "The lessee shall indemnify the lessor."),
    ("en", "zh", "Twas brillig, and the slithy toves did gyre and gimble in the wabe."),
    ("de", "en", "ölkjh üpoiz äqwert yxcvb"),
)
"""A contract, a nonsense poem, and a cat on the keyboard, of which the model is unsure."""


@dataclass(frozen=True)
class Word:
    """A word, or a Chinese piece, of a translation."""

    text: str
    probability: float
    """What the model gave it, when all before it was written."""

    follows_space: bool


@dataclass(frozen=True)
class Demonstration:
    """What the bundled model made of the sentences."""

    model_folder: Path
    num_bytes: int
    load_seconds: float
    everyday: list[Translation]
    ambiguous: Translation
    """With several alternatives."""

    hard: list[Translation]
    out_of_domain: list[Translation]
    texts: dict[str, list[Translation]]
    """Whole texts by what they are, each in all directions."""

    labelled: list[Classification]
    """With the words that moved each decision."""

    beginning: str
    written: str
    """What the language model wrote after the beginning."""


def demonstrate(*, say: Callable[[str], None] | None = None) -> Demonstration:
    """Load the bundled model and ask it everything; `say` is told when there is something to wait for."""
    folder = find_model_folder(None)
    started = time.perf_counter()
    translator = load_translator(folder, device="cpu", say=say)
    load_seconds = time.perf_counter() - started
    return Demonstration(
        model_folder=folder,
        num_bytes=sum(file.stat().st_size for file in folder.iterdir()),
        load_seconds=load_seconds,
        everyday=[it for source, target, texts in EVERYDAY for it in _ask(translator, source, target, texts)],
        ambiguous=_ask(translator, *AMBIGUOUS[:2], [AMBIGUOUS[2]], n_best=5)[0],
        hard=[_ask(translator, source, target, [text])[0] for source, target, text in HARD],
        out_of_domain=[_ask(translator, source, target, [text])[0] for source, target, text in OUT_OF_DOMAIN],
        texts={
            name: [_ask(translator, source, target, [versions[source]])[0] for source, target in DIRECTIONS]
            for name, versions in TEXTS.items()
        },
        labelled=list(load_classifier(device="cpu").classify_lines(REVIEWS, explain=True)),
        beginning=BEGINNING,
        written=write_on(BEGINNING),
    )


def write_on(beginning: str, *, max_tokens: int = 90) -> str:
    """Let the bundled language model write a text on, up to the end of a sentence where there is one."""
    pieces = load_text_model(device="cpu").generate(
        beginning, max_tokens=max_tokens, temperature=0.7, top_p=0.9, seed=1
    )
    text = b"".join(pieces).decode("utf-8", errors="replace").strip().split("\n")[0]
    end = text.rfind(".") + 1
    return text[:end] if end else text


def confidence(alternative: Alternative) -> float:
    """Return the geometric mean of the probabilities of the tokens: how sure the model is of an average one."""
    log_probs = alternative.token_log_probs
    return math.exp(sum(log_probs) / len(log_probs)) if log_probs else 1.0


def words_of(alternative: Alternative) -> list[Word]:
    """Join the pieces of an output to words, each as probable as all its pieces together; the end is none of them."""
    pieces = list(zip(alternative.tokens, alternative.token_log_probs, strict=True))
    if alternative.finish_reason == "eos":
        pieces = pieces[:-1]
    begins = [0, *(number + 1 for number, (one, next_) in enumerate(pairwise(pieces)) if begins_word(one[0], next_[0]))]
    words = []
    for start, end in pairwise([*begins, len(pieces)] if pieces else [0]):
        spelling = "".join(piece for piece, _ in pieces[start:end])
        probability = math.exp(sum(log_prob for _, log_prob in pieces[start:end]))
        words.append(Word(spelling.replace(SPACE_MARK, ""), probability, spelling.startswith(SPACE_MARK)))
    return [word for word in words if word.text]


def _ask(translator: Translator, source: str, target: str, texts: Sequence[str], n_best: int = 1) -> list[Translation]:
    return translator.translate_detailed(texts, from_=source, to=target, n_best=n_best)
