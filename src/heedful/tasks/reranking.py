"""Choosing among the outputs of a search by asking the way back: would this translation be translated to the source?

A model that was trained both ways holds both halves of Bayes' rule in one set of weights (the noisy channel of Yee et
al., 2019). Where a direction had little to learn from, an output that leads back to its source is the better one more
often than the most probable output is. It costs one forced pass over every output; how much the way back should
weigh is a setting of each direction (`decoding.reverse_weights`), because where data is plenty it does harm.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from heedful.decoding import Decodable, Hypothesis
from heedful.decoding.forced import score_outputs
from heedful.decoding.length_penalty import length_penalty
from heedful.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Found:
    """What a search found for one input."""

    source: str
    source_language: str
    weight: float
    """Of the logarithm of the probability of the way back; at 0 the order stays."""

    hypotheses: list[Hypothesis]


def rerank(
    model: Decodable[Any],
    tokenizer: Tokenizer,
    found: Sequence[Found],
    *,
    alpha: float,
    batch_tokens: int,
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each input, best first, by (log p(output | input) + weight · log p(input | output)).

    Both are divided by the length penalty of exponent `alpha`, as the search does; it is the new score.
    """
    questions = [
        (number, rank)
        for number, one in enumerate(found)
        if one.weight and len(one.hypotheses) > 1
        for rank in range(len(one.hypotheses))
    ]
    sources = [
        tokenizer.encode_source(
            tokenizer.decode_target(found[number].hypotheses[rank].token_ids), found[number].source_language
        )
        for number, rank in questions
    ]
    outputs = [tokenizer.encode_target(found[number].source)[:-1] for number, _ in questions]  # the end is the search's
    scored = [list(one.hypotheses) for one in found]
    for batch in _batches(sources, outputs, batch_tokens):
        log_probs = _log_probs(model, tokenizer, [sources[n] for n in batch], [outputs[n] for n in batch], device)
        for question, log_prob in zip(batch, log_probs, strict=True):
            number, rank = questions[question]
            scored[number][rank] = _with_way_back(scored[number][rank], found[number].weight * log_prob, alpha)
    return [
        sorted(hypotheses, key=lambda hypothesis: -hypothesis.score) if one.weight else hypotheses
        for one, hypotheses in zip(found, scored, strict=True)
    ]


def _with_way_back(hypothesis: Hypothesis, log_prob: float, alpha: float) -> Hypothesis:
    penalty = length_penalty(max(1, len(hypothesis.token_log_probs)), alpha)
    return replace(hypothesis, score=(hypothesis.log_prob + log_prob) / penalty)


def _log_probs(
    model: Decodable[Any],
    tokenizer: Tokenizer,
    sources: Sequence[list[int]],
    outputs: Sequence[list[int]],
    device: torch.device,
) -> list[float]:
    longest = max(map(len, sources))
    ids = torch.tensor([[*source, *[tokenizer.pad_id] * (longest - len(source))] for source in sources], device=device)
    mask = (
        torch.arange(longest, device=device) < torch.tensor([len(source) for source in sources], device=device)[:, None]
    )
    scores = score_outputs(model, ids, mask, outputs, bos_id=tokenizer.bos_id, eos_id=tokenizer.eos_id)
    return [sum(score) for score in scores]


def _batches(sources: Sequence[list[int]], outputs: Sequence[list[int]], batch_tokens: int) -> list[list[int]]:
    """Put questions of similar length together, within a budget of padded tokens."""
    order = sorted(range(len(sources)), key=lambda number: (-len(outputs[number]), -len(sources[number])))
    batches: list[list[int]] = []
    longest = 0
    for number in order:
        length = max(longest, len(sources[number]), len(outputs[number]))
        if batches and length * (len(batches[-1]) + 1) <= batch_tokens:
            batches[-1].append(number)
            longest = length
        else:
            batches.append([number])
            longest = max(len(sources[number]), len(outputs[number]))
    return batches
