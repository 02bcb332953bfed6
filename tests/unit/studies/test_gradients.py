"""Gradients through layers whose Jacobian is known in closed form."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from heedful.errors import UserError
from heedful.studies.gradients import PlainRecurrence, jacobian_norms, rate_per_step
from heedful.studies.study_folder import MEASUREMENTS, StudyFolder


@pytest.mark.parametrize("gain", [0.5, 1.0, 2.0])
def test_without_inputs_a_gradient_changes_by_the_gain_at_every_step(gain: float) -> None:
    torch.manual_seed(0)
    layer = PlainRecurrence(16, gain).double()
    # At the state 0 the slope of tanh is 1, so that ∂y_T / ∂x_t = (gain · Q)^(T - t) W with Q orthogonal.
    norms = jacobian_norms(layer, torch.zeros(1, 12, 16, dtype=torch.float64), torch.eye(16, dtype=torch.float64))
    ratios = [earlier / later for earlier, later in pairwise(norms)]
    assert ratios == pytest.approx([gain] * 11)
    assert norms[-1] == pytest.approx(layer.unit.weight_ih_l0.norm().item() / 4)  # a mean over 16 probes
    assert rate_per_step(list(reversed(norms))) == pytest.approx(gain)


def test_a_layer_that_sees_everything_alike_has_the_same_gradient_everywhere() -> None:
    class Mean(nn.Module):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return states.mean(dim=1, keepdim=True).expand_as(states)

    norms = jacobian_norms(Mean(), torch.randn(1, 10, 4), torch.eye(4))
    assert norms == pytest.approx([1 / 10] * 10)
    assert rate_per_step(norms) == pytest.approx(1.0)


def test_the_rate_is_not_fitted_to_rounding() -> None:
    norms = [math.exp(-place) for place in range(20)] + [1e-12] * 30
    assert rate_per_step(norms) == pytest.approx(math.exp(-1))


def test_a_study_goes_on_with_its_own_settings_only(tmp_path: Path) -> None:
    folder = StudyFolder.begin(tmp_path / "study", {"seeds": [1, 2]}, resume=False)
    folder.record("a", {"norms": [1.0]})
    with pytest.raises(UserError, match="Go on with it by --resume"):
        StudyFolder.begin(tmp_path / "study", {"seeds": [1, 2]}, resume=False)
    with pytest.raises(UserError, match=r"`seeds` was \[1, 2\] and is \[1\]"):
        StudyFolder.begin(tmp_path / "study", {"seeds": [1]}, resume=True)
    assert StudyFolder.begin(tmp_path / "study", {"seeds": [1, 2]}, resume=True).done == {"a": {"norms": [1.0]}}


def test_a_torn_line_is_dropped_and_measured_again(tmp_path: Path) -> None:
    folder = StudyFolder.begin(tmp_path, {}, resume=False)
    folder.record("a", {"value": 1})
    with (tmp_path / MEASUREMENTS).open("ab") as stream:
        stream.write(b'{"key": "b", "val')
    again = StudyFolder.begin(tmp_path, {}, resume=True)
    assert again.done == {"a": {"value": 1}}
    again.record("b", {"value": 2})
    assert StudyFolder.begin(tmp_path, {}, resume=True).done == {"a": {"value": 1}, "b": {"value": 2}}


def test_a_folder_with_something_else_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear …", encoding="utf-8")
    with pytest.raises(UserError, match="must be a study or empty"):
        StudyFolder.begin(tmp_path, {}, resume=True)
