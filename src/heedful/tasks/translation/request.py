"""What is asked of a translator, beside the text: one value, from every entrance to the search.

Knows languages by their codes and numbers by their bounds; whether a model has the languages says directions.py.
"""

from dataclasses import dataclass, replace

from heedful.config.training import MAX_BEAM_SIZE
from heedful.errors import UserError


@dataclass(frozen=True)
class TranslationRequest:
    """How texts are to be translated; None is what the user leaves open."""

    source: str | None = None
    """Language of the texts; None detects that of each, where the model knows several."""

    target: str | None = None
    """Language wanted; None where only one makes sense."""

    beam_size: int | None = None
    """Hypotheses kept per sentence; None is what the model was made with. It is raised to `n_best` when smaller."""

    n_best: int = 1
    """Translations wanted; up to the beam size it does not change the first of them."""

    def without_languages(self) -> "TranslationRequest":
        """Return what is left to ask where languages are settled: texts with the same can be translated together."""
        return replace(self, source=None, target=None)

    def __post_init__(self) -> None:
        for name, value in (("beam_size", self.beam_size), ("n_best", self.n_best)):
            if value is not None and not 1 <= value <= MAX_BEAM_SIZE:
                bound = "at least 1" if value < 1 else f"at most {MAX_BEAM_SIZE}"
                raise UserError(f"`{name}` must be {bound}, but is {value:,}.")
