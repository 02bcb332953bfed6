"""Model cards: the README.md of a model folder, a sentence, a table of facts, and the command that uses the model."""

from collections.abc import Mapping, Sequence

from torch import Tensor

_MAX_LABELS = 20
"""That are listed by name."""


def translator_card(
    name: str, family: str, source: str, targets: Sequence[str], weights: Mapping[str, Tensor], facts: Mapping[str, str]
) -> str:
    """Write the card of a model that translates; each of `facts` becomes one line of its table."""
    sentence = f"A {family} that translates from {source} into {', '.join(targets)},"
    return _card(name, sentence, weights, facts, "heedful translate --model . < input.txt > output.txt")


def classifier_card(name: str, labels: Sequence[str], weights: Mapping[str, Tensor], facts: Mapping[str, str]) -> str:
    """Write the card of a model that labels texts."""
    num_more = len(labels) - _MAX_LABELS
    shown = ", ".join(labels[:_MAX_LABELS]) + (f" and {num_more:,} more" if num_more > 0 else "")
    sentence = f"A classifier that puts one of {len(labels):,} labels on a text ({shown}),"
    return _card(name, sentence, weights, facts, "heedful classify --model . < texts.txt")


def language_model_card(name: str, symbols: str, weights: Mapping[str, Tensor], facts: Mapping[str, str]) -> str:
    """Write the card of a language model; `symbols` says over what, such as bytes."""
    usage = 'heedful generate "Once upon a time" --model .'
    return _card(name, f"A language model over {symbols}", weights, facts, usage)


def _card(name: str, sentence: str, weights: Mapping[str, Tensor], facts: Mapping[str, str], usage: str) -> str:
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    num_parameters = sum(tensor.numel() for tensor in weights.values())
    return (
        f"# {name}\n\n{sentence} with {num_parameters:,} parameters, made with Heedful.\n\n"
        f"| | |\n|---|---|\n{rows}\n\n```\n{usage}\n```\n"
    )
