"""A trace as lines for a terminal: what of it can be said in words and numbers, the most telling first.

Text of a model may be anything; what a terminal would not show as itself is spelled out.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence

from heedful.insight.attribution import Attribution
from heedful.insight.classification_trace import ClassificationTrace
from heedful.insight.text_trace import TextTrace
from heedful.insight.trace import Choice, Trace
from heedful.models.attention_weights import Floats, entropy, reach
from heedful.text.tokens import merge_words

_NUM_HEADS = 5
_NUM_WORDS = 6
_NUM_OTHERS = 3
_SIGNS = {"\n": "↵", "\t": "⇥", " ": "␣", "▁": "␣"}


def translation_lines(trace: Trace, attribution: Attribution, changes: Mapping[str, Floats]) -> list[str]:
    """Describe a translation token by token: how probable, what else was, what it rests on, and where it looks."""
    words = merge_words(trace.source_tokens, trace.source)
    use = trace.use_between("target", "source")
    looks = None if use is None else trace.weights[use.name][-1].mean(axis=0)  # [target_len, source_len]
    rows = [["token", "probability", "rests on", "looks at", "also likely"]]
    for place, (token, step) in enumerate(zip(trace.target_tokens, trace.steps, strict=True)):
        best = max(words, key=lambda word: attribution.by_token[place, word.first], default=None)
        most = None if looks is None else trace.source_tokens[int(looks[place].argmax())]
        rows.append(
            [
                spelled(token.text),
                _percent(step.log_prob),
                "" if best is None else f"{spelled(best.text)} {attribution.by_token[place, best.first]:+.2f}",
                "" if most is None or looks is None else f"{spelled(most.text)} {looks[place].max():.2f}",
                _others(step.top, token.id),
            ]
        )
    perplexity = math.exp(-trace.log_prob / max(1, len(trace.steps)))
    return [
        trace.text,
        f"score {trace.score:.3f}, log-probability {trace.log_prob:.2f}, perplexity per token {perplexity:.2f}",
        "",
        *_table(rows),
        *_heads_that_matter(changes),
    ]


def label_lines(trace: ClassificationTrace) -> list[str]:
    """Describe a decision: the probabilities, which words speak for each label and against it, where heads look."""
    decision = trace.decision
    shares = [[f"  {spelled(label)}", f"{share:.1%}"] for label, share in decision.probabilities.items()]
    lines = [f"{decision.label} {decision.probability:.4f}", "", *_table(shares)]
    for label in decision.probabilities if len(decision.probabilities) > 2 else [str(decision.label)]:
        influences = sorted(((word.by_label[label], word.word) for word in decision.words), reverse=True)
        speaking = [(value, word) for value, word in influences[:_NUM_WORDS] if value > 0]
        against = [(value, word) for value, word in influences[: -_NUM_WORDS - 1 : -1] if value < 0]
        lines += ["", f"for “{spelled(label)}”:  {_weighed(speaking)}", f"  against it:  {_weighed(against)}"]
    if trace.weights is None or not len(trace.weights):
        return lines
    rows = [["layer", "head", "tokens looked at", "most looked at"]]
    for layer, spreads in enumerate(entropy(trace.weights)):
        for head, bits in enumerate(spreads):
            received = trace.weights[layer, head].mean(axis=0)  # [key_len]
            most = trace.tokens[int(received.argmax())]
            rows.append([f"{layer + 1}", f"{head + 1}", f"{2**bits:.1f}", f"{spelled(most.text)} {received.max():.2f}"])
    return [*lines, "", *_table(rows)]


def reading_lines(trace: TextTrace) -> list[str]:
    """Describe a text symbol by symbol: how surprising each was, what was expected, and how far back heads look."""
    rows = [["symbol", "bits", "probability", "also likely"]]
    for symbol, log_prob, expected in zip(trace.read[1:], trace.log_probs, trace.expected, strict=False):
        others = [choice for choice in expected if choice.text != symbol]
        rows.append([spelled(symbol), f"{-log_prob / math.log(2):.2f}", _percent(log_prob), _listed(others)])
    num_remembered = len(trace.remembered)
    heads = [["layer", "head", "symbols back", "in the memory"]]
    in_memory = trace.weights[..., :num_remembered].sum(axis=-1).mean(axis=-1)  # [layers, heads]
    for layer, distances in enumerate(reach(trace.weights)):
        for head, distance in enumerate(distances):
            heads.append([f"{layer + 1}", f"{head + 1}", f"{distance:.1f}", f"{in_memory[layer, head]:.1%}"])
    count = len(trace.log_probs)
    read = f"{trace.bits_per_symbol:.3f} bits per symbol over {count:,} symbols"
    if len(trace.weights):
        read += f", after {num_remembered:,} in the memory"
    return [
        *([read, "", *_table(rows), ""] if count else []),
        f"next:  {_listed(trace.expected[-1], len(trace.expected[-1]))}",
        "",
        *(_table(heads) if len(trace.weights) else ["No attention: this model remembers by a state."]),
    ]


def spelled(text: str) -> str:
    """Write a token so that it can be seen and does nothing to a terminal; a space mark inside words is left away."""
    text = text.removeprefix("▁") or text
    return "".join(
        _SIGNS.get(character, character)
        if character.isprintable() or character in _SIGNS
        else character.encode("unicode_escape").decode()
        for character in text
    )


def _heads_that_matter(changes: Mapping[str, Floats]) -> list[str]:
    """List the heads without which the translation loses most."""
    found = sorted(
        (float(change), f"{name} layer {layer + 1} head {head + 1}")
        for name, values in changes.items()
        for layer, heads in enumerate(values)
        for head, change in enumerate(heads)
        if change < 0
    )[:_NUM_HEADS]
    listed = ", ".join(f"{name} {change:+.2f}" for change, name in found)
    return ["", f"without a head the log-probability changes most for:  {listed}"] if found else []


def _others(top: Sequence[Choice], token_id: int) -> str:
    return _listed([choice for choice in top if choice.id != token_id])


def _listed(choices: Sequence[Choice], count: int = _NUM_OTHERS) -> str:
    return "  ".join(f"{spelled(choice.text)} {_percent(choice.log_prob)}" for choice in choices[:count])


def _weighed(words: Sequence[tuple[float, str]]) -> str:
    return "  ".join(f"{spelled(word)} {value:+.2f}" for value, word in words) or "nothing"


def _percent(log_prob: float) -> str:
    return f"{math.exp(log_prob):.1%}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Put cells under each other; a character of East Asia is two columns wide, a mark upon another none."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
