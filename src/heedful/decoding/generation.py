"""What writes: sentences and a request go in, hypotheses come out. How it gets there is its own affair.

`Stepwise` is the way of the paper, one token after the other, by greedy or beam search, or as the request says. A
generator that writes all tokens at once, or guesses several and has them checked, is another class with the same
method. Token ids go in and come out; text, tokenizers and the splitting of long inputs belong to `tasks`.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from heedful.decoding.beam import beam_search
from heedful.decoding.constrained import constrained_search
from heedful.decoding.diverse import diverse_search
from heedful.decoding.greedy import greedy_search
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.protocol import Decodable
from heedful.decoding.request import SearchRequest
from heedful.decoding.resumed import search_behind
from heedful.decoding.sampling import sample
from heedful.decoding.ways import Diverse, Sampling


class Generator(Protocol):
    """Anything that writes outputs for sentences."""

    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Write the `request.n_best` best outputs for each sentence, best first, and at least one.

        source_ids int64 and source_mask bool [batch, source_len], True at real tokens. What else is in the batch makes
        no difference to a sentence. `request.before_step` is called before whatever takes noticeable time.
        """


@dataclass(frozen=True)
class Stepwise:
    """A `Generator` that searches a model step by step."""

    model: Decodable[Any]

    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Search for the best outputs of source_ids where source_mask, both [batch, source_len]."""
        request.check_batch(len(source_ids))
        if not request.max_lengths:
            return []
        if request.beginnings is not None:
            return search_behind(
                self.model, request, lambda model, rest: Stepwise(model).generate(source_ids, source_mask, rest)
            )
        if isinstance(request.way, Sampling):
            return sample(self.model, source_ids, source_mask, request, request.way)
        if isinstance(request.way, Diverse):
            return diverse_search(self.model, source_ids, source_mask, request, request.way)
        if request.terms is not None:
            return constrained_search(self.model, source_ids, source_mask, request)
        if request.beam_size == 1 and request.recorder is None:
            return [[hypothesis] for hypothesis in greedy_search(self.model, source_ids, source_mask, request)]
        return beam_search(self.model, source_ids, source_mask, request)


def batch_tokens_of(generator: Generator, least: int) -> int:
    """Return how many source tokens a generator is best given at once: `least`, or what it says of itself."""
    wanted = least
    while generator is not None:
        wanted = max(wanted, getattr(generator, "batch_tokens", 0))
        generator = getattr(generator, "generator", None)  # type: ignore[assignment]
    return wanted


def searched_model(generator: Generator) -> Decodable[Any] | None:
    """Return what is searched step by step, beneath whatever wraps it as `generator`; None where there are no steps."""
    while (wrapped := getattr(generator, "generator", None)) is not None:
        generator = wrapped
    return generator.model if isinstance(generator, Stepwise) else None
