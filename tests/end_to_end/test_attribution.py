"""What the bundled model's translations are said to rest on, against really leaving the words out of the source."""

import numpy as np
import pytest
import torch

from heedful.insight.attribution import attribute
from heedful.insight.trace import Trace, forced_log_probs, trace_translation
from heedful.models.attention_weights import Floats
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.text.tokens import Word, merge_words

CLEAR = 2.0  # nats by which the decisive word is ahead of any other
NOTHING = 0.05  # nats: a twentieth of a probability is neither for nor against
SENTENCES = [
    ("Where is the nearest station, please?", "de"),
    ("My grandmother used to bake bread every Sunday morning.", "de"),
    ("I forgot to buy milk on my way home.", "de"),
    ("The train leaves at half past eight.", "fr"),
    ("She has lived in Berlin for ten years.", "de"),
    ("Wann fährt der nächste Zug nach Hamburg?", "en"),
    ("The blacksmith sharpened his axe near the windmill.", "de"),
    ("Our neighbour is a retired veterinarian.", "de"),
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load_translator(None, device="cpu")


@torch.no_grad()
def log_probs_without(translator: Translator, trace: Trace, word: Word | None) -> Floats:
    """The log-probability of each written token when the model reads the source without a word."""
    ids = [token.id for token in trace.source_tokens]
    output_ids = [token.id for token in trace.target_tokens]
    kept = ids if word is None else ids[: word.first] + ids[word.end :]
    log_probs, _ = forced_log_probs(translator, translator.readable_model, kept, output_ids)
    found: Floats = log_probs[range(len(output_ids)), output_ids].numpy()
    return found


def test_the_word_whose_absence_costs_most_is_named_and_never_as_one_against(translator: Translator) -> None:
    named, against, clear = [], [], 0
    for text, target in SENTENCES:
        trace = trace_translation(translator, *translator.plan([text], TranslationRequest(target=target)))
        words = merge_words(trace.source_tokens, trace.source)
        whole = log_probs_without(translator, trace, None)
        lost = np.stack([whole - log_probs_without(translator, trace, word) for word in words], axis=1)
        found = attribute(translator.readable_model, trace).by_token[:, [word.first for word in words]]
        for row, token in enumerate(trace.target_tokens):
            best, second = np.argsort(-lost[row])[:2]
            if token.is_special or lost[row, best] - lost[row, second] <= CLEAR:
                continue
            clear += 1
            named.append(found[row].argmax() == best)
            against += [(text, token.text, words[best].text)] if found[row, best] < -NOTHING else []
    assert clear >= 40
    assert np.mean(named) >= 0.85
    assert against == []
