"""What each part of the Transformer is worth: table 3 of the paper as a command, on the reader's own data.

A row is the reader's config with some settings changed, trained with every seed. Trainings are those of `comparisons`:
side by side, resumed, scored on the test sets of the config. Differences are taken seed by seed. How gradients come
through the layers of a model at its start is measured beside it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import torch
from torch import nn
from torch.nn import functional

from heedful.comparisons.trials import NOT_BEGUN, Outcome
from heedful.config.models import TransformerConfig
from heedful.config.translation import TranslationRun
from heedful.errors import UserError
from heedful.evaluation.intervals import Estimate, mean_interval
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.reports.report import Block, IntervalPlot, LinePlot, NamedValue, Point, Report, Series, Table

BASE = "as it is"


@dataclass(frozen=True)
class Row:
    """One change, and what is claimed about it."""

    label: str
    settings: tuple[str, ...]
    claim: str
    """What the change should show, as a sentence; nothing where nobody claims anything."""


def rows_of(config: TranslationRun) -> list[Row]:
    """Return the rows for a config, without those that would be the config itself or no model at all."""
    model = config.model
    if not isinstance(model, TransformerConfig):
        raise UserError(f"The config of an ablation must be of a Transformer, but is of a {model.family}.")
    other = "pre" if model.norm == "post" else "post"
    heads = [count for count in (1, 2, 4, 8, 16) if model.dim % count == 0 and count != model.num_heads]
    factors = [factor for factor in (1, 2, 4, 8) if factor * model.dim != model.hidden_dim]
    return [
        Row(BASE, (), ""),
        Row("no residual", _without("no_residual"), "Without residual connections deep layers do not learn."),
        Row("BatchNorm for LayerNorm", _without("batch_norm"), "LayerNorm suits sequences better than BatchNorm."),
        Row(f"{other}-norm", (f"model.norm={other}",), ""),
        Row("no warm-up", (_schedule_without_warmup(config),), "Training needs a warm-up."),
        Row("no label smoothing", ("training.label_smoothing=0",), "Label smoothing improves BLEU."),
        Row("no √d on embeddings", _without("no_embedding_scale"), "Embeddings must be multiplied by √d_model."),
        Row("no √d under scores", _without("no_attention_scale"), "Scores must be divided by √d_k."),
        *(Row(f"heads: {count}", (f"model.num_heads={count}",), _of_heads(count)) for count in heads),
        *(Row(f"feed-forward: {k}×", (f"model.hidden_dim={k * model.dim}",), "") for k in factors),
        Row("positions: concatenated", _without("concatenated_positions"), ""),
        Row("positions: sine only", _without("sine_positions"), "Sines need their cosines."),
        Row("positions: learned", ('model.positions={kind="learned"}',), ""),
        Row("positions: none", ('model.positions={kind="none"}',), "Without positions a model does not learn order."),
    ]


def _schedule_without_warmup(config: TranslationRun) -> str:
    fields = {**config.training.schedule.model_dump(), "warmup_steps": 1}
    return f"training.schedule={{ {', '.join(f'{name} = {json.dumps(value)}' for name, value in fields.items())} }}"


def _without(ablation: str) -> tuple[str, ...]:
    return (f'model.ablations=["{ablation}"]',)


def _of_heads(count: int) -> str:
    return "One head is worse than several." if count == 1 else ""


def choose_rows(rows: Sequence[Row], wanted: str | None) -> list[Row]:
    """Return the rows that are called `wanted`, separated by commas, and the config as it is before them."""
    if wanted is None:
        return list(rows)
    names = [name.strip() for name in wanted.split(",")]
    known = {row.label: row for row in rows}
    for name in names:
        if name not in known:
            raise UserError(f'`--rows` must be of {", ".join(list(known)[1:])}, but one is "{name}".')
    return [row for row in rows if row.label == BASE or row.label in names]


def gradients_through_depth(config: TranslationRun) -> list[float]:
    """Return the norm of the gradients of each layer of a fresh model: encoder from below, then decoder from below."""
    generator = torch.Generator().manual_seed(config.seed)
    vocab, batch, length = 200, 8, 16
    model = build_model(config.model, source_vocab_size=vocab, target_vocab_size=vocab, pad_id=0, generator=generator)
    assert isinstance(model, Transformer)
    source = torch.randint(1, vocab, (batch, length), generator=generator)
    target = torch.randint(1, vocab, (batch, length + 1), generator=generator)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    hidden = model.decode(target[:, :-1], model.encode(source, None), None)
    functional.cross_entropy(model.project(hidden).flatten(0, 1), target[:, 1:].flatten()).backward()  # type: ignore[no-untyped-call]
    return [_norm(layer) for layer in [*model.encoder.layers, *model.decoder.layers]]


def _norm(layer: nn.Module) -> float:
    squares = [parameter.grad.square().sum() for parameter in layer.parameters() if parameter.grad is not None]
    return float(torch.stack(squares).sum().sqrt())


@dataclass(frozen=True)
class Result:
    """What a row has scored."""

    row: Row
    scores: dict[int, float]
    """By seed; a training that failed has none."""

    failures: tuple[str, ...]

    @property
    def is_left(self) -> bool:
        """Whether none of its trainings has begun."""
        return not self.scores and set(self.failures) <= {NOT_BEGUN}

    @property
    def mean(self) -> Estimate | None:
        """The mean over seeds."""
        return mean_interval(list(self.scores.values())) if self.scores else None

    def difference(self, base: "Result") -> Estimate | None:
        """Return the mean difference to the config as it is, seed by seed."""
        both = sorted(self.scores.keys() & base.scores.keys())
        return mean_interval([self.scores[seed] - base.scores[seed] for seed in both]) if both else None


def results_of(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> list[Result]:
    """Sort the outcomes of trainings by row; what counts is the first metric of the first test set."""
    found = []
    for row in rows:
        mine = [outcome for outcome in outcomes if outcome.label == row.label]
        scores = {outcome.seed: outcome.scores[0].metrics[0].value for outcome in mine if outcome.failure is None}
        found.append(Result(row, scores, tuple(outcome.failure for outcome in mine if outcome.failure is not None)))
    return found


def ablation_report(
    config: TranslationRun, results: Sequence[Result], depths: Mapping[str, Sequence[float]], test_set: str
) -> Report:
    """Say what was found."""
    base, *others = results
    if base.mean is None:
        raise UserError(f"The config as it is must train, but does not: {base.failures[0]}")
    table = Table(
        f"BLEU on {test_set}, {len(base.scores)} seeds",
        ["row", "BLEU", "95 % interval", "difference", "95 % interval", "it"],
        [_cells(result, base) for result in results],
        note="Differences are taken seed by seed; intervals are Student's over seeds. Of one seed nothing can be said.",
    )
    claims = [[result.row.claim, result.row.label, _verdict(result, base)] for result in others if result.row.claim]
    bars = [
        NamedValue(result.row.label, result.mean.value, result.mean.low, result.mean.high)
        for result in results
        if result.mean is not None
    ]
    blocks: list[Block] = [
        f"Every row is the config {config.name} with one thing changed, trained with the same seeds on the same data. "
        + _summary(base, others),
        table,
        Table("What is claimed", ["claim", "row", "here"], claims) if claims else "",
        IntervalPlot("rows", f"BLEU on {test_set}", "BLEU", bars, reference=base.mean.value),
        _depth_plot(depths),
        *(f"{result.row.label} failed: {failure}" for result in results for failure in dict.fromkeys(result.failures)),
    ]
    data = {
        "config": config.name,
        "test_set": test_set,
        "rows": [
            {
                "label": result.row.label,
                "settings": list(result.row.settings),
                "claim": result.row.claim,
                "bleu": {str(seed): score for seed, score in result.scores.items()},
                "mean": None if result.mean is None else asdict(result.mean),
                "difference": _as_dict(result.difference(base)),
                "failures": list(result.failures),
            }
            for result in results
        ],
        "gradients_through_depth": {label: list(norms) for label, norms in depths.items()},
    }
    return Report("ablation", "What each part is worth", [block for block in blocks if block != ""], data)


def _summary(base: Result, others: Sequence[Result]) -> str:
    assert base.mean is not None
    differences = {result.row.label: result.difference(base) for result in others}
    known = {label: found for label, found in differences.items() if found is not None and found.low < found.high}
    worse = [f"{label} ({found.value:+.1f})" for label, found in known.items() if found.high < 0]
    better = [f"{label} ({found.value:+.1f})" for label, found in known.items() if found.low > 0]
    return (
        f"As it is it has {base.mean.value:.2f} BLEU. Worse beyond chance: {', '.join(worse) or 'nothing'}. "
        f"Better: {', '.join(better) or 'nothing'}."
    )


def _cells(result: Result, base: Result) -> list[str]:
    if result.mean is None:
        return [result.row.label, "–" if result.is_left else "failed", "", "", "", ""]
    cells = [result.row.label, f"{result.mean.value:.2f}", _interval(result.mean)]
    difference = result.difference(base)
    if result is base or difference is None:
        return [*cells, "", "", ""]
    return [*cells, f"{difference.value:+.2f}", _interval(difference), _change(difference)]


def _interval(estimate: Estimate) -> str:
    return "–" if estimate.low == estimate.high else f"{estimate.low:.2f} to {estimate.high:.2f}"


def _change(difference: Estimate) -> str:
    if difference.low == difference.high:
        return "one seed"
    return "worse" if difference.high < 0 else "better" if difference.low > 0 else "no difference seen"


def _verdict(result: Result, base: Result) -> str:
    """Say what the difference means for a claim: all of them say that the change is for the worse."""
    difference = result.difference(base)
    if difference is None:
        return "not known: not trained" if result.is_left else "holds: the training failed"
    return {"worse": "holds", "better": "does not hold", "one seed": "not known: one seed"}.get(
        _change(difference), "not seen"
    )


def _as_dict(estimate: Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else cast(dict[str, float], asdict(estimate))


def _depth_plot(depths: Mapping[str, Sequence[float]]) -> LinePlot:
    series = [
        Series(label, [Point(number, max(norm, 1e-12)) for number, norm in enumerate(norms, start=1)])
        for label, norms in depths.items()
    ]
    return LinePlot(
        "depth",
        "Gradients through depth, before the first step",
        "layer: encoder from below, then decoder from below",
        "norm of the layer's gradients",
        series,
        log_y=True,
    )
