"""How good translations are: BLEU, chrF and TER, with signatures, intervals and tests of difference.

The numbers are sacreBLEU's (Post, 2018), so that they compare with anybody's: this file only gives them a type, refuses
what cannot be scored, and always says which BLEU it is. Intervals and p-values are those of its bootstrap (Koehn,
2004), drawn as it draws them. It prints an interval as mean ± half its width, which may leave the scale (a BLEU above
100); here the ends are the percentiles themselves. A line may have one reference or several, and not every line as many
as the others. Nothing is known here of models, tokenizers or files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from heedful.errors import UserError, count_of

Floats = npt.NDArray[np.float64]
Metric = Literal["bleu", "chrf", "ter"]
ALL_METRICS: tuple[Metric, ...] = ("bleu", "chrf", "ter")
References = Sequence[str] | Sequence[Sequence[str]]
"""What each line should have been: one text, or several that are equally good."""

NUM_RESAMPLES = 1000
_SEED = 12345
"""sacreBLEU's own: with the same draws, our intervals and p-values are the ones it prints."""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one system."""

    name: str
    """Metric as sacreBLEU writes it: "BLEU", "chrF2" or "TER"."""

    value: float
    """Score of the corpus, from 0 to 100; for TER, which may exceed 100, lower is better."""

    low: float
    """Lower end of the 95 % bootstrap interval: 2.5 % of the resampled corpora score less."""

    high: float
    """Upper end of the 95 % bootstrap interval: 2.5 % of the resampled corpora score more."""

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

    low: float
    """Lower end of the 95 % interval of the difference, both systems being resampled together."""

    high: float
    """Upper end of the 95 % interval of the difference."""

    @property
    def difference(self) -> float:
        """By how much the system exceeds the baseline."""
        return self.system.value - self.baseline.value


def bleu(hypotheses: Sequence[str], references: References, *, tokenize: str = "13a", lowercase: bool = False) -> float:
    """Return the BLEU of a corpus and nothing else: quick enough for every validation."""
    _check_lengths(references, hypotheses=hypotheses)
    metric = metric_called("bleu", tokenize, lowercase)
    return float(metric.corpus_score(hypotheses, reference_streams(references)).score)


def tokenizer_of(language: str, otherwise: str = "13a") -> str:
    """Return sacreBLEU's tokenizer for text in a language: Chinese has no spaces to go by."""
    return "zh" if language.split("-")[0] == "zh" else otherwise


def score_corpus(
    hypotheses: Sequence[str],
    references: References,
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
    streams, counts = reference_streams(references), draw_cases(num_resamples, len(references))
    return [_bootstrap(metric_called(name, tokenize, lowercase), hypotheses, streams, counts)[0] for name in metrics]


def compare_systems(
    baseline: Sequence[str],
    system: Sequence[str],
    references: References,
    *,
    metrics: Sequence[Metric] = ALL_METRICS,
    tokenize: str = "13a",
    lowercase: bool = False,
    num_resamples: int = NUM_RESAMPLES,
) -> list[Comparison]:
    """Score two systems on the same sentences by each of the metrics, and say how probable chance is as the reason."""
    _check_lengths(references, baseline=baseline, system=system)
    streams, counts = reference_streams(references), draw_cases(num_resamples, len(references))
    comparisons = []
    for name in metrics:
        metric = metric_called(name, tokenize, lowercase)
        first, first_samples = _bootstrap(metric, baseline, streams, counts)
        second, second_samples = _bootstrap(metric, system, streams, counts)
        differences = second_samples - first_samples
        p_value = paired_p_value(np.abs(differences), abs(second.value - first.value))
        comparisons.append(Comparison(first, second, p_value, *middle_95(differences)))
    return comparisons


def reference_streams(references: References) -> list[list[str | None]]:
    """Arrange references as sacreBLEU reads them: the first of every line, the second of every line, None for none."""
    groups = [[line] if isinstance(line, str) else list(line) for line in references]
    for number, group in enumerate(groups, start=1):
        if not group:
            raise UserError(f"`references` must have at least 1 text for every line, but have 0 for line {number:,}.")
    most = max(len(group) for group in groups)
    return [[group[rank] if rank < len(group) else None for group in groups] for rank in range(most)]


def draw_cases(num_resamples: int, num_lines: int) -> Floats:
    """Draw lines with replacement, and return how often each of them is in every resampled corpus, one corpus a row."""
    if num_resamples < 1:
        raise UserError(f"`num_resamples` must be at least 1, but is {num_resamples}.")
    generator = np.random.default_rng(_SEED)
    counts = np.empty((num_resamples, num_lines))
    for row in counts:
        row[:] = np.bincount(generator.choice(num_lines, size=num_lines), minlength=num_lines)
    return counts


def _bootstrap(
    metric: Any, hypotheses: Sequence[str], streams: Sequence[Sequence[str | None]], counts: Floats
) -> tuple[Score, Floats]:
    """Return the score of a corpus with its interval, and the scores of the resampled corpora.

    A metric is a function of sums over lines (of matching n-grams, say), so the lines are compared only once, and the
    sums of all resampled corpora are one product of matrices. The names with an underscore are sacreBLEU's; a test
    holds the results to what its command prints.
    """
    statistics = metric._extract_corpus_statistics(hypotheses, streams)
    whole = metric._aggregate_and_compute(statistics)
    sums = counts @ np.array(statistics, dtype=np.float64)
    samples = np.array([metric._compute_score_from_stats(row).score for row in sums.tolist()])
    signature = metric.get_signature()
    signature.update("seed", str(_SEED))
    signature.update("bs", len(counts))
    low, high = middle_95(samples)
    return Score(str(whole.name), float(whole.score), low, high, str(signature)), samples


def middle_95(samples: Floats) -> tuple[float, float]:
    """Return between which values the middle 95 % of the samples lie."""
    ordered, outside = np.sort(samples), len(samples) // 40
    return float(ordered[outside]), float(ordered[-1 - outside])


def paired_p_value(differences: Floats, difference: float) -> float:
    """Return how probable so large a difference would be if there were none: that of differences around their mean.

    sacreBLEU calls even a system's difference from itself significant; where nothing ever differs, we say 1.
    """
    if not differences.any():
        return 1.0
    num_larger = int((differences - differences.mean() > difference).sum())
    return (num_larger + 1) / (len(differences) + 1)


def metric_called(name: Metric, tokenize: str, lowercase: bool) -> Any:
    """Return sacreBLEU's metric of that name."""
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


def _check_lengths(references: References, **systems: Sequence[str]) -> None:
    if not references:
        raise UserError("`references` must have at least 1 line, but have 0.")
    for name, lines in systems.items():
        if len(lines) != len(references):
            raise UserError(
                f"`{name}` must have as many lines as `references` ({len(references):,}), "
                f"but has {count_of(len(lines), 'line')}."
            )
