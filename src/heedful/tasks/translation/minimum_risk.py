"""Minimum Bayes risk: candidates of a translation in the order of their likeness to all of them.

What most candidates agree on is seldom wrong, while the single most probable one may be. Knows texts only.
"""

from collections.abc import Sequence

from heedful.decoding import Hypothesis
from heedful.evaluation.likeness import pairwise_bleu, pairwise_chrf
from heedful.evaluation.scores import tokenizer_of
from heedful.tasks.translation.request import Utility


def least_risk_first(
    candidates: Sequence[Hypothesis], texts: Sequence[str], utility: Utility, language: str
) -> list[Hypothesis]:
    """Order candidates, whose texts in `language` are given, by the mean utility; a text counts as often as it comes.

    Equal texts become one candidate; equal utilities keep their order. What the model broke down in comes last.
    """
    distinct = list(dict.fromkeys(texts))
    weight = [texts.count(text) for text in distinct]
    likeness = pairwise_chrf(distinct) if utility == "chrf" else pairwise_bleu(distinct, tokenizer_of(language))
    means = dict(zip(distinct, (likeness @ weight).tolist(), strict=True))
    first = dict(reversed(list(zip(texts, candidates, strict=True))))
    return [
        first[text] for text in sorted(distinct, key=lambda text: (first[text].finish_reason == "error", -means[text]))
    ]
