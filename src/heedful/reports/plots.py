"""Plots as SVG: lines over a number, and intervals below each other. Plain shapes and text, no script.

A plot is a document of its own, drawn dark on white, so that it looks the same in a page, in a README and on paper.
Every point says its values when one points at it. Text is escaped: names may come from a user's files.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from heedful.reports.report import IntervalPlot, LinePlot, Plot, Series

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 44, 50
INK, SOFT, GRID = "#1d1f24", "#5b606b", "#e4e2dc"
COLOURS = ("#2456d6", "#c96314", "#008560", "#b22d76", "#714cc4", "#967600", "#0087a8", "#744830")
LINE_HEIGHT = 15.0


@dataclass(frozen=True)
class Axis:
    """From values to places between two ends of the picture, in proportion or by powers."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool

    def place(self, value: float) -> float:
        """Return where a value is drawn."""
        low, high, value = (math.log(v) if self.is_log else v for v in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return a handful of round values within the ends."""
        return _powers(self.low, self.high) if self.is_log else _steps(self.low, self.high)


def draw(plot: Plot) -> str:
    """Return a plot as an SVG document."""
    match plot:
        case LinePlot():
            return _draw_lines(plot)
        case IntervalPlot():
            return _draw_intervals(plot)


def _draw_lines(plot: LinePlot) -> str:
    points = [point for series in plot.series for point in series.points]
    xs = [point.x for point in points]
    ys = [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    x_axis = Axis(*_ends(xs, is_log=plot.log_x, margin=0.0), LEFT, WIDTH - RIGHT, plot.log_x)
    y_axis = Axis(*_ends(ys, is_log=plot.log_y, margin=0.05), HEIGHT - BOTTOM, TOP, plot.log_y)
    parts = [
        _text(LEFT, 22, plot.title, size=14, colour=INK, anchor="start", is_bold=True),
        *_grid_of_rows(y_axis),
        *(_text(x_axis.place(x), HEIGHT - BOTTOM + 18, _shown(x)) for x in x_axis.ticks()),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, plot.x_label, colour=INK),
        f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2:.1f}) rotate(-90)" text-anchor="middle" '
        f'fill="{INK}">{escape(plot.y_label)}</text>',
    ]
    for number, series in enumerate(plot.series):
        parts += _line(series, _colour(number), x_axis, y_axis)
    parts += _names_beside(plot.series, y_axis)
    return _document(plot.title, HEIGHT, parts)


def _grid_of_rows(axis: Axis) -> list[str]:
    parts = []
    for value in axis.ticks():
        y = axis.place(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        parts.append(_text(LEFT - 8, y + 4, _shown(value), anchor="end"))
    return parts


def _line(series: Series, colour: str, x_axis: Axis, y_axis: Axis) -> list[str]:
    """Draw a line, its points, and the band of its intervals where it has any."""
    parts = []
    lows = [(x_axis.place(point.x), y_axis.place(point.low)) for point in series.points if point.low is not None]
    highs = [(x_axis.place(point.x), y_axis.place(point.high)) for point in series.points if point.high is not None]
    if lows and highs:
        band = _joined([*lows, *reversed(highs)])
        parts.append(f'<polygon points="{band}" fill="{colour}" opacity=".15"/>')
    places = [(x_axis.place(point.x), y_axis.place(point.y)) for point in series.points]
    dashes = ' stroke-dasharray="5 4"' if series.is_dashed else ""
    parts.append(f'<polyline points="{_joined(places)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
    if not series.is_dashed:
        for (x, y), point in zip(places, series.points, strict=True):
            parts.append(
                _dot(x, y, colour, f"{series.name}: {_shown(point.x)}, {_told(point.y, point.low, point.high)}")
            )
    return parts


def _names_beside(all_series: Sequence[Series], axis: Axis) -> list[str]:
    """Write each line's name where it ends, moved apart where names would lie on each other."""
    ends = [(axis.place(series.points[-1].y), number) for number, series in enumerate(all_series) if series.points]
    lowest_free, places = float(TOP), []
    for y, number in sorted(ends):
        lowest_free = max(y, lowest_free)
        places.append((lowest_free, number))
        lowest_free += LINE_HEIGHT
    beyond = max(0.0, lowest_free - LINE_HEIGHT - (HEIGHT - BOTTOM))
    return [
        _text(WIDTH - RIGHT + 10, y - beyond + 4, all_series[number].name, anchor="start", colour=_colour(number))
        for y, number in places
    ]


def _draw_intervals(plot: IntervalPlot) -> str:
    row_height, left = 22, 250
    height = TOP + row_height * len(plot.rows) + BOTTOM
    values = [value for row in plot.rows for value in (row.value, row.low, row.high) if value is not None]
    values += [] if plot.reference is None else [plot.reference]
    axis = Axis(*_ends(values, is_log=False, margin=0.05), left, WIDTH - 30, is_log=False)
    bottom = height - BOTTOM
    parts = [_text(16, 22, plot.title, size=14, colour=INK, anchor="start", is_bold=True)]
    for value in axis.ticks():
        parts.append(f'<path d="M{axis.place(value):.1f} {TOP}V{bottom}" stroke="{GRID}"/>')
        parts.append(_text(axis.place(value), bottom + 18, _shown(value)))
    if plot.reference is not None:
        x = axis.place(plot.reference)
        parts.append(f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="{SOFT}" stroke-dasharray="4 4"/>')
    for number, row in enumerate(plot.rows):
        y = TOP + row_height * (number + 0.5)
        parts.append(_text(left - 12, y + 4, row.name, anchor="end", colour=INK))
        if row.low is not None and row.high is not None:
            low, high = axis.place(row.low), axis.place(row.high)
            parts.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{COLOURS[0]}" stroke-width="2"/>')
        parts.append(_dot(axis.place(row.value), y, COLOURS[0], f"{row.name}: {_told(row.value, row.low, row.high)}"))
    parts.append(_text((left + WIDTH - 30) / 2, height - 10, plot.x_label, colour=INK))
    return _document(plot.title, height, parts)


def _document(title: str, height: float, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            'font-family="system-ui, sans-serif" font-size="12">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _text(
    x: float, y: float, text: str, *, anchor: str = "middle", colour: str = SOFT, size: int = 12, is_bold: bool = False
) -> str:
    weight = ' font-weight="600"' if is_bold else ""
    style = f'text-anchor="{anchor}" fill="{colour}" font-size="{size}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def _dot(x: float, y: float, colour: str, told: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"><title>{escape(told)}</title></circle>'


def _joined(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _told(value: float, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" ({_shown(low)} to {_shown(high)})"
    return f"{_shown(value)}{interval}"


def _shown(value: float) -> str:
    """Write a number so that four figures of it can be read."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _ends(values: Sequence[float], *, is_log: bool, margin: float) -> tuple[float, float]:
    """Return the ends of an axis: those of the values and a margin; values that are all alike get room around them."""
    if is_log:
        low, high = (math.log(end) for end in (min(values), max(values)))
        room = (high - low) * margin or (0.0 if high > low else 1.0)
        return math.exp(low - room), math.exp(high + room)
    low, high = min(values), max(values)
    room = (high - low) * margin or (0.0 if high > low else max(1.0, abs(high)) * 0.1)
    return low - room, high + room


def _steps(low: float, high: float) -> list[float]:
    """Return four to ten multiples of 1, 2 or 5 times a power of ten between two ends."""
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(power * factor for factor in (10, 5, 2, 1) if (high - low) / (power * factor) >= 4 or factor == 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Return at most ten powers of ten between two ends, or of two where these are too few."""
    for base in (10.0, 2.0):
        first = math.ceil(math.log(low, base) - 1e-9)
        last = math.floor(math.log(high, base) + 1e-9)
        if last - first >= 2 or base == 2.0:
            stride = math.ceil((last - first + 1) / 10)
            return [base**exponent for exponent in range(first, last + 1, stride)]
    raise AssertionError("base two is the last")
