"""Ways to search beside the best-first ones: what can be asked of each, checked when it is made.

A `SearchRequest` without a way is greedy or beam search. Numbers only: nothing here knows a model, or torch.
"""

from dataclasses import dataclass

from heedful.errors import UserError

MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class Sampling:
    """Outputs are drawn, not searched: `n_best` of them, independent of each other, ordered by their scores."""

    temperature: float = 1.0
    """Below 1 surer, above 1 bolder."""

    top_k: int | None = None
    """Draw from so many of the most probable tokens only."""

    top_p: float | None = None
    """Draw from the fewest tokens that have this probability together; applies after the temperature."""

    seed: int = 0
    """The same seed draws the same output for a sentence, whatever else is in its batch."""

    def __post_init__(self) -> None:
        """Refuse what leaves nothing to draw from."""
        if not 0 < self.temperature < float("inf"):
            remedy = "Use a search for the best output."
            raise UserError(f"`temperature` must be greater than 0, but is {self.temperature}. {remedy}")
        if not 0 <= self.seed <= MAX_SEED:
            raise UserError(f"`seed` must be between 0 and {MAX_SEED:,}, but is {self.seed:,}.")
        check_choice(self.top_k, self.top_p)


@dataclass(frozen=True)
class Diverse:
    """`n_best` greedy searches side by side, each of which avoids what those before it write at the same place.

    Diverse beam search (Vijayakumar et al., 2018) with groups of one hypothesis and the Hamming distance.
    """

    strength: float = 0.5
    """What a token loses of its log-probability for each search before that has just written it."""

    def __post_init__(self) -> None:
        """Refuse what would not be diverse."""
        if not 0 < self.strength < float("inf"):
            raise UserError(f"`strength` must be greater than 0, but is {self.strength}.")


Way = Sampling | Diverse


def check_choice(top_k: int | None, top_p: float | None) -> None:
    """Refuse settings that leave nothing to draw from."""
    if top_k is not None and top_k < 1:
        raise UserError(f"`top_k` must be at least 1, but is {top_k}.")
    if top_p is not None and not 0 < top_p <= 1:
        raise UserError(f"`top_p` must be greater than 0 and at most 1, but is {top_p}.")
