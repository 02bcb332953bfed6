"""Attribution against finite differences, alignment and positions against numbers worked out by hand."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.errors import UserError
from heedful.insight.alignment import align
from heedful.insight.attribution import attribute
from heedful.insight.position_table import position_kind, position_table, similarity
from heedful.insight.tokens import Token
from heedful.nn.positions import LearnedPositions, NoPositions

from .small_models import SENTENCE, draw_model, small_translator


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_attribution_is_how_fast_the_log_probability_grows_with_an_embedding(norm) -> None:
    translator = small_translator(norm)
    trace = translator.translate(SENTENCE, trace=True)
    model = copy.deepcopy(translator.readable_model).double()
    source_ids = torch.tensor([[token.id for token in trace.source_tokens]])
    input_ids = torch.tensor([[token.id for token in trace.input_tokens]])
    output_ids = torch.tensor([token.id for token in trace.target_tokens])

    @torch.no_grad()
    def log_probs(position: int, factor: float) -> torch.Tensor:
        vectors = model.source_embedding(source_ids)
        vectors[:, position] *= factor
        memory = model.encoder(model.source_positions(vectors), None)
        return model.project(model.decode(input_ids, memory, None))[0].log_softmax(-1)[
            range(len(output_ids)), output_ids
        ]

    found = attribute(model, trace)
    for position in range(len(trace.source_tokens)):
        slope = (log_probs(position, 1 + 1e-5) - log_probs(position, 1 - 1e-5)) / 2e-5
        np.testing.assert_allclose(found.by_token[:, position], slope.numpy(), atol=1e-5)
    np.testing.assert_allclose(found.total, found.by_token.sum(axis=0))


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
