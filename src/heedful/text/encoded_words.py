"""Many texts to ids at once, fast: what stands between two spaces is cut into pieces once and remembered.

No piece reaches across a space, and no normalisation looks beyond one (a character map of an imported model might, and
is applied to the whole text first), so the ids of a text are those of its parts, one after the other. Frequent words
are most of any text. The result is that of `Tokenizer.encode_source_batch` and `encode_target_batch`, as arrays; a test
holds them equal. This file knows no corpora.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heedful.text.normalization import CharacterMap, normalize
from heedful.text.subwords import Subwords, mark
from heedful.text.tokenizer import Tokenizer
from heedful.text.words import SPACE_MARK

Joined = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Sequences as their values, one after the other, and their lengths."""

_MOST_REMEMBERED = 1 << 17
"""Parts of texts; then all are forgotten, and the frequent ones soon known again. About 20 MB."""

_LONGEST_REMEMBERED = 32
"""Characters. What is longer, sentences of languages without spaces above all, rarely comes again."""


_STOPS = frozenset(".,;:!?)")
"""Where words are cut as ours are, letters and these are never in one piece."""


class EncodedWords(dict[str, bytes]):
    """The ids of the words of one side, as bytes of int32, each found when it is first asked for."""

    def __init__(self, tokenizer: Tokenizer, side: Subwords) -> None:
        super().__init__()
        self._subwords, self._normalization = side, tokenizer.normalization
        self._is_whole = isinstance(tokenizer.normalization, CharacterMap)
        self._stops = {stop: _bytes_of(side.encode_batch([stop])[0]) for stop in _STOPS}
        self._end = _bytes_of([tokenizer.eos_id])

    def encode(self, texts: Sequence[str], tag: int | None = None) -> Joined:
        """Return the ids of each text, with the tag first, where there is one, and the end symbol last."""
        opening = b"" if tag is None else _bytes_of([tag])
        if self._is_whole:
            texts = [normalize(text, self._normalization) for text in texts]
        ids_of = self.__getitem__
        # Nothing at all has no words; a split would find an empty one.
        rows = [
            opening + b"".join(map(ids_of, text.split(" "))) + self._end if text else opening + self._end
            for text in texts
        ]
        lengths = np.fromiter(map(len, rows), dtype=np.int32, count=len(rows)) // 4
        return np.frombuffer(b"".join(rows), dtype=np.int32), lengths

    def __missing__(self, word: str) -> bytes:
        found = self._without_stop(word) or self._encoded(word)
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = found
        return found

    def _without_stop(self, word: str) -> bytes | None:
        """Return the ids of a word that ends in a stop by those of the word, which is more often known."""
        if (
            self._subwords.splitting == "words"
            and word[-1:] in _STOPS
            and word[-2:-1].isascii()
            and word[-2:-1].isalpha()
        ):
            return self[word[:-1]] + self._stops[word[-1]]
        return None

    def _encoded(self, word: str) -> bytes:
        text = word if self._is_whole else normalize(word, self._normalization)
        if text or not self._normalization.collapses_spaces:
            return _bytes_of(self._subwords.encode_batch([mark(text) or SPACE_MARK])[0])
        return b""


def _bytes_of(ids: Sequence[int]) -> bytes:
    return np.asarray(ids, dtype=np.int32).tobytes()
