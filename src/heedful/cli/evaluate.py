"""`heedful evaluate`: score a model, against what is known to be right and against another model."""

from collections.abc import Callable
from typing import Annotated

import typer

from heedful.cli import options, scoring_options
from heedful.cli.evaluate_labels import evaluate_labels
from heedful.cli.evaluate_text import evaluate_text
from heedful.cli.evaluate_translations import evaluate_translations
from heedful.errors import UserError


def evaluate(
    context: typer.Context,
    model: scoring_options.Model = None,
    more: scoring_options.More = None,
    data: scoring_options.Data = None,
    config: scoring_options.Config = None,
    split: scoring_options.Split = None,
    source_language: scoring_options.From = None,
    target_language: scoring_options.To = None,
    references: scoring_options.References = scoring_options.Compared.SINGLE,
    without_seen: scoring_options.WithoutSeen = False,
    against: scoring_options.Against = None,
    beam: options.Beam = None,
    tokenize: scoring_options.Tokenize = None,
    text: scoring_options.Text = None,
    memory: scoring_options.Memory = None,
    segment: scoring_options.Segment = None,
    clamp: scoring_options.Clamp = None,
    dynamic: scoring_options.Dynamic = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    out: scoring_options.Out = None,
    as_json: options.Json = False,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
) -> None:
    """Score a model: BLEU, chrF and TER with signatures and 95 % intervals.

    The test sets are those the run names in `data.test`, in each of its
    directions, or the files of --data. Several end with a table and the mean.

    Of a classifier: accuracy, macro-F1, calibration error and the confusion
    matrix; --data then takes a file of texts and one of labels, line by line.

    Of a language model: perplexity and bits per byte of the run's test texts.

    An option that says nothing to the kind of model at hand is refused.
    """
    if data is not None and split is not None:
        raise UserError("`--data` and `--split` must not be given together: both say what to score on.")
    models = scoring_options.joined(model, more)
    task = options.task_understood(context, models, scoring_options.UNDERSTOOD_BY)
    request = scoring_options.ScoringRequest(
        models=models,
        data=data,
        config=config,
        split=split,
        source_language=source_language,
        target_language=target_language,
        references=references,
        without_seen=without_seen,
        against=against,
        beam=beam,
        tokenize=tokenize,
        text=text,
        memory=memory,
        segment=segment,
        clamp=clamp,
        dynamic=dynamic,
        lowercase=lowercase,
        out=out,
        as_json=as_json,
        device=device,
        quantize=quantize,
    )
    EVALUATORS[task](request)


EVALUATORS: dict[str, Callable[[scoring_options.ScoringRequest], None]] = {
    options.TRANSLATION: evaluate_translations,
    options.CLASSIFICATION: evaluate_labels,
    options.LANGUAGE_MODELING: evaluate_text,
}
"""What scores the models of each task."""
