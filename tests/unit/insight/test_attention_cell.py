"""A cell opened up ends in the weight that the map shows."""

import math

import numpy as np
import pytest

from heedful.errors import UserError
from heedful.insight.attention_cell import open_cell
from tests.support.small_models import SENTENCE, USES, small_translator


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("kind", USES)
def test_the_numbers_lead_to_the_weight_shown(norm: str, kind: str) -> None:
    translator = small_translator(norm)
    trace = translator.translate(SENTENCE, trace=True)
    shown = trace.attention(kind, layer=1, head=1)
    cell = open_cell(translator.readable_model, trace, kind, layer=1, head=1, row=2, column=1)
    np.testing.assert_allclose(cell.row_weights, shown[2], atol=1e-6)
    assert cell.weight == pytest.approx(float(shown[2, 1]), abs=1e-6)
    assert cell.total == pytest.approx(float(cell.query @ cell.key), rel=1e-5)
    assert cell.divisor == pytest.approx(math.sqrt(16))
    assert float(cell.row_scores[1]) == pytest.approx(cell.total / cell.divisor, rel=1e-5)
    assert math.isinf(cell.row_scores[-1]) == (kind == "decoder")


def test_a_cell_outside_the_map_is_refused() -> None:
    translator = small_translator()
    trace = translator.translate(SENTENCE, trace=True)
    with pytest.raises(UserError, match="`row` must be between 0 and"):
        open_cell(translator.readable_model, trace, "cross", layer=0, head=0, row=99, column=0)
