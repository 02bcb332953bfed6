"""What stands before a sentence, for models that have learned to read it: who "she" is, which "bank" is meant.

A model trained with `data.augmentation.context` reads the sentences before a mark and translates what follows it; its
folder says how many (learned_text.py). Context comes from the same text, of the same language, and from no further
than the last blank line, so that a text has one translation wherever it is given and whatever is given beside it.
Where a model has learned none, there is none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heedful.data.augmentation import CONTEXT_MARK


@dataclass(frozen=True)
class Context:
    """Sentences before a unit, and their mark."""

    text: str
    ids: tuple[int, ...]
    place: int
    """Where it stands among the ids of a source: behind its language tag, if it has one."""

    def before(self, source_ids: tuple[int, ...]) -> tuple[int, ...]:
        """Return what the model reads."""
        return (*source_ids[: self.place], *self.ids, *source_ids[self.place :])


@dataclass(frozen=True)
class ContextReader:
    """Makes contexts for one model."""

    num_sentences: int
    max_tokens: int
    """What the model reads at once."""

    encode: Callable[[str], Sequence[int]]
    """A text into its ids alone, without tag and end."""

    num_tags: int

    def context_of(self, before: Sequence[str], num_source_tokens: int) -> Context | None:
        """Return the last of the sentences before a unit, as many as fit beside it; None where none does."""
        room = self.max_tokens - num_source_tokens
        for first in range(max(0, len(before) - self.num_sentences), len(before)):
            text = " ".join([*before[first:], CONTEXT_MARK])
            ids = tuple(self.encode(text))
            if len(ids) <= room:
                return Context(text, ids, self.num_tags)
        return None
