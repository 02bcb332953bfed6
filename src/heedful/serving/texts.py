"""The texts of a request as units of work, and back: lines, and the parts of lines that are too long.

A translator makes one line of one line, so a text with several is cut at its line ends and put together again; blank
lines stay. A line longer than the model reads at once is cut as `heedful translate` cuts it. Knows nothing of HTTP.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.tasks.directions import Route
from heedful.tasks.long_inputs import join_parts
from heedful.tasks.output_warnings import OutputWarning
from heedful.tasks.translation import Translation, Translator
from heedful.text.sentences import split_sentences


@dataclass(frozen=True)
class Unit:
    """One thing to translate."""

    text: str
    num_tokens: int


@dataclass(frozen=True)
class TextPlan:
    """What has to be done for one text."""

    route: Route
    lines: tuple[tuple[Unit, ...], ...]
    """For each line its units: none for a blank one, one for most."""

    @property
    def units(self) -> list[Unit]:
        """All units of the text, in order."""
        return [unit for line in self.lines for unit in line]


@dataclass(frozen=True)
class TranslatedText:
    """What became of one text."""

    text: str
    alternatives: tuple[str, ...]
    """Other translations of the whole text, best first, without the translation itself."""

    route: Route
    units: tuple[Translation, ...]
    warnings: tuple[OutputWarning, ...]
    """What is to be known about any of its parts, each kind once."""


def plan_text(translator: Translator, text: str, source: str | None, target: str | None) -> TextPlan:
    """Settle the languages of a text and cut it into units; raises `UserError` when there is no way."""
    route = translator.directions.route(text if text.strip() else "", source, target)
    if route.is_unknown:  # nothing is read by the model, so that lines stay whole
        return TextPlan(route, tuple((Unit(line, 0),) if line.strip() else () for line in text.split("\n")))
    # Tokens are counted here, so that any tag will do for a text that stays as it is.
    tag = (
        next(iter((*route.steps[:1], *translator.tokenizer.languages)), None)
        if translator.tokenizer.languages
        else None
    )
    return TextPlan(route, tuple(tuple(_units(translator, line, tag)) for line in text.split("\n")))


def assemble(plan: TextPlan, done: Sequence[Translation]) -> TranslatedText:
    """Put the translations of a text's units together, in the order of `plan.units`."""
    num_alternatives = max((len(translation.alternatives) for translation in done), default=1)
    rest = iter(done)
    lines = [[next(rest) for _ in line] for line in plan.lines]
    texts = [_text_of(lines, rank) for rank in range(num_alternatives)]
    warnings = {warning.code: warning for translation in done for warning in translation.warnings}
    if any(len(line) > 1 for line in plan.lines) and "split" not in warnings:
        sentence = "a line was longer than the model reads at once and was translated in parts."
        warnings["split"] = OutputWarning("split", sentence)
    return TranslatedText(texts[0], tuple(texts[1:]), plan.route, tuple(done), tuple(warnings.values()))


def _units(translator: Translator, line: str, tag: str | None) -> list[Unit]:
    if not line.strip():
        return []
    longest = translator.decoding.max_source_tokens

    def count(part: str) -> int:
        return len(translator.tokenizer.encode_source(part, tag))

    num_tokens = count(line)
    if num_tokens <= longest:
        return [Unit(line, num_tokens)]
    parts = split_sentences(line, lambda part: count(part) <= longest)
    return [Unit(part, count(part)) for part in parts if part.strip()]


def _text_of(lines: Sequence[Sequence[Translation]], rank: int) -> str:
    """Join the alternatives of one rank, or the last of a unit that has fewer."""
    return "\n".join(
        join_parts([unit.alternatives[min(rank, len(unit.alternatives) - 1)].text for unit in line]) for line in lines
    )
