"""Quality over the length of sentences, for finished runs and for configs trained now.

The sentences of a test set are put into buckets by their source tokens, and each bucket is scored by itself; intervals
are a bootstrap over its sentences. Where a run has left out long training pairs, longer buckets are lengths it has
never seen.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from heedful.comparisons.trials import Outcome
from heedful.config.load import AnyRun
from heedful.config.translation import TranslationRun
from heedful.errors import UserError
from heedful.evaluation.case_statistics import CaseStatistics
from heedful.evaluation.intervals import Estimate
from heedful.reports.report import Block, LinePlot, Point, Report, Series, Table

RESAMPLES, SEED = 300, 12345
FEWEST = 5
"""A bucket with fewer sentences says nothing and is left out."""


@dataclass(frozen=True)
class Bucket:
    """The score of sentences of similar length."""

    low: int
    high: int | None
    """Source tokens from `low` on and below `high`, None for any."""

    count: int
    mean_length: float
    score: Estimate

    @property
    def name(self) -> str:
        """Say which lengths."""
        return f"{self.low}+" if self.high is None else f"{self.low}–{self.high - 1}"


def buckets_of(statistics: CaseStatistics, lengths: Sequence[int], edges: Sequence[int]) -> list[Bucket]:
    """Score the sentences of each length; edges are where a new bucket begins."""
    counts = np.asarray(lengths)
    bounds = [0, *edges, None]
    found = []
    for low, high in pairwise(bounds):
        assert low is not None
        chosen = np.flatnonzero((counts >= low) & (counts < (high or np.inf)))
        if chosen.size >= FEWEST:
            mean = float(counts[chosen].mean())
            found.append(Bucket(low, high, chosen.size, mean, _with_interval(statistics.of(chosen))))
    return found


def _with_interval(statistics: CaseStatistics) -> Estimate:
    """Return a score and the middle 95 % of those of resampled sets."""
    size = len(statistics.rows)
    draws = np.random.default_rng(SEED).multinomial(size, np.full(size, 1 / size), RESAMPLES).astype(np.float64)
    low, high = np.quantile(statistics.scores(draws), [0.025, 0.975])
    return Estimate(statistics.value, float(low), float(high))


def length_report(outcomes: Sequence[Outcome], configs: dict[str, AnyRun], edges: Sequence[int]) -> Report:
    """Say how good every candidate is at each length, on the first test set."""
    done = [outcome for outcome in outcomes if outcome.failure is None]
    if not done:
        raise UserError(f"At least one candidate must be scored, but none is: {outcomes[0].failure}")
    if not all(outcome.scores[0].lengths for outcome in done):
        raise UserError("What is studied by length must be translators or classifiers, but one reads a whole text.")
    tables = {
        _title(outcome, done): buckets_of(outcome.scores[0].metrics[0], outcome.scores[0].lengths, edges)
        for outcome in done
    }
    first = done[0].scores[0]
    metric = first.metrics[0].name
    names = list(dict.fromkeys(bucket.name for buckets in tables.values() for bucket in buckets))
    rows = [
        [title, *(_cell({bucket.name: bucket for bucket in buckets}.get(name)) for name in names)]
        for title, buckets in tables.items()
    ]
    sizes = {bucket.name: bucket.count for buckets in tables.values() for bucket in buckets}
    columns = ["candidate", *(f"{name} ({sizes[name]})" for name in names)]
    note = "Columns are source tokens and, in brackets, sentences; intervals are 95 %, a bootstrap over sentences."
    series = [
        Series(title, [Point(b.mean_length, b.score.value, b.score.low, b.score.high) for b in buckets])
        for title, buckets in tables.items()
    ]
    blocks: list[Block] = [
        *_falls(tables, metric),
        *_unseen(configs),
        Table(f"{metric} on {first.name} by length", columns, rows, note),
        LinePlot("length", f"{metric} over the length of sentences", "source tokens", metric, series),
        *(f"{outcome.label} failed: {outcome.failure}" for outcome in outcomes if outcome.failure is not None),
    ]
    data = {
        "test_set": first.name,
        "metric": metric,
        "candidates": {title: [asdict(bucket) for bucket in buckets] for title, buckets in tables.items()},
    }
    return Report("length", "Quality over length", blocks, data)


def _title(outcome: Outcome, all_of_them: Sequence[Outcome]) -> str:
    several = len({other.seed for other in all_of_them if other.label == outcome.label}) > 1
    return f"{outcome.label}, seed {outcome.seed}" if several else outcome.label


def _cell(bucket: Bucket | None) -> str:
    if bucket is None:
        return "–"
    return f"{bucket.score.value:.1f} ({bucket.score.low:.1f} to {bucket.score.high:.1f})"


def _falls(tables: dict[str, list[Bucket]], metric: str) -> list[str]:
    """Say from which score to which each falls or rises between its shortest and its longest sentences."""
    told = []
    for title, buckets in tables.items():
        if len(buckets) > 1:
            short, long = buckets[0], buckets[-1]
            apart = short.score.low > long.score.high or long.score.low > short.score.high
            told.append(
                f"{title}: {metric} {short.score.value:.1f} at {short.name} tokens, {long.score.value:.1f} at "
                f"{long.name}" + ("." if apart else ", a difference within chance.")
            )
    return told


def _unseen(configs: dict[str, AnyRun]) -> list[str]:
    limits = {
        label: config.data.filters.max_tokens for label, config in configs.items() if isinstance(config, TranslationRun)
    }
    return [f"{label} was trained on pairs of at most {limit} tokens." for label, limit in limits.items()]
