"""What text a translation model has learned from, as a fact of its folder: sentences, longer, or after others.

A model reads well what is like its training text. Whether a line of several sentences was part of it decides whether
sentences are translated one by one (plan.py). Folders that say nothing are taken to have learned sentences.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import JsonValue

from heedful.text.sentences import split_sentences
from heedful.text.tokenizer import Tokenizer

LEARNED_TEXT = "training text"
"""The name of the fact."""

_LENGTH = "source_tokens_99"
_SHARE = "several_sentences"
_CONTEXT = "context_sentences"
_MOST_CONTEXT = 8
_LEAST_SHARE = 0.2
"""Lines of several sentences, of all lines, from which on a model has learned to read them: one in a hundred, as among
Tatoeba's sentences, does not teach it."""


def learned_text(tokenizer: Tokenizer, sources: Sequence[str], *, context_sentences: int = 0) -> dict[str, JsonValue]:
    """Describe sources of the training text: what length 99 % of them have at most, how many are several sentences.

    `context_sentences` says how many lines were read before others.
    """
    texts = [source for source in sources if source.strip()]
    languages = [tokenizer.languages[0]] * len(texts) if tokenizer.languages else None
    lengths = [len(ids) for ids in tokenizer.encode_source_batch(texts, languages)]
    several = [sum(bool(sentence.strip()) for sentence in split_sentences(text)) > 1 for text in texts]
    context: dict[str, JsonValue] = {_CONTEXT: context_sentences} if context_sentences else {}
    return {
        _LENGTH: int(np.percentile(lengths, 99, method="higher")) if lengths else 0,
        _SHARE: round(sum(several) / max(len(several), 1), 4),
        **context,
    }


def joined_tokens(facts: Mapping[str, JsonValue]) -> int:
    """Return up to how many tokens neighbouring sentences are read together; 0 means one by one."""
    text = facts.get(LEARNED_TEXT)
    if not isinstance(text, Mapping):
        return 0
    length, share = text.get(_LENGTH), text.get(_SHARE)
    has_learned = isinstance(share, int | float) and share >= _LEAST_SHARE
    return length if has_learned and isinstance(length, int) and length > 0 else 0


def context_sentences(facts: Mapping[str, JsonValue]) -> int:
    """Return how many sentences before another a model has learned to read with it; 0 means none."""
    text = facts.get(LEARNED_TEXT)
    found = text.get(_CONTEXT) if isinstance(text, Mapping) else None
    if not isinstance(found, int) or isinstance(found, bool):
        return 0
    return found if 0 < found <= _MOST_CONTEXT else 0
