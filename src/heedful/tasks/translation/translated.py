"""What became of a text: its units' translations put together again, with their numbers and what is doubtful.

Pure functions from a plan and what was found for its units to a `Translation`. Knows no model and no search.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from heedful.decoding import FinishReason
from heedful.tasks.translation.calibration import WordCalibration
from heedful.tasks.translation.doubts import OutputWarning
from heedful.tasks.translation.plan import TextPlan, join_parts
from heedful.tasks.translation.word_confidence import WordConfidence, word_confidences
from heedful.text.language_names import language_name
from heedful.text.lines import one_line


@dataclass(frozen=True)
class Alternative:
    """One output of the search for an input."""

    text: str
    score: float
    """Log-probability divided by the length penalty; the mean over the units of a text."""

    log_prob: float
    """Logarithm of the probability; the sum over the units of a text."""

    finish_reason: FinishReason
    tokens: tuple[str, ...]
    """The pieces the text is made of, and the end symbol where the model wrote it: after each unit of a text."""

    token_log_probs: tuple[float, ...] = ()
    """One for each of `tokens`; their sum is `log_prob`."""


@dataclass(frozen=True)
class WordLink:
    """A word of a text and one of its translation that belong together, each by its characters."""

    source: tuple[int, int]
    target: tuple[int, int]
    weight: float
    """How much speaks for it, from 0 to 1."""

    def moved(self, source: int, target: int) -> "WordLink":
        """Return it for texts that begin so many characters earlier."""
        moved_source = self.source[0] + source, self.source[1] + source
        moved_target = self.target[0] + target, self.target[1] + target
        return WordLink(moved_source, moved_target, self.weight)


@dataclass(frozen=True)
class TranslatedUnit:
    """The translation of what the model read at once."""

    source: str
    alternatives: tuple[Alternative, ...]
    """Best first; at least one."""

    warnings: tuple[OutputWarning, ...] = ()
    links: tuple[WordLink, ...] = ()
    """Which of its words became which, where that was asked for."""

    word_calibration: WordCalibration | None = None
    """How often words of a probability are right, where that is known."""

    @property
    def text(self) -> str:
        """The translation."""
        return self.alternatives[0].text

    def warned(self, warnings: Iterable[OutputWarning]) -> "TranslatedUnit":
        """Add what else is doubtful, each kind once."""
        return replace(self, warnings=_once([*self.warnings, *warnings]))

    def words(self) -> list[WordConfidence]:
        """Return the words of the translation, and how sure each of them is."""
        best = self.alternatives[0]
        return list(word_confidences(best.tokens, best.token_log_probs, self.word_calibration))

    def then(self, later: Sequence["TranslatedUnit"]) -> "TranslatedUnit":
        """Let a translation of this one take its place; what was doubtful stays so."""
        warnings = _once(warning for unit in (self, *later) for warning in unit.warnings)
        together = combined(self.source, later)
        return replace(together, warnings=warnings)


@dataclass(frozen=True)
class Translation:
    """The translation of one text."""

    source: str
    alternatives: tuple[Alternative, ...]
    """As many outputs as `n_best` asked for and the search found, best first; the first is the translation."""

    warnings: tuple[OutputWarning, ...] = ()
    """What the user should know about this one, each kind once: a stable code and a sentence each."""

    source_language: str | None = None
    """As given or detected; None for an empty text."""

    source_confidence: float | None = None
    """How sure the detection is, from 0 to 1; None when nothing had to be detected."""

    target_language: str | None = None
    units: tuple[TranslatedUnit, ...] = ()
    """What the text was cut into, in order: its sentences, mostly."""

    @property
    def text(self) -> str:
        """The translation."""
        return self.alternatives[0].text

    @property
    def score(self) -> float:
        """The score of the translation; see `Alternative`."""
        return self.alternatives[0].score


def combined(source: str, units: Sequence[TranslatedUnit]) -> TranslatedUnit:
    """Make one unit of several that stand in one line."""
    ranked = _ranked(units)
    alternatives = [joined_alternative(chosen, join_parts([one.text for one in chosen])) for chosen in ranked]
    warnings = _once(warning for unit in units for warning in unit.warnings)
    calibration = units[0].word_calibration if units else None
    return TranslatedUnit(source, tuple(alternatives), warnings, word_calibration=calibration)


def assemble(plan: TextPlan, units: Sequence[TranslatedUnit]) -> Translation:
    """Put the translations of a text's units together, in the order of `plan.units`."""
    route = plan.route
    if plan.lines:
        alternatives = tuple(joined_alternative(chosen, _text_of(plan, chosen)) for chosen in _ranked(units))
    else:
        alternatives = (
            joined_alternative([], "\n".join(map(one_line, plan.text.split("\n"))) if plan.text.strip() else ""),
        )
    warnings = _once([*about_the_way(plan), *(warning for unit in units for warning in unit.warnings)])
    return Translation(
        plan.text, alternatives, warnings, route.source, route.confidence, route.target, units=tuple(units)
    )


