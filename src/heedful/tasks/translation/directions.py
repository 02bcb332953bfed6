"""Which language is translated into which, when a model knows several: by one step, by two, or not at all.

What the user leaves open is settled here, sentence by sentence: the language of a text is detected, and where only one
target makes sense it need not be said. A direction the model never learned is taken through a language that it can
reach and leave. Knows codes of languages; knows no model and no tokens.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heedful.errors import UserError
from heedful.text.language_detection import Detection, detect, known_languages, other_language
from heedful.text.language_names import language_name
from heedful.text.scripts import LATIN, UNDETERMINED

_SURE = 0.8
"""How sure the detection must be to be taken at its word. Below it, one word that many languages have, such as "Hotel",
is taken for one the model can translate from, rather than handed back or sent through a third language."""

_SURE_WITHIN = 0.9
"""How sure the detection must be of a short sentence in a text of several languages."""

_SURE_OF_NONE = 0.7
"""How sure the detection must be that a text is in no language the model translates from to leave it as it is."""


_LONGEST_NAME, _MOST_WORDS_OF_A_NAME, _LONGEST_PARTICLE = 60, 4, 3
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class Route:
    """How one text is translated."""

    source: str | None
    """Language of the text, even one the model does not translate from; None when it is empty or has no name."""

    confidence: float | None
    """How sure the detection of the language is, from 0 to 1; None when it was given or is the only one."""

    steps: tuple[str, ...]
    """The languages it is translated into, one after the other; none when it is in the wanted one already, or in one
    the model does not translate from."""

    target: str | None
    """The language asked for; None when nothing was asked, and the text is empty or in none the model knows."""

    is_unknown: bool = False
    """Whether the text is in a language the model does not translate from, and is left as it is."""

    seems: str | None = None
    """What the text clearly is in instead of `source`, where that was not detected."""

    @property
    def found(self) -> str:
        """What a sentence says of a text that `is_unknown`."""
        if self.source is None:
            return "seems to be in a language that this model does not translate from"
        return (
            f'seems to be in {language_name(self.source)} ("{self.source}"), which this model does not translate from'
        )


class Directions:
    """The pairs of languages a model was trained on, and the choice among them."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.pairs = tuple(pairs)
        self.sources = tuple(dict.fromkeys(source for source, _ in pairs))
        self.targets = tuple(dict.fromkeys(target for _, target in pairs))

    @classmethod
    def around(cls, source_language: str, target_language: str, languages: Sequence[str]) -> "Directions":
        """Guess the pairs of a model that does not name them: out of its source language, and back into it.

        `languages` are the targets it has tags for; the way back exists where the source language is one of them.
        """
        others = [language for language in languages if language != source_language] or [target_language]
        back = [(other, source_language) for other in others if source_language in languages]
        return cls([*((source_language, other) for other in others), *back])

    def check(self, source: str | None, target: str | None) -> None:
        """Refuse languages the model does not know, whatever the text will be."""
        if source is not None and source not in self.sources:
            raise UserError(f'This model translates from {_listed(self.sources)}, but was asked to from "{source}".')
        if target is not None and target not in self.targets:
            raise UserError(f'This model translates into {_listed(self.targets)}, but was asked for "{target}".')
        if source is not None or len(self.sources) == 1:
            self._route(source or self.sources[0], None, target)
        elif undetectable := [language for language in self.sources if language not in known_languages()]:
            named = _listed(undetectable)
            raise UserError(f"The language of the text must be said with --from, because {named} cannot be detected.")

    def route(self, text: str, source: str | None, target: str | None) -> Route:
        """Settle how a text is translated; None for what the user left open."""
        if not text:
            return Route(source, None, (), target)
        if source is not None or len(self.sources) == 1:
            said = source or self.sources[0]
            other = other_language(text, said, self.sources)
            return replace(self._route(said, None, target), seems=None if other is None else other.language)
        return self._detected(text, target)

    def within(self, whole: Route, sentences: Sequence[str]) -> list[Route]:
        """Settle how the sentences of a text are translated that goes by `whole`, whose language was detected.

        A sentence goes as the text does, unless it clearly is in another language. Where several languages are there,
        a sentence too short to be clear by itself may be in any of those.
        """
        if whole.source is None or whole.target is None or len(sentences) < 2:
            return [whole] * len(sentences)
        others = [other_language(sentence, whole.source, self.sources) for sentence in sentences]
        found = list(dict.fromkeys([whole.source, *(other.language for other in others if other is not None)]))
        if len(found) == 1:
            return [whole] * len(sentences)
        return [
            self._foreign(other or _one_of(found, sentence), whole)
            for other, sentence in zip(others, sentences, strict=True)
        ]

    def _foreign(self, found: Detection | None, whole: Route) -> Route:
        """Settle how a sentence is translated that is in another language than its text, or, for None, in the same."""
        if found is None or found.language == whole.source:
            return whole
        if found.language not in self.sources:
            is_unknown = found.language != whole.target
            return Route(found.language, found.confidence, (), whole.target, is_unknown=is_unknown)
        try:
            return self._route(found.language, found.confidence, whole.target)
        except UserError:  # no way from there
            return whole

    def _detected(self, text: str, target: str | None) -> Route:
        found = detect(text, self.sources)
        own = [one for one in found if one.language in self.sources]
        share = sum(one.confidence for one in own)
        if 1 - share >= _SURE_OF_NONE and not _may_be_name(text):
            other = next(one for one in found if one.language not in self.sources)
            source = None if other.language == UNDETERMINED else other.language
            return Route(source, other.confidence, (), target, is_unknown=source is None or source != target)
        best = own[0]
        if best.confidence < _SURE and target is not None:
            best = next((one for one in own if (one.language, target) in self.pairs), best)
        return self._route(best.language, best.confidence, target)

    def _route(self, source: str, confidence: float | None, target: str | None) -> Route:
        reachable = [into for origin, into in self.pairs if origin == source]
        if target is None:
            if len(reachable) > 1:
                raise UserError(
                    f'The target language must be said, because this model translates from "{source}" into '
                    f"{_listed(reachable)}. Say which with --to."
                )
            target = reachable[0]
        if target in reachable:
            return Route(source, confidence, (target,), target)
        if target == source:
            return Route(source, confidence, (), target)
        through = next((middle for middle in reachable if (middle, target) in self.pairs), None)
        if through is None:
            known = ", ".join(f"{origin} → {into}" for origin, into in self.pairs)
            raise UserError(f'This model has no way from "{source}" to "{target}", only {known}.')
        return Route(source, confidence, (through, target), target)


def _one_of(languages: Sequence[str], sentence: str) -> Detection | None:
    """Return which of the languages of its text a sentence is in; None when that is not sure."""
    best = detect(sentence, languages)[0]
    return best if best.language in languages and best.confidence >= _SURE_WITHIN else None


def _may_be_name(text: str) -> bool:
    """Say whether a text may be a name, such as "Rio de Janeiro", which may stand in any language with Latin letters.

    It has few words, the first and the last with a capital letter, small words at most between, and no end of sentence.
    """
    words = _WORD.findall(text[:_LONGEST_NAME])
    return (
        len(text) <= _LONGEST_NAME
        and 0 < len(words) <= _MOST_WORDS_OF_A_NAME
        and all(LATIN.match(word) for word in words)
        and all(word[0].isupper() for word in (words[0], words[-1]))
        and all(word[0].isupper() or len(word) <= _LONGEST_PARTICLE for word in words)
        and not text.rstrip().endswith((".", "!", "?", "…"))
    )


def _listed(languages: Sequence[str]) -> str:
    return ", ".join(f'"{language}"' for language in languages)
