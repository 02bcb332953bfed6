"""A report as lines for a terminal, as Markdown, as JSON and as one page that needs nothing else.

`write_report` puts all of them and the pictures into a folder. The page has no script and may make no request; what
comes from users is escaped.
"""

import json
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

from heedful.files import write_atomic
from heedful.reports.plots import draw
from heedful.reports.report import Block, Report, Table

TERMINAL_WIDTH = 100
PAGE, MARKDOWN, DATA = "report.html", "report.md", "report.json"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --paper: #faf9f6; --card: #fff; --ink: #1d1f24; --soft: #6a6f7a; --line: #e4e2dc; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #121317; --card: #1a1c22; --ink: #eceae4; --soft: #9a9fac; --line: #2c2f38; }
}
body { margin: 0; background: var(--paper); color: var(--ink); }
body { font: 15px/1.55 system-ui, "Noto Sans CJK SC", sans-serif; }
main { max-width: 900px; margin: 0 auto; padding: 28px 20px 64px; }
h1 { font-size: 26px; letter-spacing: -.015em; } h2 { font-size: 16px; margin: 0 0 10px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
section { padding: 18px; margin: 18px 0; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13.5px; }
th, td { padding: 4px 12px 4px 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.prose th, .prose td { text-align: left; vertical-align: top; } .prose td:last-child { white-space: normal; }
th { color: var(--soft); font-weight: 600; } .note { color: var(--soft); font-size: 13px; margin: 10px 0 0; }
figure { margin: 0; } svg { display: block; width: 100%; height: auto; border-radius: 8px; }
"""


def write_report(folder: Path, report: Report) -> list[Path]:
    """Write a report and its pictures into `folder`, over those of an earlier one; returns what was written."""
    files = {f"{plot.name}.svg": draw(plot) for plot in report.plots}
    files |= {PAGE: to_page(report), MARKDOWN: to_markdown(report), DATA: to_json(report)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_atomic(folder / name, text.encode())
    return [folder / name for name in files]


def to_json(report: Report) -> str:
    """Return the figures behind a report."""
    return json.dumps({"report": report.name, **report.data}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_lines(report: Report) -> Iterator[str]:
    """Return a report as a terminal shows it: sentences and tables; plots are in its files."""
    yield report.title
    for block in report.blocks:
        match block:
            case str():
                yield ""
                yield from textwrap.wrap(block, TERMINAL_WIDTH)
            case Table():
                yield ""
                yield block.title
                yield from prose_lines(block) if block.is_prose else table_lines(block)
                yield from textwrap.wrap(block.note, TERMINAL_WIDTH)


def table_lines(table: Table) -> Iterator[str]:
    """Return a table with its columns aligned: names to the left, figures to the right."""
    rows = [table.columns, *table.rows]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        name, *cells = row
        padded = [" " * (width - _width(cell)) + cell for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  ".join([name + " " * (widths[0] - _width(name)), *padded]).rstrip()


def prose_lines(table: Table) -> Iterator[str]:
    """Return a table of texts, each after what it belongs to."""
    for name, *texts in table.rows:
        yield from textwrap.wrap(f"{name}: {' '.join(texts)}", TERMINAL_WIDTH)


def to_markdown(report: Report) -> str:
    """Return a report as Markdown that shows the pictures beside it."""
    return "\n\n".join([f"# {_flat(report.title)}", *map(_block_as_markdown, report.blocks)]) + "\n"


def to_page(report: Report) -> str:
    """Return a report as one HTML document with its pictures inside."""
    title = escape(report.title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{"".join(map(_block_as_html, report.blocks))}</main>
</body>
</html>
"""


def _block_as_markdown(block: Block) -> str:
    match block:
        case str():
            return block
        case Table():
            ruler = ["---", *["---:"] * (len(block.columns) - 1)]
            rows = "\n".join(f"| {' | '.join(map(_flat, row))} |" for row in [block.columns, ruler, *block.rows])
            return "\n\n".join(part for part in (f"## {block.title}", rows, block.note) if part)
        case _:
            return "\n\n".join(part for part in (f"![{_flat(block.title)}]({block.name}.svg)", block.note) if part)


def _block_as_html(block: Block) -> str:
    match block:
        case str():
            return f"<p>{escape(block)}</p>\n"
        case Table():
            body = "".join(_row_as_html("td", row) for row in block.rows)
            kind = ' class="prose"' if block.is_prose else ""
            table = f"<table{kind}><thead>{_row_as_html('th', block.columns)}</thead><tbody>{body}</tbody></table>"
            return f"<section><h2>{escape(block.title)}</h2>{table}{_note_as_html(block.note)}</section>\n"
        case _:
            return f"<section><figure>{draw(block)}</figure>{_note_as_html(block.note)}</section>\n"


def _row_as_html(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _note_as_html(note: str) -> str:
    return f'<p class="note">{escape(note)}</p>' if note else ""


def _flat(cell: str) -> str:
    """Return a text that cannot end a row or a link of Markdown."""
    return " ".join(cell.split()).replace("|", "\\|").replace("[", "\\[").replace("]", "\\]").replace("<", "&lt;")


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
