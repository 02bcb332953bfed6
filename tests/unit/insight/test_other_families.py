"""Classifiers and language models can be looked into as well; the weights of every attention of ours are used ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.errors import UserError
from heedful.insight.classification_trace import trace_classification
from heedful.insight.text_trace import trace_text
from heedful.models.attention_weights import reach, watch_attention
from heedful.models.language_model import LanguageModel
from heedful.models.transformer_xl import TransformerXL
from heedful.nn.initialization import initialize
from heedful.tasks.language_modeling.model import TextModel
from heedful.text.symbols import ByteSymbols
from tests.support.classifier_folders import make
from tests.support.classifier_models import ATTENTIONS, build, documents

SIZES: dict[str, Any] = {"dim": 16, "num_heads": 2, "hidden_dim": 32, "num_layers": 3, "dropout": 0.0}


def text_model(model: TransformerXL | LanguageModel) -> TextModel:
    initialize(model, torch.Generator().manual_seed(1))
    return TextModel(model.eval(), ByteSymbols(), segment_len=4, memory_len=6, device=torch.device("cpu"))


@pytest.mark.parametrize("attention", ATTENTIONS, ids=lambda it: it["kind"])
def test_every_kind_of_attention_can_be_watched(attention: dict[str, Any]) -> None:
    model, ids = build(attention=attention), documents(9, 5)
    before = model(ids)
    with watch_attention(model) as found:
        assert torch.equal(model(ids), before)
    assert len(found) == 2
    for weights in found.values():
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        assert not weights[1, :, :, 5:].any()


def test_a_decision_is_shown_with_its_words_and_its_attention() -> None:
    classifier = make()
    trace = trace_classification(classifier, "a good film")
    assert trace.decision == classifier.classify_detailed(["a good film"], explain=True)[0]
    assert [token.id for token in trace.tokens] == list(classifier.encode(["a good film"]).ids[0])
    assert trace.weights is not None
    assert trace.weights.shape[-2:] == (len(trace.tokens), len(trace.tokens))
    np.testing.assert_allclose(trace.weights.sum(axis=-1), 1, rtol=1e-5)
    with pytest.raises(UserError, match="must not be empty"):
        trace_classification(classifier, " ")
    with pytest.raises(UserError, match=r"The text must have at most .* tokens to be looked into, but has "):
        trace_classification(classifier, "good film " * 200)
    long = trace_classification(classifier, "good film " * 200, any_length=True)
    assert (long.weights, len(long.decision.words)) == (None, 400)


def test_what_is_read_after_a_memory_is_what_a_long_segment_reads() -> None:
    model = text_model(TransformerXL(TransformerXLConfig(**SIZES), vocab_size=256))
    text = b"the old whale"
    whole = trace_text(model, text, num_read=14)
    assert (whole.remembered, len(whole.read)) == ((), 14)
    ended = trace_text(model, text, num_read=5)
    assert ("".join(ended.remembered), "".join(ended.read)) == ("e old ", "whale")
    assert ended.weights.shape == (3, 2, 5, 11)
    np.testing.assert_allclose(ended.weights.sum(axis=-1), 1, rtol=1e-5)
    remembering_all = trace_text(replace(model, memory_len=9), text, num_read=5)
    np.testing.assert_allclose(remembering_all.weights, whole.weights[:, :, -5:], atol=1e-5)
    np.testing.assert_allclose(remembering_all.log_probs, whole.log_probs[-4:], atol=1e-4)
    logits = model.model.project(model.model(torch.tensor([[10, *text]]), model.model.empty_memory(1, 0))[0])[0]
    wanted = logits.log_softmax(-1)[range(13), list(text)]
    np.testing.assert_allclose(whole.log_probs, wanted.detach(), atol=1e-5)
    assert [choice.id for choice in whole.expected[-1]] == logits[-1].topk(8).indices.tolist()


def test_a_plain_model_looks_at_its_context_only() -> None:
    shape = LanguageModelConfig(kind="language_model", context_len=6, **SIZES)
    model = text_model(LanguageModel(shape, vocab_size=256))
    trace = trace_text(model, "ein Gruß")
    assert trace.remembered == ()
    assert trace.read == (" ", "G", "r", "u", "<0xC3>", "<0x9F>")
    assert trace.weights.shape == (3, 2, 6, 6)
    with pytest.raises(UserError, match="`num_read` must be between 1 and 128, but is 0"):
        trace_text(model, "x", num_read=0)


def test_reach_is_the_mean_distance() -> None:
    weights = np.zeros((1, 1, 2, 5), dtype=np.float32)
    weights[0, 0, 0, 3] = 1.0  # the first query looks at itself
    weights[0, 0, 1, [0, 4]] = 0.5  # the second, half of it, four back
    assert reach(weights).tolist() == [[1.0]]