def assemble_all(plans: Sequence[TextPlan], units: Sequence[TranslatedUnit]) -> list[Translation]:
    """Put the translations of the units of several texts together, in the order of the plans."""
    rest = iter(units)
    return [assemble(plan, [next(rest) for _ in plan.units]) for plan in plans]


def about_the_way(plan: TextPlan) -> list[OutputWarning]:
    """Say what was done to a text, beside translating it."""
    route, found = plan.route, []
    if len(route.steps) > 1:
        untrained = f'the model was not trained from "{route.source}" to "{route.target}"'
        message = f'{untrained}, so the text was translated through "{route.steps[0]}".'
        found.append(OutputWarning("pivot", message))
    if route.seems is not None:
        message = f"the text seems to be in {_named(route.seems)}, but was translated as {_named(str(route.source))}."
        found.append(OutputWarning("other_language", message))
    *some, last = dict.fromkeys([str(route.source), *(unit.language for unit in plan.units if unit.language)])
    if some and plan.lines:
        message = f"the text seems to be in {', '.join(map(_named, some))} and {_named(last)}"
        found.append(OutputWarning("mixed_languages", f"{message}; each sentence was read in its own."))
    is_left = bool(plan.text.strip()) and not plan.lines
    if is_left and route.is_unknown:
        remedy = "Say the language with --from to translate it anyway."
        found.append(OutputWarning("unknown_language", f"the text {route.found}, and was left as it is. {remedy}"))
    elif is_left:
        found.append(OutputWarning("unchanged", f'the text is in "{route.target}" already and was left as it is.'))
    if num_fragments := sum(unit.is_fragment for unit in plan.units):
        message = f"a sentence was longer than the model reads at once and was translated in {num_fragments} parts."
        found.append(OutputWarning("split", message))
    return found


def _named(language: str) -> str:
    return f'{language_name(language)} ("{language}")'


def _ranked(units: Sequence[TranslatedUnit]) -> list[list[Alternative]]:
    """Return, for each rank, every unit's alternative of that rank, or its last when it has fewer."""
    num_alternatives = max((len(unit.alternatives) for unit in units), default=1)
    return [
        [unit.alternatives[min(rank, len(unit.alternatives) - 1)] for unit in units] for rank in range(num_alternatives)
    ]


def _text_of(plan: TextPlan, chosen: Sequence[Alternative]) -> str:
    """Put the units' texts into the lines they came from."""
    rest = iter(chosen)
    return "\n".join(one_line(line.indent) + join_parts([next(rest).text for _ in line.units]) for line in plan.lines)


def joined_alternative(chosen: Sequence[Alternative], text: str) -> Alternative:
    """Add up the numbers of the units' alternatives that make a text."""
    if len(chosen) == 1:
        return chosen[0] if chosen[0].text == text else replace(chosen[0], text=text)
    reasons = [one.finish_reason for one in chosen]
    return Alternative(
        text=text,
        score=sum(one.score for one in chosen) / max(len(chosen), 1),
        log_prob=sum(one.log_prob for one in chosen),
        finish_reason="error" if "error" in reasons else "length" if "length" in reasons else "eos",
        tokens=tuple(token for one in chosen for token in one.tokens),
        token_log_probs=tuple(value for one in chosen for value in one.token_log_probs),
    )


def _once(warnings: Iterable[OutputWarning]) -> tuple[OutputWarning, ...]:
    """Keep the first of each kind."""
    first: dict[str, OutputWarning] = {}
    for warning in warnings:
        first.setdefault(warning.code, warning)
    return tuple(first.values())
