"""How the options that only language models understand are written, and that no other model is given them."""

import pytest

from heedful.cli.evaluate_text import parse_dynamic
from heedful.errors import UserError
from heedful.evaluation.dynamic import Adaptation


def test_kind_rate_and_decay_can_be_given_or_left_out() -> None:
    assert parse_dynamic("rms") == Adaptation()
    assert parse_dynamic("rms,1e-4") == Adaptation("rms", rate=1e-4, decay=Adaptation().decay)
    assert parse_dynamic("sgd,0.1,0.02") == Adaptation("sgd", rate=0.1, decay=0.02)


@pytest.mark.parametrize("written", ["adam", "rms,fast", "sgd,-1", "sgd,1,1,1", "", "rms,nan"])
def test_anything_else_is_refused(written: str) -> None:
    with pytest.raises(UserError, match="`--dynamic` must be rms or sgd"):
        parse_dynamic(written)
