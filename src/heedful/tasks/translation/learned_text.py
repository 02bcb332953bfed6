"""What text a translation model has learned from, as a fact of its folder: sentences, or longer.

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
_LEAST_SHARE = 0.2
"""Lines of several sentences, of all lines, from which on a model has learned to read them: one in a hundred, as among
Tatoeba's sentences, does not teach it."""


def learned_text(tokenizer: Tokenizer, sources: Sequence[str]) -> dict[str, JsonValue]:
    """Describe sources of the training text: what length 99 % of them have at most, how many are several sentences."""
    texts = [source for source in sources if source.strip()]
    languages = [tokenizer.languages[0]] * len(texts) if tokenizer.languages else None
    lengths = [len(ids) for ids in tokenizer.encode_source_batch(texts, languages)]
    several = [sum(bool(sentence.strip()) for sentence in split_sentences(text)) > 1 for text in texts]
    return {
        _LENGTH: int(np.percentile(lengths, 99, method="higher")) if lengths else 0,
        _SHARE: round(sum(several) / max(len(several), 1), 4),
    }


def joined_tokens(facts: Mapping[str, JsonValue]) -> int:
    """Return up to how many tokens neighbouring sentences are read together; 0 means one by one."""
    text = facts.get(LEARNED_TEXT)
    if not isinstance(text, Mapping):
        return 0
    length, share = text.get(_LENGTH), text.get(_SHARE)
    has_learned = isinstance(share, int | float) and share >= _LEAST_SHARE
    return length if has_learned and isinstance(length, int) and length > 0 else 0
