"""What a report is made of: sentences, tables and plots, in the order they are read.

A report holds what is shown, already in words and figures; where the figures come from is not known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Table:
    """Rows of cells under a title; the first column names a row, the others hold figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    """What must be known to read it."""

    is_prose: bool = False
    """Whether the cells are texts to read, not figures to compare."""


@dataclass(frozen=True)
class Point:
    """A measured value, and the interval it is in, where one is known."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """A line of a plot."""

    name: str
    points: Sequence[Point]
    is_dashed: bool = False
    """For what was not measured but computed, to compare with."""


@dataclass(frozen=True)
class LinePlot:
    """Lines over a number."""

    name: str
    """The file it is written to, without its ending."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    note: str = ""


@dataclass(frozen=True)
class NamedValue:
    """A value, and the interval it is in, where one is known."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class IntervalPlot:
    """One value and its interval for each of several things, one below the other."""

    name: str
    title: str
    x_label: str
    rows: Sequence[NamedValue]
    reference: float | None = None
    """A value to compare with, drawn as a line through all rows."""

    note: str = ""


Plot = LinePlot | IntervalPlot
Block = str | Table | Plot
"""A paragraph, a table or a plot."""


@dataclass(frozen=True)
class Report:
    """A report: what is shown to people, and the figures behind it."""

    name: str
    title: str
    blocks: Sequence[Block]
    data: Mapping[str, Any] = field(default_factory=dict)
    """Everything that was measured and computed, in types that JSON has."""

    @property
    def plots(self) -> list[Plot]:
        """The plots, in order."""
        return [block for block in self.blocks if isinstance(block, LinePlot | IntervalPlot)]
