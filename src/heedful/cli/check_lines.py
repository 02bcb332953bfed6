"""The lines of `heedful check` that all tasks share: lengths, costs, findings and the verdict."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.tasks.diagnosis import Finding, LengthSummary
    from heedful.tasks.trial_step import Trial


def length_line(name: str, lengths: "LengthSummary") -> str:
    """Say how long the sentences of a side, or documents, are."""
    return (
        f"  {name}  mean {lengths.mean:.1f}, median {lengths.median}, "
        f"99 % below {lengths.percentile_99 + 1}, longest {lengths.longest}"
    )


def cost_lines(trial: "Trial", batch: str, *, seconds: float | None) -> list[str]:
    """Say what the steps that were tried tell of the run."""
    lines = [
        f"parameters  {trial.num_parameters:,}",
        f"memory      about {trial.memory_bytes / 2**20:,.0f} MiB for {batch}",
    ]
    return lines if seconds is None else [*lines, time_line(seconds)]


def time_line(seconds: float) -> str:
    """Say how long a run takes."""
    minutes = round(seconds / 60)
    shown = f"{seconds:.0f} s" if seconds < 120 else f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.1f} h"
    return f"time        about {shown}"


def finding_lines(findings: Sequence["Finding"]) -> list[str]:
    """Say what was found, the worst first, and whether training would be refused."""
    order = ("error", "warning", "note")
    sorted_findings = sorted(findings, key=lambda finding: order.index(finding.severity))
    is_refused = any(finding.severity == "error" for finding in findings)
    return [
        "",
        *(f"{finding.severity}: {finding.sentence}" for finding in sorted_findings),
        "Training would be refused." if is_refused else "Nothing stands in the way.",
    ]
