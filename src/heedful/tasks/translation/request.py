"""What is asked of a translator, beside the text: one value, from every entrance to the search.

Knows languages by their codes and numbers by their bounds; whether a model has the languages says directions.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from heedful.config.training import MAX_BEAM_SIZE
from heedful.decoding.ways import Diverse, Sampling
from heedful.errors import UserError
from heedful.tasks.translation.glossary import NO_TERMS, Glossary

MAX_PREFIX_CHARACTERS = 1_000
Utility = Literal["chrf", "bleu"]


@dataclass(frozen=True)
class MinimumRisk:
    """Minimum Bayes risk: of several candidates, the one that is most like all the others (Kumar and Byrne, 2004)."""

    num_candidates: int
    """Outputs that are compared: samples, or what a beam search finds."""

    sampling: Sampling | None = None
    """How candidates are drawn; None takes those of a beam search, widened to their number."""

    utility: Utility = "chrf"
    """What likeness is measured by, sentence by sentence."""

    def __post_init__(self) -> None:
        """Refuse what leaves nothing to compare."""
        if not 2 <= self.num_candidates <= MAX_BEAM_SIZE:
            bounds = f"between 2 and {MAX_BEAM_SIZE}"
            raise UserError(f"Candidates of minimum Bayes risk must be {bounds}, but are {self.num_candidates:,}.")
        if self.utility not in ("chrf", "bleu"):
            raise UserError(f'`utility` must be "chrf" or "bleu", but is "{self.utility}".')


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

    way: Sampling | Diverse | MinimumRisk | None = None
    """How translations are found; None is the best that greedy or beam search finds."""

    length_penalty: float | None = None
    """α of ((5 + length) / 6)^α; None is what the model was made with."""

    prefix: str = ""
    """What each translation begins with; the model may finish its last word."""

    glossary: Glossary = NO_TERMS
    """What terms of the source become."""

    alignment: bool = False
    """Whether words are to be linked with those of the translation, at the cost of a pass of the model each way."""

    register: str | None = None
    """The kind of language wanted, such as "formal", where the model has learned any; None leaves it to the model."""

    check: bool = False
    """Whether the model is asked about what it has written, from the translation back to its source: it finds what was
    left out or added, where the folder has a calibration, and takes nearly twice as long."""

    def after_planning(self) -> "TranslationRequest":
        """Return what is left to ask where texts are planned: units with the same can be translated together."""
        return replace(self, source=None, target=None, prefix="", glossary=NO_TERMS)

    def __post_init__(self) -> None:
        for name, value in (("beam_size", self.beam_size), ("n_best", self.n_best)):
            if value is not None and not 1 <= value <= MAX_BEAM_SIZE:
                bound = "at least 1" if value < 1 else f"at most {MAX_BEAM_SIZE}"
                raise UserError(f"`{name}` must be {bound}, but is {value:,}.")
        if self.length_penalty is not None and not 0 <= self.length_penalty <= 10:
            raise UserError(f"The length penalty must be between 0 and 10, but is {self.length_penalty}.")
        if len(self.prefix) > MAX_PREFIX_CHARACTERS:
            raise UserError(
                f"A prefix must have at most {MAX_PREFIX_CHARACTERS:,} characters, but has {len(self.prefix):,}."
            )
        if self.beam_size is not None and not self.keeps_beam:
            remedy = "Leave one of them out."
            raise UserError(f"A beam must not be given with sampling or diverse search, which keep none. {remedy}")
        if self.glossary.entries and not self.keeps_beam:
            raise UserError(
                "A glossary must not be given with sampling or diverse search: a beam keeps terms, they do not."
            )
        if isinstance(self.way, MinimumRisk) and self.n_best > self.way.num_candidates:
            raise UserError(
                f"At most as many translations can be had as candidates are compared, {self.way.num_candidates}, "
                f"but {self.n_best} are wanted. Compare more."
            )

    @property
    def keeps_beam(self) -> bool:
        """Whether translations are searched for with a beam."""
        return self.way is None or (isinstance(self.way, MinimumRisk) and self.way.sampling is None)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The way to search as single options, of a command or of a form; None and False are what was not given."""

    sample: bool = False
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    diverse: int | None = None
    mbr: int | None = None

    def request(self, asked: TranslationRequest, spell: Callable[[str], str]) -> TranslationRequest:
        """Return the request with the way that is meant, or refuse what contradicts itself; `spell` names an option."""
        for name in ("temperature", "top_k", "top_p", "seed"):
            if getattr(self, name) is not None and not self.sample:
                raise UserError(f"`{spell(name)}` must go with `{spell('sample')}`: without it nothing is drawn.")
        if self.diverse is not None:
            for other, is_given in (("sample", self.sample), ("mbr", self.mbr is not None)):
                if is_given:
                    raise UserError(f"`{spell('diverse')}` must not be given together with `{spell(other)}`.")
            if asked.n_best > 1:
                raise UserError(f"`{spell('diverse')}` says already how many translations are wanted.")
            return replace(asked, n_best=self.diverse, way=Diverse())
        sampling = self._sampling() if self.sample else None
        return replace(asked, way=sampling if self.mbr is None else MinimumRisk(self.mbr, sampling))

    def _sampling(self) -> Sampling:
        temperature = 1.0 if self.temperature is None else self.temperature
        return Sampling(temperature, self.top_k, self.top_p, 0 if self.seed is None else self.seed)


def one_request(given: TranslationRequest, request: TranslationRequest | None) -> TranslationRequest:
    """Return what is asked for, where single arguments, or a whole request, may have been given, but not both."""
    if request is not None and given != TranslationRequest():
        raise UserError("`request` must not be given together with languages, a beam or a number: it has them itself.")
    return given if request is None else request
