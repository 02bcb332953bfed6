"""Attribution against a model whose table has one row more, alignment and positions against numbers made by hand."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.errors import UserError
from heedful.insight.alignment import align
from heedful.insight.attribution import attribute
from heedful.insight.position_table import position_kind, position_table, similarity
from heedful.nn.positions import LearnedPositions, NoPositions
from heedful.text.tokens import Token, merge_words
from tests.support.small_models import SENTENCE, draw_model, small_translator


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_attribution_is_what_each_token_loses_when_a_word_is_hidden(norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = small_translator(norm)
    trace = translator.translate(SENTENCE, trace=True)
    model = translator.readable_model
    source_ids = [token.id for token in trace.source_tokens]
    output_ids = [token.id for token in trace.target_tokens]

    @torch.no_grad()
    def log_probs(hidden: range) -> np.ndarray:
        """By the whole model, whose table of embeddings has one row more: the mean of the others."""
        other = copy.deepcopy(model)
        table = other.source_embedding.weight
        ids = [len(table) if place in hidden else id_ for place, id_ in enumerate(source_ids)]
        other.source_embedding.embedding.weight = torch.nn.Parameter(torch.cat([table, table.mean(0, keepdim=True)]))
        inputs = torch.tensor([[token.id for token in trace.input_tokens]])
        found = other(torch.tensor([ids]), None, inputs)[0].log_softmax(-1)
        return found[range(len(output_ids)), output_ids].numpy()

    whole = attribute(model, trace)
    words = merge_words(trace.source_tokens, trace.source)
    assert any(word.end - word.first > 1 for word in words), "a word of several tokens is hidden as one"
    symbols = [place for place, token in enumerate(trace.source_tokens) if token.is_special]
    for hidden in [range(word.first, word.end) for word in words] + [range(place, place + 1) for place in symbols]:
        lost = log_probs(range(0)) - log_probs(hidden)
        for place in hidden:
            np.testing.assert_allclose(whole.by_token[:, place], lost, atol=1e-5)
    np.testing.assert_allclose(whole.total, whole.by_token.sum(axis=0))
    monkeypatch.setattr("heedful.insight.attribution._MAX_LOGITS", 1)
    np.testing.assert_allclose(attribute(model, trace).by_token, whole.by_token, atol=1e-5)


def test_attribution_ends_between_two_passes_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    class LeftError(Exception):
        pass

    calls: list[None] = []

    def leave_at_the_third() -> None:
        calls.append(None)
        if len(calls) == 3:
            raise LeftError

    translator = small_translator()
    trace = translator.translate(SENTENCE, trace=True)
    monkeypatch.setattr("heedful.insight.attribution._MAX_LOGITS", 1)
    with pytest.raises(LeftError):
        attribute(translator.readable_model, trace, before_pass=leave_at_the_third)
    assert len(calls) == 3


def test_alignment_adds_the_pieces_of_a_source_word_and_averages_those_of_a_target_word() -> None:
    trace = small_translator().translate(SENTENCE, trace=True)
    source = (Token("▁ab", 5, 0, 2), Token("c", 6, 2, 3), Token("▁d", 7, 3, 5), Token("</s>", 2, 5, 5, True))
    target = (Token("▁x", 8, 0, 1), Token("y", 9, 1, 2), Token("▁z", 9, 2, 4), Token("</s>", 2, 4, 4, True))
    rows = [[0.4, 0.4, 0.1, 0.1], [0.2, 0.0, 0.2, 0.6], [0.0, 0.1, 0.8, 0.1], [0.0, 0.0, 0.0, 1.0]]
    weights = {**trace.weights, "cross": np.array([[rows, rows]], dtype=np.float32)}
    made = replace(
        trace, source="abc d", text="xy z", source_tokens=source, target_tokens=target, weights=weights
    )  # fmt: skip
    found = align(made)
    assert [word.text for word in found.source_words] == ["abc", "d"]
    assert [word.text for word in found.target_words] == ["xy", "z"]
    first, second = (0.8 + 0.2) / 2, (0.1 + 0.2) / 2
    np.testing.assert_allclose(
        found.weights, [[first / (first + second), second / (first + second)], [1 / 9, 8 / 9]], rtol=1e-6
    )
    assert found.links == ((0, 0), (1, 1))
    with pytest.raises(UserError, match=r"`layer` must be between 0 and 0, but is 1\."):
        align(made, layer=1)


def test_the_position_table_is_what_the_model_adds() -> None:
    model = draw_model()
    table = position_table(model, 10)
    assert position_kind(model) == "sinusoidal"
    angles = np.arange(10)[:, None] / 10000 ** (np.arange(0, 32, 2) / 32)
    np.testing.assert_allclose(table[:, 0::2], np.sin(angles), atol=1e-6)
    np.testing.assert_allclose(table[:, 1::2], np.cos(angles), atol=1e-6)
    alike = similarity(table)
    np.testing.assert_allclose(alike, np.cos(angles[:, None] - angles[None]).mean(axis=-1), atol=1e-6)


def test_learned_positions_end_where_they_were_learned_and_none_are_nothing() -> None:
    model = draw_model()
    model.source_positions = LearnedPositions(32, 6)
    assert position_kind(model) == "learned"
    np.testing.assert_array_equal(position_table(model, 10), model.source_positions.embedding.weight.detach().numpy())
    model.target_positions = NoPositions()
    assert position_kind(model, "target") == "none"
    assert not similarity(position_table(model, 3, "target")).any()
    with pytest.raises(UserError, match=r"`length` must be at least 1, but is 0\."):
        position_table(model, 0)
