"""How good translations are: BLEU, chrF and TER, with signatures, intervals and tests of difference.

The numbers are sacreBLEU's (Post, 2018), so that they compare with anybody's: this file only gives them a type, refuses
what cannot be scored, and always says which BLEU it is. Intervals and p-values come from its bootstrap (Koehn, 2004),
which has a fixed seed. Nothing is known here of models, tokenizers or files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from heedful.errors import UserError, count_of

Metric = Literal["bleu", "chrf", "ter"]
ALL_METRICS: tuple[Metric, ...] = ("bleu", "chrf", "ter")
NUM_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one system."""

    name: str
    """Metric as sacreBLEU writes it: "BLEU", "chrF2" or "TER"."""

    value: float
    """Score of the corpus, from 0 to 100; for TER, which may exceed 100, lower is better."""

    low: float
    """Lower end of the 95 % bootstrap interval."""

    high: float
    """Upper end of the 95 % bootstrap interval."""

    signature: str
    """Everything that decides the number, in sacreBLEU's notation."""

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} [{self.low:.2f}, {self.high:.2f}] {self.signature}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of two systems on the same sentences."""

    baseline: Score
    system: Score
    p_value: float
    """Probability of so large a difference if the systems were equally good (paired bootstrap)."""

    @property
    def difference(self) -> float:
        """By how much the system exceeds the baseline."""
        return self.system.value - self.baseline.value


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> float:
    """Return the BLEU of a corpus and nothing else: quick enough for every validation."""
    _check_lengths(references, hypotheses=hypotheses)
    metric = _metric("bleu", tokenize, lowercase)
    return float(metric.corpus_score(hypotheses, [references]).score)


def score_corpus(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[Metric] = ALL_METRICS,
    tokenize: str = "13a",
    lowercase: bool = False,
    num_resamples: int = NUM_RESAMPLES,
) -> list[Score]:
    """Score a corpus by each of the metrics, with intervals.

    `tokenize` names sacreBLEU's tokenizer for BLEU ("none" for text that is tokenised already, "zh" for Chinese).
    `lowercase` ignores case in BLEU and chrF; TER always does.
    """
    _check_lengths(references, hypotheses=hypotheses)
    scores = _bootstrap([hypotheses], references, metrics, tokenize, lowercase, num_resamples)
    return [score for [(score, _)] in scores]


def compare_systems(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[Metric] = ALL_METRICS,
    tokenize: str = "13a",
    lowercase: bool = False,
    num_resamples: int = NUM_RESAMPLES,
) -> list[Comparison]:
    """Score two systems on the same sentences by each of the metrics, and say how probable chance is as the reason."""
    _check_lengths(references, baseline=baseline, system=system)
    scores = _bootstrap([baseline, system], references, metrics, tokenize, lowercase, num_resamples)
    return [Comparison(first, second, p_value) for [(first, _), (second, p_value)] in scores]


def _bootstrap(
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
    metrics: Sequence[Metric],
    tokenize: str,
    lowercase: bool,
    num_resamples: int,
) -> list[list[tuple[Score, float]]]:
    """Run sacreBLEU's bootstrap: for each metric, the score and p-value of each system; the first is the baseline."""
    if num_resamples < 1:
        raise UserError(f"`num_resamples` must be at least 1, but is {num_resamples}.")
    test = PairedTest(
        [(f"system {number}", list(system)) for number, system in enumerate(systems)],
        {name: _metric(name, tokenize, lowercase) for name in metrics},
        references=[list(references)],
        test_type="bs",
        n_samples=num_resamples,
    )
    signatures, columns = test()
    return [
        [_typed(name, result, str(signature)) for result in columns[name]] for name, signature in signatures.items()
    ]


def _typed(name: str, result: Any, signature: str) -> tuple[Score, float]:
    """Give sacreBLEU's result a type; it has no p-value for the baseline itself."""
    mean, half = float(result.mean), float(result.ci)
    score = Score(name=name, value=float(result.score), low=mean - half, high=mean + half, signature=signature)
    return score, 1.0 if result.p_value is None else float(result.p_value)


def _metric(name: Metric, tokenize: str, lowercase: bool) -> Any:
    match name:
        case "bleu":
            try:
                # `force` only silences a warning about text that is tokenised already; we are asked for that.
                return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
            except KeyError:
                choices = ", ".join(f'"{choice}"' for choice in sorted(BLEU.TOKENIZERS))
                raise UserError(f'`tokenize` must be one of {choices}, but is "{tokenize}".') from None
        case "chrf":
            return CHRF(lowercase=lowercase)
        case "ter":
            return TER()  # never looks at case, as published TER does not


def _check_lengths(references: Sequence[str], **systems: Sequence[str]) -> None:
    if not references:
        raise UserError("`references` must have at least 1 line, but have 0.")
    for name, lines in systems.items():
        if len(lines) != len(references):
            raise UserError(
                f"`{name}` must have as many lines as `references` ({len(references):,}), "
                f"but has {count_of(len(lines), 'line')}."
            )
