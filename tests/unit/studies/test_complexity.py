"""What is computed from measurements: peaks that are known, laws that were put in, lines that cross where they must."""

import dataclasses
from pathlib import Path

import pytest
import torch

from heedful.studies.complexity import Cell, Findings, Sizes, crossings, fit, measure, study_complexity
from heedful.studies.complexity_report import complexity_report
from heedful.studies.layers import FAMILIES
from heedful.studies.memory import peak_bytes
from heedful.studies.study_folder import StudyFolder

CPU = torch.device("cpu")
SIZES = Sizes([128, 256, 512, 1024], [64, 128, 256], ["cpu"])


def findings(seconds_per_step: float = 0.0) -> Findings:
    """Measurements of a machine that does a billion multiply-adds a second, and loses time at each recurrent step."""
    cells = []
    for device, length, width, family in SIZES.cells():
        lost = seconds_per_step * length if family == "recurrent" else 0.0
        seconds = FAMILIES[family].multiply_adds(length, width) * 1e-9 + lost
        cells.append(Cell(device, family, length, width, seconds, 2 * seconds, 4 * length * width))
    chains = {name: {8: 6, 16: 6} for name in FAMILIES}
    return Findings(SIZES, cells, [], chains, {"attention": {8: 1, 16: 1}})


def test_the_peak_of_a_chain_of_tensors_is_known() -> None:
    ones = torch.ones(1000, 250)  # a million bytes
    with torch.no_grad():
        assert peak_bytes(lambda: ones * 2, CPU) == 1_000_000
        assert peak_bytes(lambda: [(ones * 2).view(-1)[:5] for _ in range(3)], CPU) == 3_000_000
        assert peak_bytes(lambda: [float((ones * 2).sum()) for _ in range(3)], CPU) == 1_000_004


def test_the_peak_has_what_is_kept_for_the_backward_pass() -> None:
    ones = torch.ones(1000, 250, requires_grad=True)

    def passes() -> None:
        ones.exp().sin().sum().backward()

    # exp keeps its result, sin its input, which is the same tensor; then sin's result, or gradients, beside it.
    assert 2_000_000 <= peak_bytes(passes, CPU) <= 4_000_100


def test_unfused_attention_holds_its_weights_and_fused_attention_does_not() -> None:
    fused, unfused = (measure("cpu", name, 512, 64, SIZES) for name in ("attention", "unfused"))
    weights = 4 * 512 * 512
    assert unfused.peak > 2 * weights
    assert fused.peak < weights
    assert min(fused.forward, fused.backward, unfused.forward, unfused.backward) > 0


def test_exponents_of_a_machine_that_does_what_is_counted_are_the_papers() -> None:
    for found in fit(findings(), lambda cell: cell.total):
        for size, expected in (FAMILIES[found.family].exponents or {}).items():
            assert found.measured[size].value == pytest.approx(expected)
        assert found.measured["n"].value == pytest.approx(found.counted["n"].value)


def test_lines_cross_where_the_operations_say() -> None:
    met = {(it.other, it.width): it for it in crossings(findings())}
    # 2n²d + 4nd² = 6nd² at n = d
    assert met["recurrent", 256].counted == 256
    assert met["recurrent", 256].measured == pytest.approx(256, rel=0.05)
    assert met["convolution", 64].counted == 0
    assert met["convolution", 64].is_slower_at_end


def test_time_lost_at_each_step_moves_the_crossing_away() -> None:
    (slow,) = [it for it in crossings(findings(seconds_per_step=2e-5)) if (it.other, it.width) == ("recurrent", 64)]
    (quick,) = [it for it in crossings(findings()) if (it.other, it.width) == ("recurrent", 64)]
    assert slow.counted == quick.counted == 64
    # 2 · 64n² + 4 · 64²n = 6 · 64²n + 20,000n billionths of a second
    assert slow.measured == pytest.approx((2 * 64**2 + 20_000) / (2 * 64), rel=0.05)


def test_where_lines_will_cross_is_said_before_they_do() -> None:
    slow = [it for it in crossings(findings(seconds_per_step=2e-4)) if (it.other, it.width) == ("recurrent", 64)]
    # 2 · 64n² + 4 · 64²n = 6 · 64²n + 200,000n; what is linear bends the line, which is followed straight on
    assert slow[0].measured is None
    assert slow[0].expected == pytest.approx((2 * 64**2 + 200_000) / (2 * 64), rel=0.15)
    (never,) = [it for it in crossings(findings()) if (it.other, it.width) == ("convolution", 64)]
    assert never.expected is None


def test_what_does_not_fit_or_is_refused_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_device: str, family: str, length: int, width: int, _sizes: Sizes) -> Cell:
        if family == "recurrent":
            raise RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.")
        if family == "unfused":
            raise RuntimeError("CUDA out of memory.")
        return Cell("cpu", family, length, width, 1.0, 1.0, 1)

    monkeypatch.setattr("heedful.studies.complexity.measure", refuse)
    sizes = Sizes([4, 8], [2, 4], ["cpu"])
    found = study_complexity(sizes, StudyFolder.begin(tmp_path, {}, resume=False), lambda _: None)
    assert {family for _, family, _, _ in found.left_out} == {"recurrent", "unfused"}
    later = study_complexity(sizes, StudyFolder.begin(tmp_path, {}, resume=True), lambda _: None, minutes=0)
    assert later.cells == found.cells


def test_the_report_says_when_nothing_crosses_and_what_was_left_out() -> None:
    found = dataclasses.replace(findings(seconds_per_step=1.0), left_out=[("cpu", "unfused", 4096, 256)])
    told = " ".join(block for block in complexity_report(found).blocks if isinstance(block, str))
    assert "does not overtake attention up to n = 1,024" in told
    assert "unfused n = 4,096 d = 256" in told


def test_a_deviation_is_explained_by_its_rates() -> None:
    told = [block for block in complexity_report(findings(seconds_per_step=1e-5)).blocks if isinstance(block, str)]
    (recurrent,) = [block for block in told if block.startswith("recurrent")]
    assert "exponent of d" in recurrent
    assert "billion multiply-adds a second at n = 256, d = 64" in recurrent
