"""A report in all its forms: nothing lost, nothing executed, and pictures that are well-formed and to scale."""

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from heedful.reports.plots import draw
from heedful.reports.rendering import table_lines, to_json, to_lines, to_markdown, to_page, write_report
from heedful.reports.report import IntervalPlot, LinePlot, NamedValue, Point, Report, Series, Table

HOSTILE = '<script>alert(1)</script> | "a" & ]('
SVG = "{http://www.w3.org/2000/svg}"


def line_plot(**options: bool) -> LinePlot:
    points = [Point(64, 0.001), Point(128, 0.004, 0.003, 0.006), Point(256, 0.016)]
    return LinePlot("time", "Time", "length", "seconds", [Series("attention", points)], **options)


def report() -> Report:
    table = Table("Exponents", ["layer", "time"], [["注意力", "2.0"], [HOSTILE, "1.0"]], note="Measured.")
    rows = [NamedValue(HOSTILE, 30, 29, 31), NamedValue("base", 33)]
    intervals = IntervalPlot("rows", "Rows", "BLEU", rows, reference=33)
    return Report("probe", f"A probe {HOSTILE}", ["One sentence.", table, line_plot(), intervals], {"rows": [1, 2.5]})


def circles(svg: str) -> list[tuple[float, float]]:
    return [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in ElementTree.fromstring(svg).iter(f"{SVG}circle")]


def test_figures_of_a_table_stand_below_each_other() -> None:
    lines = list(table_lines(Table("", ["layer", "time"], [["注意力", "2.0"], ["a", "10.25"]])))
    assert lines == ["layer    time", "注意力    2.0", "a       10.25"]


def test_the_terminal_has_sentences_and_tables() -> None:
    lines = list(to_lines(report()))
    assert "One sentence." in lines
    assert "Measured." in lines
    assert not [line for line in lines if "svg" in line]


def test_text_of_users_is_never_markup() -> None:
    page, markdown = to_page(report()), to_markdown(report())
    assert "<script" not in page + markdown
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {3}


def test_a_page_has_every_table_and_picture() -> None:
    page = to_page(report())
    assert (page.count("<table>"), page.count("<svg ")) == (1, 2)
    assert "注意力" in page


def test_json_is_what_was_measured() -> None:
    assert json.loads(to_json(report())) == {"report": "probe", "rows": [1, 2.5]}


def test_all_files_are_written_and_written_again(tmp_path: Path) -> None:
    for _ in range(2):
        written = write_report(tmp_path / "out", report())
    names = ["report.html", "report.json", "report.md", "rows.svg", "time.svg"]
    assert sorted(path.name for path in written) == sorted(path.name for path in (tmp_path / "out").iterdir()) == names


def test_a_power_law_is_a_straight_line_on_logarithmic_axes() -> None:
    (x0, y0), (x1, y1), (x2, y2) = circles(draw(line_plot(log_x=True, log_y=True)))
    assert (x1 - x0, y1 - y0) == pytest.approx((x2 - x1, y2 - y1), abs=0.11)
    assert y0 > y1


def test_linear_axes_are_in_proportion() -> None:
    (x0, y0), (x1, y1), (x2, y2) = circles(draw(line_plot()))
    assert (x2 - x1) / (x1 - x0) == pytest.approx(2, abs=0.01)
    assert (y2 - y1) / (y1 - y0) == pytest.approx(4, abs=0.02)


@pytest.mark.parametrize("options", [{}, {"log_x": True}, {"log_x": True, "log_y": True}])
def test_ticks_are_round_and_few(options: dict[str, bool]) -> None:
    texts = [text.text for text in ElementTree.fromstring(draw(line_plot(**options))).iter(f"{SVG}text")]
    assert 6 <= len(texts) <= 26
    assert not [text for text in texts if re.fullmatch(r"\d+\.\d{4,}", str(text)) and not text.startswith("0.0")]


def test_values_that_are_all_alike_can_be_drawn() -> None:
    same = [Point(1, 5.0), Point(2, 5.0)]
    for is_log in (False, True):
        plot = LinePlot("flat", "Flat", "x", "y", [Series("a", same), Series("b", same)], log_x=is_log, log_y=is_log)
        assert len(circles(draw(plot))) == 4


def test_names_at_the_ends_of_lines_do_not_lie_on_each_other() -> None:
    series = [Series(f"line {number}", [Point(1, 1.0), Point(2, 2.0 + number / 1000)]) for number in range(12)]
    svg = draw(LinePlot("many", "Many", "x", "y", series))
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    places = sorted(float(text.attrib["y"]) for text in texts if str(text.text).startswith("line "))
    assert len(places) == 12
    assert min(b - a for a, b in pairwise(places)) >= 14
