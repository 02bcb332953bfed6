"""Positions: closed forms, the two layouts, going on from a start, and the end of learned ones."""

import math

import pytest
import torch

from heedful.errors import UserError
from heedful.nn import LearnedPositions, NoPositions, SinusoidalPositions, sinusoidal_table


def test_first_and_second_row_are_known() -> None:
    table = sinusoidal_table(2, 4)
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    torch.testing.assert_close(table, torch.tensor(expected))


def test_layouts_hold_the_same_columns_in_another_order() -> None:
    interleaved, halves = sinusoidal_table(50, 16), sinusoidal_table(50, 16, "halves")
    assert torch.equal(halves, torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1))


def test_moving_by_k_is_one_linear_map_for_all_positions() -> None:
    """The reason the paper gives for sinusoids (section 3.5): PE(pos + k) = PE(pos) R_k, whatever pos is."""
    table = sinusoidal_table(207, 16)
    angles = [7 / 10000 ** (i / 16) for i in range(0, 16, 2)]
    blocks = [[[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles]
    rotation = torch.block_diag(*(torch.tensor(block) for block in blocks))
    torch.testing.assert_close(table[:200] @ rotation, table[7:], atol=1e-6, rtol=0)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_positions_beyond_the_ready_table_are_computed(layout: str) -> None:
    short, long = SinusoidalPositions(8, layout, ready_len=5), SinusoidalPositions(8, layout, ready_len=40)
    embeddings = torch.zeros(1, 9, 8)
    for start in (0, 3, 31):
        assert torch.equal(short(embeddings, start), long(embeddings, start))


def test_sinusoidal_positions_are_not_stored() -> None:
    assert SinusoidalPositions(8).state_dict() == {}


def test_learned_positions_go_on_from_a_start() -> None:
    positions = LearnedPositions(4, max_len=6)
    whole = positions(torch.zeros(1, 6, 4))
    assert torch.equal(positions(torch.zeros(1, 1, 4), start=5), whole[:, 5:])


def test_learned_positions_end_with_a_sentence() -> None:
    expected = (
        r"^A sequence must have at most 6 tokens, the positions this model has learned, but one has 7\. "
        r"Split the text, or train with a larger `model\.positions\.max_len`\.$"
    )
    with pytest.raises(UserError, match=expected):
        LearnedPositions(4, max_len=6)(torch.zeros(1, 2, 4), start=5)


def test_no_positions_change_nothing() -> None:
    embeddings = torch.randn(2, 3, 4)
    assert torch.equal(NoPositions()(embeddings, start=9), embeddings)
