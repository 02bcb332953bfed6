"""Links between a text and its translation, by whatever a translator has to look with: its engine, or its modules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heedful.decoding import KeptReading
from heedful.engines.int8.engine import Int8Transformer
from heedful.models.interfaces import EncoderDecoder
from heedful.tasks.translation.alignment import Link, links_between, quick_looks
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.translated import WordLink
from heedful.tasks.translation.word_alignment import link_words, words_looked_at
from heedful.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Aligner:
    """What links texts with their translations."""

    tokenizer: Tokenizer
    directions: Directions
    modules: Callable[[], EncoderDecoder]
    """Makes the model as modules; a `UserError` says why where none can be looked into."""

    is_able: bool
    """Whether there is a model to be looked into."""

    engine: Int8Transformer | None = None
    """The same model, where it is computed by the engine."""

    def token_links(self, source: str, target: str, unit: Unit) -> list[Link]:
        """Link the tokens of a translation by the first step of a unit with its text, where that can be."""
        if not self.is_able:
            return []
        return links_between(self.modules(), self.tokenizer, source, target, unit.steps[0])

    def word_links(self, unit: Unit, text: str, translation: str) -> tuple[WordLink, ...]:
        """Link the words of a unit's text with those of its translation by the first step."""
        language, into = unit.language, unit.steps[0] if unit.steps else ""
        back = language if (into, language) in self.directions.pairs and self.tokenizer.languages else None
        return tuple(link_words(self.modules(), self.tokenizer, text, translation, (into, back)))

    def links_of_all(
        self, units: Sequence[Unit], texts: Sequence[str], reading: KeptReading | None = None
    ) -> list[Sequence[WordLink]]:
        """Link the words of units, read before or not, with those of their translations, fast rather than well."""
        pairs = list(zip(units, texts, strict=True))
        if self.engine is None:
            return [self.word_links(unit, unit.text, text) for unit, text in pairs]
        sources = [(unit.text, unit.steps[0]) for unit in units]
        looks = quick_looks(self.engine, self.tokenizer, sources, texts, reading)
        return [words_looked_at(look, unit.text, text) for look, (unit, text) in zip(looks, pairs, strict=True)]
